from __future__ import annotations

import re
from dataclasses import replace

import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.collection.changes.headline import ClearChange, Headline
from dial2vec.collection.summary import printing
from dial2vec.collection.summary.rows import TableRow
from dial2vec.collection.summary.summary import AreaExcerpts, Certainty, Summary, TypicalExcerpt
from dial2vec.collection.summary.summary_page import columns, headline, render_summary, trend_line, zoom

from .conftest import EVIL


def sheet(name: str = "calls", word: str = "cards", *, areas: int = 2, rows: int = 3, text: str = "my card") -> Summary:
    """A sheet on which every text is given."""
    excerpts = tuple(TypicalExcerpt(word, 0, word, word, text) for _ in range(3))
    change = ClearChange("more", 0.1, 0.2, 10, word, word)
    return Summary(
        name=name,
        dialogues=1234,
        left_out=10,
        dates=("2026-04-10", "2026-05-10"),
        conditions=(word,),
        largest=((word, 0.5), (word, 0.3), (word, 0.1))[:areas],
        areas=areas,
        topics=rows,
        rows=tuple(TableRow("topic", word, 10, 0.25, (0.1, 0.2), word, "unsure") for _ in range(rows)),
        changed=Headline("2026-05-01", "2026-05-10", (50, 60), dict(enumerate([change] * 6)), {}, 1, word, (word,)),
        news=(word,),
        typical=tuple(AreaExcerpts(word, 0.5, excerpts) for _ in range(areas)),
        certainty=Certainty(rows, 1, 0.4, (word,) * 5, 0.8),
    )


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page.split("</style>")[1]).split())


@pytest.mark.parametrize("change", [{}, {"changed": None}, {"changed": None, "dates": None}])
def test_no_text_of_a_dialogue_becomes_markup_and_the_page_loads_nothing(change):
    page = render_summary(replace(sheet(EVIL, EVIL, text=EVIL), **change))
    assert "<img" not in page
    assert "&lt;img src=x" in page
    assert (
        re.findall(r"(?:src|href)\s*=|url\(|@import|<script|<link|https?:", page.replace("src=x onerror=&#34;", ""))
        == []
    )


def test_the_page_says_it_all():
    text = text_of(render_summary(sheet()))
    assert (
        "1,234 conversations, 2026-04-10 to 2026-05-10, in 2 areas and 3 topics. Counted: cards; 10 others are left"
        in text
    )
    assert "The conversations are about “cards” (50%) and “cards” (30%)." in text
    assert text.index("What changed") < text.index("The conversations are about")
    assert "What changed since 1 May 2026 60 conversations, before 50" in text
    assert "And 3 more: dial2vec compare --before 2026-05-01." in text
    assert "1 of 3 topics are stable, with 40% of the conversations" in text
    assert "Unsure, read with care: cards; cards; cards; and 2 more." in text
    assert "cards: my card cards" in text
    assert text.count("my card") == 2 * 3


def test_without_changes_the_page_says_why():
    assert "Too few conversations to compare two periods." in text_of(render_summary(replace(sheet(), changed=None)))
    undated = text_of(render_summary(replace(sheet(), changed=None, dates=None)))
    assert "The conversations have no dates, so two periods cannot be compared." in undated


def test_columns_without_content_are_left_out():
    rows = tuple(replace(row, trend=(), stands_out="") for row in sheet().rows)
    text = text_of(render_summary(replace(sheet(), rows=rows)))
    assert "Over time" not in text
    assert "more frequent in it" not in text


def test_the_size_of_the_paper_is_only_given_to_a_pdf():
    assert "size:" not in re.findall(r"@page \{[^}]*\}", render_summary(sheet()))[0]
    assert "size: Letter" in re.findall(r"@page \{[^}]*\}", render_summary(sheet(), paper="Letter"))[0]


def test_the_sentence_names_three_of_many_areas_with_their_sum():
    summary = replace(sheet(areas=3), areas=7)
    assert headline(summary) == (
        "The largest of 7 areas are “cards” (50%), “cards” (30%) and “cards” (10%): together 90% of the conversations."
    )
    assert headline(sheet(areas=1)) == "The conversations are about “cards” (50%)."


def test_a_trend_line_goes_from_zero_at_the_bottom_to_the_largest_share_at_the_top():
    assert trend_line([0.0, 0.1, 0.2]) == "1.5,12.5 30.0,7.0 58.5,1.5"
    assert trend_line([0.0, 0.0]) == "1.5,12.5 58.5,12.5"
    assert trend_line([0.1]) == trend_line([]) == ""


def test_excerpts_have_at_most_two_rows_and_a_short_sheet_is_printed_larger():
    assert [columns(areas) for areas in range(1, 9)] == [1, 2, 3, 4, 3, 3, 4, 4]
    assert zoom(sheet(areas=3, rows=14)) > 1
    assert zoom(sheet(areas=3, rows=15)) == zoom(sheet(areas=5, rows=5)) == 1


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
    assert "New: fraud 0% → 50%" in page
    assert report().exit_code == 0
    assert (tmp_path / "here" / "calls.html").read_text(encoding="utf-8") == page


def test_options_choose_file_periods_and_dialogues(report, tmp_path):
    done = report("--output", "may.html", "--before", "2026-05-01", "--until", "2026-06-01", "--where", "csat == 4")
    assert done.output.startswith("may.html: 90 dialogues in 2 areas")
    assert "What changed since 1 May 2026" in (tmp_path / "here" / "may.html").read_text(encoding="utf-8")


def test_without_a_browser_the_page_is_written_and_the_sentence_names_it(report, tmp_path, monkeypatch):
    monkeypatch.setattr(printing, "printing_browser", lambda: None)
    done = report("--pdf")
    assert done.exit_code == 1
    assert done.output.startswith("Error: no PDF was made: found no Chromium")
    assert "Open calls.html in any browser" in done.output
    assert (tmp_path / "here" / "calls.html").exists()


def test_a_page_ends_in_html(report):
    assert report("--output", "calls.pdf").output.startswith("Error: calls.pdf does not end in .html")
