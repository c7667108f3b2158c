from __future__ import annotations

import re
import stat
import sys
from pathlib import Path

import pytest

from browser import browser
from dial2vec.collection.summary import printing
from dial2vec.collection.summary.printing import print_page, printing_browser
from dial2vec.collection.summary.summary_page import render_summary
from dial2vec.errors import Dial2vecError

from .test_summary_page import sheet

LONG = "a long name of a group with many words in it that never ends"


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put a program in the place of the browser; the last two words are the PDF and the page."""

    def write(script: str) -> None:
        path = tmp_path / "bin" / "microsoft-edge"
        path.parent.mkdir()
        path.write_text(f"#!{sys.executable}\nimport sys, time, pathlib\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(path.parent))

    return write


def test_a_browser_prints_the_page_and_leaves_nothing_else(program, tmp_path):
    program("pathlib.Path(sys.argv[-2].partition('=')[2]).write_bytes(b'%PDF ' + sys.argv[-1].encode())")
    print_page("<p>hello</p>", tmp_path / "out" / "calls.pdf", page=Path("calls.html"))
    assert (tmp_path / "out" / "calls.pdf").read_bytes().startswith(b"%PDF file:///")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["calls.pdf"]


def test_without_a_browser_one_sentence_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(printing, "APPLICATIONS", ())
    assert printing_browser() is None
    with pytest.raises(Dial2vecError, match=r"found no Chromium, Chrome or Edge .* Open calls.html in any browser"):
        print_page("<p>hello</p>", tmp_path / "calls.pdf", page=Path("calls.html"))
    assert not (tmp_path / "calls.pdf").exists()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("print('no display', file=sys.stderr)", "no display"),
        ("sys.exit(3)", "exit status 3"),
        ("time.sleep(60)", "it took more than 1 s"),
        ("pathlib.Path(sys.argv[-2].partition('=')[2]).write_bytes(b'no')", "exit status 0"),
    ],
)
def test_a_browser_that_does_not_print_is_reported_and_the_old_file_stays(
    program, tmp_path, monkeypatch, script, reason
):
    monkeypatch.setattr(printing, "SECONDS", 1)
    program(script)
    (tmp_path / "calls.pdf").write_text("old")
    with pytest.raises(Dial2vecError, match=rf"made no PDF \({reason}\)"):
        print_page("<p>hello</p>", tmp_path / "calls.pdf", page=Path("calls.html"))
    assert (tmp_path / "calls.pdf").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "calls.pdf"]


@pytest.mark.services("chromium")
@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize(("areas", "rows"), [(1, 14), (3, 14), (4, 25), (6, 25), (8, 25)])
def test_the_fullest_sheets_fit_on_one_page(tmp_path, areas, rows, paper):
    full = sheet(LONG, LONG, areas=areas, rows=rows, text="word " * 34)
    print_page(render_summary(full, paper=paper), tmp_path / "calls.pdf", page=Path("calls.html"))
    assert len(re.findall(rb"/Type /Page\b", (tmp_path / "calls.pdf").read_bytes())) == 1


@pytest.mark.services("chromium")
@pytest.mark.parametrize(("width", "dark"), [(1440, False), (768, True), (390, False)])
def test_the_page_fits_every_screen_and_loads_only_itself(tmp_path, width, dark):
    path = tmp_path / "calls.html"
    path.write_text(render_summary(sheet(LONG, LONG, areas=6, rows=25)), encoding="utf-8")
    with browser() as page:
        page.look((width, 800), dark=dark)
        page.open(path.as_uri())
        page.until("document.readyState === 'complete' && !!document.querySelector('.typical')")
        assert page.value("document.documentElement.scrollWidth") <= width
        assert page.complaints == []
        assert set(page.requests) == {path.as_uri()}
