"""A mail loses what it quotes at its end, and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.formats.markup import without_quoted
from tests.conversations.exports import imported

BELOW = "\n> My card is lost.\n>\n> Ana\n"
HEAD = "From: Ana Lee <ana@shop.example>\nSent: Tuesday, March 5, 2024 10:00 AM\nTo: Help\nSubject: Card\n\nIt is lost."
KOPF = "Von: Ana Lee\nGesendet: Dienstag, 5. März 2024 10:00\nAn: Hilfe\nBetreff: Karte\n\nSie ist weg."


@pytest.mark.parametrize(
    "quoted",
    [
        f"On Tue, Mar 5, 2024 at 10:00 AM Ana Lee <ana@shop.example> wrote:{BELOW}",
        f"On Tue, Mar 5, 2024 at 10:00 AM Ana Lee\n<ana@shop.example> wrote:\n{BELOW}",
        f"Am 05.03.2024 um 10:00 schrieb Ana Lee:{BELOW}",
        f"Le mar. 5 mars 2024 à 10:00, Ana Lee <ana@shop.example> a écrit :{BELOW}",
        f"El mar, 5 mar 2024 a las 10:00, Ana (<ana@shop.example>) escribió:{BELOW}",
        "-----Original Message-----\nFrom: Ana\nMy card is lost.",
        f"________________________________\n{HEAD}",
        HEAD,
        KOPF,
    ],
)
def test_what_a_mail_quotes_at_its_end_is_cut_off(quoted):
    assert without_quoted(f"I block it.\n\nKim\n\n{quoted}") == "I block it.\n\nKim"
    # Without words of its own it stays.
    assert without_quoted(quoted) == quoted


@pytest.mark.parametrize(
    "text",
    [
        "On reflection he wrote:\n> no date",
        "On Mar 5, 2024 Ana wrote:\n> Is it lost?\nYes, it is.\n> Since when?\nToday.",
        "On Mar 5, 2024 Ana wrote:\nshe was at home.",
        "> a quote above\nand an answer",
        "From: Berlin\nTo: Rome\nWhat does it cost?",
        "one line",
    ],
)
def test_answers_between_quotes_and_other_texts_stay_whole(text):
    assert without_quoted(text) == text


def test_in_html_nothing_marks_the_lines_of_a_quoted_mail():
    text = "I block it.\nOn Mar 5, 2024 Ana wrote:\nMy card is lost."
    assert without_quoted(text, marked=False) == "I block it."


@given(st.text("On5wrote:> \n", max_size=60), st.booleans())
def test_a_text_keeps_its_beginning_and_never_becomes_blank(text, marked):
    own = without_quoted(text, marked=marked)
    assert text.startswith(own)
    assert bool(own.strip()) == bool(text.strip())


@pytest.mark.parametrize("keep", [(), ("quoted",)])
def test_an_import_counts_the_mails_that_it_cuts(tmp_path, keep):
    said = [("ana", "My card is lost."), ("kim", f"I block it.\n\nOn Mar 5, 2024 at 10:00 Ana wrote:{BELOW}")]
    rows = [
        {"ticket_id": 1, "author": who, "body": text, "created_at": f"2024-03-05T1{at}:00"}
        for at, (who, text) in enumerate(said)
    ]
    result = imported(tmp_path, "tickets.json", json.dumps(rows), keep=keep)
    answer = result.dialogues[0].turns[1].text
    assert (answer == "I block it.") == (not keep)
    assert result.left_out == ({} if keep else {"quoted": 1})
