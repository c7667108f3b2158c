"""An explanation as one HTML page, and its heat map as a PNG file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.explanation.explanation import Explanation, Matching
from dial2vec.files import atomic_path
from dial2vec.html import templates

# Number of turns listed above the dialogue, and characters of each in that list.
N_STRONGEST, CHARACTERS = 8, 160


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn on the page.

    :param number: number of the turn, from 1.
    :param percent: share of the turn, such as "3.4".
    :param heat: strength of its colour, 0 to 1.
    :param first: True if the first speaker says it.
    """

    number: int
    speaker: str
    text: str
    percent: str
    heat: float
    first: bool


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell of the heat map: its place, the strength of its colour, 0 to 1, and its tooltip."""

    row: int
    column: int
    heat: float
    tooltip: str


def render_explanation(explanation: Explanation, *, model: str) -> str:
    """Return the page as HTML that needs no network.

    :param model: name of the encoder.
    """
    shown = _turns(explanation)
    strongest = np.argsort(-explanation.shares, kind="stable")[:N_STRONGEST]
    matching = explanation.matching
    page: str = (
        templates("dial2vec.collection.explanation")
        .get_template("page.html")
        .render(
            dialogue=explanation.dialogue,
            model=model,
            headline=explanation_headline(explanation),
            windows=explanation.windows,
            matching=matching,
            cells=_cells(matching) if matching else [],
            range=_range(matching) if matching else (),
            caption=_caption(matching, explanation) if matching else "",
            strongest=[shown[place] for place in strongest],
            characters=CHARACTERS,
            turns=shown,
        )
    )
    return page


def explanation_headline(explanation: Explanation) -> str:
    """Return one sentence on the number of turns that make half of the vector."""
    ordered = np.sort(explanation.shares)[::-1]
    half = int(np.searchsorted(np.cumsum(ordered), 0.5)) + 1
    most = f"turn {int(explanation.shares.argmax()) + 1:,} alone makes {_percent(ordered[0])} %"
    return f"{half:,} of {len(ordered):,} turns make half of the vector; {most}."


def save_png(explanation: Explanation, path: Path) -> bool:
    """Write the heat map as a PNG file, atomically; return False, without a file, if one side says nothing."""
    from matplotlib.figure import Figure  # heavy, and needed only here

    matching = explanation.matching
    if matching is None:
        return False
    figure = Figure(figsize=(6.4, 5.6), dpi=150, layout="constrained")
    axes = figure.subplots()
    drawn = axes.imshow(matching.cosines, aspect="auto", cmap="Blues", interpolation="nearest")
    for axis, blocks in ((axes.yaxis, matching.rows), (axes.xaxis, matching.columns)):
        ticks = np.unique(np.linspace(0, len(blocks) - 1, min(len(blocks), 12)).round().astype(int))
        axis.set_ticks(ticks, [str(blocks[tick][0] + 1) for tick in ticks])
    axes.set_ylabel(f"turns of {explanation.dialogue.turns[0].speaker}")
    axes.set_xlabel(f"turns of {_others(explanation)}")
    figure.colorbar(drawn, label="mean cosine" if matching.blocked else "cosine")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png")
    return True


def _turns(explanation: Explanation) -> list[ShownTurn]:
    highest = float(max(explanation.shares.max(), 1e-9))
    turns = zip(explanation.dialogue.turns, explanation.dialogue.roles, explanation.shares.tolist(), strict=True)
    return [
        ShownTurn(number, turn.speaker, turn.text, _percent(share), max(share, 0.0) / highest, role == 0)
        for number, (turn, role, share) in enumerate(turns, start=1)
    ]


def _cells(matching: Matching) -> list[HeatCell]:
    low, high = _range(matching)
    heats = (matching.cosines - low) / max(high - low, 1e-9)
    return [
        HeatCell(row, column, float(heats[row, column]), _says(rows, columns, float(matching.cosines[row, column])))
        for row, rows in enumerate(matching.rows)
        for column, columns in enumerate(matching.columns)
    ]


def _range(matching: Matching) -> tuple[float, float]:
    return float(matching.cosines.min()), float(matching.cosines.max())


def _says(rows: NDArray[np.int64], columns: NDArray[np.int64], cosine: float) -> str:
    return f"{_named(rows)} and {_named(columns)}: {cosine:.2f}".replace("-", "−")


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
    digits = 2 if abs(percent) < 1 else 1
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    return f"{round(percent, digits) + 0.0:.{digits}f}".replace("-", "−")
