"""The sheet as one HTML page, which also prints on one sheet of paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conversations.files import write_text
from conversations.words import listed, printable
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.summary.printing import print_page
from dial2vec.collection.summary.summary import EVERYTHING, Scope, Summary, summarize
from dial2vec.html import rendered

# Size of a trend line, and the margin of its stroke.
WIDTH, HEIGHT, MARGIN = 60.0, 14.0, 1.5
# A sheet with at most so many lines is printed larger.
SHORT, ROOMY = 26, 1.2
# Rows wrap if the table then has at most so many lines of so many characters; else they are cut off.
WRAPPED, LINE = 32, 80
# Names of unsure topics that are listed, and characters of a name in a sentence.
UNSURE, NAME = 3, 60


def write_summary(
    path: Path,
    collection: CollectionFolder,
    scope: Scope = EVERYTHING,
    *,
    pdf: Path | None = None,
    paper: str = "A4",
) -> Summary:
    """Write the sheet as an HTML page that needs no network, and return what it says.

    :param path: file of the page, which prints on one sheet of A4 or Letter.
    :param pdf: file of the sheet as PDF, printed by a Chromium, Chrome or Edge of this machine; None writes none.
    :param paper: size of the PDF, "A4" or "Letter".
    :raises CorpusError: if fewer than 2 dialogues are left, a date or condition is invalid, or a period is empty.
    :raises ArtifactError: if the clusters are damaged.
    :raises Dial2vecError: if there is no such browser, or it does not print; the page is written then.
    """
    summary = summarize(collection, scope)
    write_text(path, render_summary(summary))
    if pdf is not None:
        print_page(render_summary(summary, paper=paper), pdf, page=path)
    return summary


def render_summary(summary: Summary, *, paper: str | None = None) -> str:
    """Return the page as HTML that needs no network.

    :param paper: size of the sheet, "A4" or "Letter"; None leaves it to who prints.
    """
    trends = [trend_line(row.trend) for row in summary.rows]
    lines = sum(1 + (len(row.name + row.stands_out) > LINE) for row in summary.rows)
    return rendered(
        "dial2vec.collection.summary",
        "page.html",
        summary=summary,
        paper=paper,
        headline=headline(summary),
        trends=trends,
        dated=any(trends),
        found=any(row.stands_out for row in summary.rows),
        scale=max(row.share for row in summary.rows),
        zoom=zoom(summary),
        wraps=lines <= WRAPPED / zoom(summary) ** 2,
        columns=columns(len(summary.typical)),
        unsure=UNSURE,
    )


def headline(summary: Summary) -> str:
    """Return one sentence on what the dialogues are about, with the names and shares of the largest areas."""
    named = [f"“{printable(name, NAME)}” ({share:.0%})" for name, share in summary.largest]
    if summary.areas <= len(named):
        return f"The conversations are about {listed(named)}."
    together = sum(share for _, share in summary.largest)
    return f"The largest of {summary.areas} areas are {listed(named)}: together {together:.0%} of the conversations."


def columns(areas: int) -> int:
    """Return the number of columns of the excerpts on paper, so that they need at most two rows."""
    return areas if areas <= 4 else (areas + 1) // 2


def zoom(summary: Summary) -> float:
    """Return how much larger a short sheet is printed; a long one fills the paper as it is."""
    lines = len(summary.rows) + 12 * (1 + (len(summary.typical) > columns(len(summary.typical))))
    return ROOMY if lines <= SHORT else 1.0


def trend_line(shares: Sequence[float]) -> str:
    """Return the points of a line from the first period to the last, for an SVG of 60 × 14; "" with fewer than 2.

    Zero is at the bottom, the largest share at the top.
    """
    if len(shares) < 2:
        return ""
    step, top = (WIDTH - 2 * MARGIN) / (len(shares) - 1), max(shares) or 1.0
    room = HEIGHT - 2 * MARGIN
    return " ".join(
        f"{MARGIN + place * step:.1f},{HEIGHT - MARGIN - room * share / top:.1f}" for place, share in enumerate(shares)
    )
