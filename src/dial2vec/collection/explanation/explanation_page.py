"""An explanation as one HTML page."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conversations.files import write_text
from conversations.formats.addresses import as_address
from conversations.words import number
from dial2vec.collection.collection_folder import MANIFEST, CollectionFolder
from dial2vec.collection.explanation.explanation import Explanation, Matching, explain
from dial2vec.data.one_dialogue import find_dialogue
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import untrained
from dial2vec.errors import CorpusError
from dial2vec.html import rendered

# Characters of a turn in the list of similar ones.
CHARACTERS = 160
# Numbers of turns along an axis of the matrix, and most similar pairs of turns below it.
TICKS, N_SIMILAR = 12, 5


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn on the page.

    :param number: number of the turn, from 1.
    :param percent: share of the turn, such as "3.4".
    :param heat: length of its bar, 0 to 1.
    :param first: True if the first speaker says it.
    """

    number: int
    speaker: str
    text: str
    percent: str
    heat: float
    first: bool


def render_explanation(explanation: Explanation, *, model: str) -> str:
    """Return the page as HTML that needs no network.

    :param model: name of the encoder.
    """
    shown = _turns(explanation)
    matching = explanation.matching
    return rendered(
        "dial2vec.collection.explanation",
        "page.html",
        dialogue=explanation.dialogue,
        model=model,
        headline=explanation_headline(explanation),
        windows=explanation.windows,
        matching=matching,
        titles=_titles(explanation),
        marks=[_marks(blocks) for blocks in (matching.rows, matching.columns)] if matching else [],
        similar=_similar(matching, shown) if matching and not matching.blocked else [],
        cells=_cells(matching) if matching else [],
        range=_range(matching) if matching else (),
        caption=_caption(matching, explanation) if matching else "",
        characters=CHARACTERS,
        turns=shown,
    )


def explanation_headline(explanation: Explanation) -> str:
    """Return one sentence on the number of turns that make half of the vector."""
    ordered = np.sort(explanation.shares)[::-1]
    half = int(np.searchsorted(np.cumsum(ordered), 0.5)) + 1
    most = f"turn {int(explanation.shares.argmax()) + 1:,} alone makes {_percent(ordered[0])} %"
    return f"{half:,} of {len(ordered):,} turns make half of the vector; {most}."


def _turns(explanation: Explanation) -> list[ShownTurn]:
    highest = float(max(explanation.shares.max(), 1e-9))
    turns = zip(explanation.dialogue.turns, explanation.dialogue.roles, explanation.shares.tolist(), strict=True)
    return [
        ShownTurn(number, turn.speaker, turn.text, _percent(share), max(share, 0.0) / highest, role == 0)
        for number, (turn, role, share) in enumerate(turns, start=1)
    ]


def _cells(matching: Matching) -> list[tuple[int, int, float, str]]:
    """Return row and column of each cell of the matrix, the strength of its colour, 0 to 1, and its tooltip."""
    low, high = _range(matching)
    heats = (matching.cosines - low) / max(high - low, 1e-9)
    return [
        (row, column, float(heats[row, column]), _says(rows, columns, float(matching.cosines[row, column])))
        for row, rows in enumerate(matching.rows)
        for column, columns in enumerate(matching.columns)
    ]


def _titles(explanation: Explanation) -> tuple[str, str]:
    """Return the titles of the axes, of the rows and of the columns."""
    return f"turns of {explanation.dialogue.turns[0].speaker}", f"turns of {_others(explanation)}"


def _ticks(blocks: list[NDArray[np.int64]]) -> list[int]:
    """Return the blocks whose turn is written at the axis, the first and the last among them."""
    return [int(tick) for tick in np.unique(np.linspace(0, len(blocks) - 1, min(len(blocks), TICKS)).round())]


