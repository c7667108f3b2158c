"""Dialogues of two topics, told apart by their words, and settings for quick trainings on them."""

from __future__ import annotations

from dataclasses import replace

from conversations.dialogue import Dialogue, Turn
from dial2vec.config import Settings


def talk(number: int) -> Dialogue:
    words = [f"w{10 * (number % 2) + place % 7 + number % 3}" for place in range(6)]
    return Dialogue(
        f"d{number}",
        tuple(Turn("ab"[place % 2], f"{word} {words[0]}") for place, word in enumerate(words)),
        (f"topic{number % 2}",),
    )


def with_a_quick_student(settings: Settings) -> Settings:
    """Return the settings with a training of two steps and a student of one epoch."""
    return replace(
        settings,
        train=replace(settings.train, max_dialogues=8, batch_size=4),
        distil=replace(settings.distil, epochs=1),
        select=replace(settings.select, bootstraps=2),
    )
