from __future__ import annotations

import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.collection.summary import printing


@pytest.fixture
def report(tmp_path, monkeypatch, calls):
    """`dial2vec report` of the calls, in another folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return lambda *options: CliRunner().invoke(main, ["report", str(calls.folder), *options])


def test_report_writes_a_page_and_says_what_is_next(report, tmp_path):
    done = report()
    assert done.exit_code == 0, done.output
    assert done.output.startswith("calls.html: 110 dialogues in 2 areas and 3 topics\nIt quotes dialogues")
    assert "Next: dial2vec explore" in done.output
    page = (tmp_path / "here" / "calls.html").read_text(encoding="utf-8")
    assert "fraud is new, from 0% to 50%" in page
    assert report().exit_code == 0
    assert (tmp_path / "here" / "calls.html").read_text(encoding="utf-8") == page


def test_options_choose_file_periods_and_dialogues(report, tmp_path):
    done = report("--output", "may.html", "--before", "2026-05-01", "--until", "2026-06-01", "--where", "csat == 4")
    assert done.output.startswith("may.html: 90 dialogues in 2 areas")
    assert "What changed since 2026-05-01" in (tmp_path / "here" / "may.html").read_text(encoding="utf-8")


def test_without_a_browser_the_page_is_written_and_the_sentence_names_it(report, tmp_path, monkeypatch):
    monkeypatch.setattr(printing, "printing_browser", lambda: None)
    done = report("--pdf")
    assert done.exit_code == 1
    assert done.output.startswith("Error: no PDF was made: found no Chromium")
    assert "Open calls.html in any browser" in done.output
    assert (tmp_path / "here" / "calls.html").exists()


def test_a_page_ends_in_html(report):
    assert report("--output", "calls.pdf").output.startswith("Error: calls.pdf does not end in .html")
