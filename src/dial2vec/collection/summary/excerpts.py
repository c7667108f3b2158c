"""Short excerpts of typical dialogues, with the speakers apart."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from conversations.words import printable
from dial2vec.collection.clustering.speaking import speaking_turns
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.data.terms import Term

# Excerpts of an area, and characters of a turn and of a speaker's name.
EXCERPTS, CHARACTERS, SPEAKER = 3, 170, 24


@dataclass(frozen=True, slots=True)
class ExcerptTurn:
    """A turn of an excerpt.

    :param number: number of the turn, from 1.
    :param speaker: name of the speaker.
    :param text: text on one line, at most 170 characters.
    :param first: True if the first speaker of the dialogue says it.
    """

    number: int
    speaker: str
    text: str
    first: bool


@dataclass(frozen=True, slots=True)
class TypicalExcerpt:
    """The turns of a typical dialogue that speak for its topic.

    :param dialogue_id: id of the dialogue.
    :param topic: name of the topic.
    :param turns: turns in order, at most 2.
    """

    dialogue_id: str
    topic: str
    turns: tuple[ExcerptTurn, ...]


@dataclass(frozen=True, slots=True)
class TypicalTopic:
    """A topic with its typical dialogues.

    :param name: name of the topic.
    :param terms: terms of the topic, the most characteristic first.
    :param rows: rows of typical dialogues, the most typical first.
    """

    name: str
    terms: Sequence[Term]
    rows: Sequence[int]


def excerpts_of(collection: CollectionFolder, topics: Sequence[TypicalTopic]) -> tuple[TypicalExcerpt, ...]:
    """Return at most three excerpts from the topics of an area: of each topic the most typical dialogue, then the next.

    :param topics: topics of the area, the largest first.
    """
    turns_of_topics = [(topic, row) for place in range(EXCERPTS) for topic in topics for row in topic.rows[place:][:1]]
    return tuple(_excerpt(collection, topic, row) for topic, row in turns_of_topics[:EXCERPTS])


def _excerpt(collection: CollectionFolder, topic: TypicalTopic, row: int) -> TypicalExcerpt:
    [dialogue] = collection.dialogues([row])
    turns = []
    for place in speaking_turns(dialogue, topic.terms):
        speaker, text = dialogue.turns[place].speaker, _cut(dialogue.turns[place].text)
        first = speaker == dialogue.turns[0].speaker
        turns.append(ExcerptTurn(place + 1, printable(speaker, SPEAKER), text, first))
    return TypicalExcerpt(dialogue.dialogue_id, topic.name, tuple(turns))


def _cut(text: str) -> str:
    """Return a text on one line; a long one ends after a word, a long word anywhere."""
    line = printable(text)
    short = textwrap.shorten(line, CHARACTERS, placeholder=" …")
    return short if len(short) > CHARACTERS // 2 or len(line) <= CHARACTERS else f"{line[: CHARACTERS - 1]}…"
