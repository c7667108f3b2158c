"""Examples as cards: a dialogue, its nearest dialogues by the start, and those by the trained encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.words import number
from dial2vec.evaluation.excerpts import Excerpt, excerpt
from dial2vec.evaluation.report.examples import Example, choose_changed, choose_examples
from dial2vec.evaluation.report.neighbours import Neighbours
from dial2vec.evaluation.report.ranked import NearestDialogues

# Limits of a transcript, and nearest dialogues on a card.
TURNS, CHARACTERS, NEAREST = 12, 400, 3


@dataclass(frozen=True, slots=True)
class ShownDialogue:
    """Dialogue of a card, as printed.

    :param label: label; empty without labels.
    :param transcript: opening of the dialogue.
    :param cosine: cosine to the dialogue of the card; empty for itself.
    :param hit: True if it has the label of the dialogue of the card; None without labels.
    """

    dialogue_id: str
    label: str
    transcript: Excerpt
    cosine: str
    hit: bool | None


@dataclass(frozen=True, slots=True)
class ExampleCard:
    """One example.

    :param why: "better", "worse", "still wrong" or "changed".
    :param nearest: nearest dialogues by the title of the encoder.
    :param remarks: remark by the title of the encoder, such as "2 of 10 neighbours have its label"; may be empty.
    """

    why: str
    query: ShownDialogue
    nearest: dict[str, list[ShownDialogue]]
    remarks: dict[str, str]


def example_cards(
    dialogues: Sequence[Dialogue],
    labels: Sequence[str],
    ranked: Mapping[str, NearestDialogues],
    neighbours: Neighbours,
) -> list[ExampleCard]:
    """Return the cards of dialogues with labels: what got better, what got worse, and what is still wrong.

    :param labels: label of each dialogue.
    :param ranked: nearest dialogues by "Start" and by "Trained".
    """
    hits = {"Start": neighbours.start, "Trained": neighbours.trained}

    def remark(title: str, query: int) -> str:
        number_of = int(hits[title][query])
        if neighbours.depth == 1:
            return ""
        return f"{number_of} of {neighbours.depth} neighbours {'has' if number_of == 1 else 'have'} its label"

    examples = choose_examples(ranked["Start"], ranked["Trained"], labels, neighbours)
    return [
        _card(example, dialogues, labels, ranked, {title: remark(title, example.query) for title in ranked})
        for example in examples
    ]


def changed_cards(
    dialogues: Sequence[Dialogue],
    ranked: Mapping[str, NearestDialogues],
    shared: NDArray[np.int64],
    groups: Sequence[str],
) -> list[ExampleCard]:
    """Return the cards of dialogues without labels whose nearest ones changed most.

    :param ranked: nearest dialogues by "Start" and by "Trained".
    :param shared: number of nearest dialogues that are the same by both, int64 [n].
    :param groups: group of each dialogue; the cards are of different ones if possible.
    """
    remarks = dict.fromkeys(ranked, "")
    return [_card(example, dialogues, None, ranked, remarks) for example in choose_changed(shared, groups)]


def _card(
    example: Example,
    dialogues: Sequence[Dialogue],
    labels: Sequence[str] | None,
    ranked: Mapping[str, NearestDialogues],
    remarks: dict[str, str],
) -> ExampleCard:
    def shown(place: int, cosine: str = "") -> ShownDialogue:
        transcript = excerpt(dialogues[place], turns=TURNS, characters=CHARACTERS)
        label, hit = ("", None) if labels is None else (labels[place], labels[place] == labels[example.query])
        return ShownDialogue(dialogues[place].dialogue_id, label, transcript, cosine, hit)

    def nearest(ranking: NearestDialogues) -> list[ShownDialogue]:
        rows = (ranking.nearest[example.query, :NEAREST], ranking.cosines[example.query, :NEAREST])
        return [shown(int(place), number(float(cosine))) for place, cosine in zip(*rows, strict=True)]

    found_by = {title: nearest(ranking) for title, ranking in ranked.items()}
    return ExampleCard(example.why, shown(example.query), found_by, remarks)