def _marks(blocks: list[NDArray[np.int64]]) -> list[tuple[float, int]]:
    """Return the place of each tick in percent of the axis, and the number of the turn there, from 1."""
    return [(100 * (tick + 0.5) / len(blocks), int(blocks[tick][0]) + 1) for tick in _ticks(blocks)]


def _similar(matching: Matching, shown: list[ShownTurn]) -> list[tuple[ShownTurn, ShownTurn, str]]:
    """Return the pairs of turns with the highest cosines, each turn once, and the cosine as printed."""
    pairs: list[tuple[ShownTurn, ShownTurn, str]] = []
    rows, columns = np.unravel_index(np.argsort(-matching.cosines, axis=None, kind="stable"), matching.cosines.shape)
    used: set[int] = set()
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        places = int(matching.rows[row][0]), int(matching.columns[column][0])
        if len(pairs) < N_SIMILAR and not used & {*places}:
            used.update(places)
            cosine = number(float(matching.cosines[row, column]))
            pairs.append((shown[places[0]], shown[places[1]], cosine))
    return pairs


def _range(matching: Matching) -> tuple[float, float]:
    return float(matching.cosines.min()), float(matching.cosines.max())


def _says(rows: NDArray[np.int64], columns: NDArray[np.int64], cosine: float) -> str:
    return f"{_named(rows)} and {_named(columns)}: {number(cosine)}"


def _named(block: NDArray[np.int64]) -> str:
    return f"turn {block[0] + 1}" if len(block) == 1 else f"turns {block[0] + 1} to {block[-1] + 1}"


def _caption(matching: Matching, explanation: Explanation) -> str:
    row, column = np.unravel_index(int(matching.cosines.argmax()), matching.cosines.shape)
    best = _says(matching.rows[row], matching.columns[column], float(matching.cosines.max()))
    first, others = (sum(map(len, blocks)) for blocks in (matching.rows, matching.columns))
    blocked = (
        f" There are {first:,} and {others:,} turns, too many to show each: consecutive turns of a side form a block, "
        "and a cell is the mean of its pairs."
        if matching.blocked
        else ""
    )
    return (
        f"Rows are the turns of {explanation.dialogue.turns[0].speaker}, columns those of {_others(explanation)}, in "
        f"order. A stronger colour means more similar turns; the most similar are {best}.{blocked}"
    )


def _others(explanation: Explanation) -> str:
    first = explanation.dialogue.turns[0].speaker
    names = list(dict.fromkeys(turn.speaker for turn in explanation.dialogue.turns if turn.speaker != first))
    return names[0] if len(names) == 1 else f"the {len(names)} others"


def _percent(share: float) -> str:
    percent = 100 * float(share)
    return number(percent, 2 if abs(percent) < 1 else 1)


def explain_file(
    path: Path,
    *,
    dialogue_id: str | None,
    model: str | None,
    output: Path | None,
    say: Callable[[str], object],
) -> None:
    """Write the page of a dialogue.

    :param path: collection, or any export.
    :param dialogue_id: id of the dialogue; None if there is only one.
    :param model: name of the encoder; None takes the collection's own, and for an export the one to begin with.
    :param output: file to write; None names it by the dialogue.
    :param say: called with each line of output.
    """
    if not as_address(path) and (path / MANIFEST).is_file():
        collection, model = CollectionFolder(path), model or str(path / "model")
        if dialogue_id is None:
            raise CorpusError(
                f"{path} is a collection of {len(collection)} dialogues; expected the id of one. Name it behind {path}."
            )
        [dialogue] = collection.dialogues([collection.row(dialogue_id)])
    else:
        dialogue, model = find_dialogue(path, dialogue_id, way="--id {}"), model or untrained()
    output = output or Path(re.sub(r"[^\w.-]+", "-", f"{dialogue.dialogue_id}.html"))
    explanation = explain(load_encoder(model), dialogue)
    write_text(output, render_explanation(explanation, model=model))
    say(explanation_headline(explanation))
    say(f"wrote {output}; open it in a browser")
