"""Dialogues to show as examples: what the training made better and worse, and what is still wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.words import number
from dial2vec.evaluation.excerpts import Excerpt, excerpt
from dial2vec.evaluation.report.neighbours import NearestDialogues, Neighbours

# Limits of a transcript, and nearest dialogues on a card.
TURNS, CHARACTERS, NEAREST = 12, 400, 3
# Dialogues that got better, and that got worse; whose nearest one has another label; and without labels, at most.
CHANGED, WRONG, MOST = 3, 2, 4


@dataclass(frozen=True, slots=True)
class Example:
    """Dialogue to show with its nearest ones.

    :param query: place of the dialogue.
    :param why: "better", "worse", "still wrong" or "changed".
    """

    query: int
    why: str


def choose_examples(
    start: NearestDialogues, trained: NearestDialogues, labels: Sequence[str], neighbours: Neighbours
) -> list[Example]:
    """Return the dialogues to show, each once.

    They got more or fewer neighbours with the same label. First come those whose nearest one changed accordingly, of
    these the largest gains and losses of neighbours, and of equals those of average precision. A label is shown twice
    only if no other is left.

    :param labels: n labels.
    """
    gains = np.where(neighbours.counted, neighbours.trained - neighbours.start, 0)
    precision = np.nan_to_num(trained.precisions - start.precisions)
    nearest = _hits(trained, labels).astype(np.int64) - _hits(start, labels)
    better = _varied(np.lexsort((-precision, -gains, -nearest)), gains > 0, labels)[:CHANGED]
    worse = _varied(np.lexsort((precision, gains, nearest)), gains < 0, labels)[:CHANGED]
    confident = _confident_errors(trained, labels, without={*better, *worse})[:WRONG]
    groups = {"better": better, "worse": worse, "still wrong": confident}
    return [Example(query, why) for why, queries in groups.items() for query in queries]


def _hits(ranked: NearestDialogues, labels: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether the nearest of each dialogue has its label, bool [n]."""
    codes = np.unique(np.asarray(labels), return_inverse=True)[1]
    return np.asarray(codes[ranked.nearest[:, 0]] == codes)


def choose_changed(kept: NDArray[np.int64], groups: Sequence[str]) -> list[Example]:
    """Return the dialogues whose nearest ones changed most, from different groups if possible.

    :param kept: number of nearest dialogues that stayed, int64 [n], as returned by `neighbours.kept_neighbours`.
    """
    order = _varied(np.argsort(kept, kind="stable"), kept < kept.max(initial=0), groups)[:MOST]
    return [Example(query, "changed") for query in order]


def _varied(order: Iterable[int], fit: NDArray[np.bool_], labels: Sequence[str]) -> list[int]:
    """Return the places that fit in their order, but the first of each label before the second of any."""
    seen: dict[str, int] = {}
    turns: list[tuple[int, int, int]] = []
    for place in (int(place) for place in order if fit[place]):
        turns.append((seen.setdefault(labels[place], 0), len(turns), place))
        seen[labels[place]] += 1
    return [place for _, _, place in sorted(turns)]


def _confident_errors(rankings: NearestDialogues, labels: Sequence[str], *, without: set[int]) -> list[int]:
    """Return queries whose nearest dialogue has another label, the highest cosine first."""
    errors: dict[int, int] = {}
    if not rankings.nearest.shape[1]:
        return []
    first = rankings.nearest[:, 0].tolist()
    for query in np.argsort(-rankings.cosines[:, 0], kind="stable").tolist():
        # If no other dialogue has the label of the query, the encoder cannot be right.
        possible = not np.isnan(rankings.precisions[query])
        mutual = errors.get(first[query]) == query
        if possible and not mutual and query not in without and labels[first[query]] != labels[query]:
            errors[query] = first[query]
    return list(errors)


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
