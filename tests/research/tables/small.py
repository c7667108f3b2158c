"""Dialogues of two topics, told apart by their words."""

from __future__ import annotations

from dial2vec.dialogue import Dialogue, Turn


def talk(number: int) -> Dialogue:
    words = [f"w{10 * (number % 2) + place % 7 + number % 3}" for place in range(6)]
    return Dialogue(
        f"d{number}",
        tuple(Turn("ab"[place % 2], f"{word} {words[0]}") for place, word in enumerate(words)),
        (f"topic{number % 2}",),
    )
