"""States of a dialogue that a program saves again with each new turn."""

from __future__ import annotations

from .test_shared_forms import imported, lines, turns_of

TURNS = [{"role": role, "content": text} for role, text in (("user", "Hi"), ("bot", "Yes?"), ("user", "My card"))]


def test_the_last_and_longest_state_of_a_dialogue_counts(tmp_path):
    states = [{"session_id": "s", "messages": TURNS[:last]} for last in (1, 3, 2)]
    result = imported(tmp_path, "e.jsonl", lines(*states, {"session_id": "t", "messages": TURNS[:2]}))
    assert turns_of(result) == {"s": ["user: Hi", "bot: Yes?", "user: My card"], "t": ["user: Hi", "bot: Yes?"]}
    assert (result.repeated, [item.reason for item in result.quarantine]) == (1, ["the id came before on line 2"])


def test_another_dialogue_with_a_known_id_is_quarantined(tmp_path):
    states = [{"session_id": "s", "messages": turns} for turns in (TURNS[:2], TURNS[1:])]
    result = imported(tmp_path, "e.jsonl", lines(*states))
    assert turns_of(result) == {"s": ["user: Hi", "bot: Yes?"]}
    assert [item.reason for item in result.quarantine] == ["the id came before on line 1"]
