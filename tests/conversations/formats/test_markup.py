"""HTML in the lines of a text."""

from __future__ import annotations

import pytest

from conversations.formats.markup import plain_lines


@pytest.mark.parametrize(
    "line",
    [
        "<p><b>{}:</b> {}</p>",
        "<b>{}</b>: {}<br/>",
        '<div class="m"><i>{}</i>: {}</div>',
        '<turn n="1" speaker="{}">{}</turn>',
    ],
)
def test_tags_are_taken_off_and_lines_stay_lines(line):
    lines = [line.format("Ann", "Hello &amp; hi"), "", line.format("Bo", "Yes?"), line.format("Ann", "So")]
    assert [text.strip() for text in plain_lines(lines)] == ["Ann: Hello & hi", "", "Bo: Yes?", "Ann: So"]


def test_cells_of_a_table_are_parted_by_tabs():
    assert plain_lines(["<tr><td>10:05</td> <td>Ann</td><td>Hello</td></tr>"]) == ["10:05\tAnn\tHello"]


def test_a_chat_about_html_stays_as_it_is():
    lines = ["Ann: how is it bold?", "Bo: with <b>it</b>", "Ann: thanks", "Bo: bye"]
    assert plain_lines(lines) == lines
