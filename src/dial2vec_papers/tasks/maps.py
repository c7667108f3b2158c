"""Maps of utterances by t-SNE, as in Figure 1 of Zhou et al. 2022 (DSE): intents, and questions with their answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, read_dialogues
from dial2vec.draws import stable_hash
from dial2vec.evaluation.geometry import COLOURS, lay_out
from dial2vec_papers.tables.charts import save_picture
from dial2vec_papers.tasks.answer_tuning import pairs_of
from dial2vec_papers.tasks.encoding import Reader, encode_distinct
from dial2vec_papers.tasks.intents import IntentSet
from dial2vec_papers.tasks.prototypes import require_sentences
from dial2vec_papers.tasks.sources import Sources

# One colour each; the paper does not say how many it drew.
N_INTENTS, N_PAIRS = len(COLOURS), 2 * len(COLOURS)
# Out-of-scope sentences, and answers to other questions, in black.
N_OTHERS = 100
SIZE, DPI = 5.2, 130


def draw_maps(reader: Reader, sources: Sources, folder: Path, *, seed: int) -> list[Path]:
    """Draw a map of each intent set and of each corpus, and return the PNG files.

    :param folder: folder of the files, `<data>_intents.png` and `<data>_answers.png`; made if it does not exist.
    :raises CorpusError: if a set has no test sentences, or a corpus no turn of the second speaker after another.
    """
    paths = []
    for data in sources.intent_sets():
        paths.append(folder / f"{data.name}_intents.png")
        draw_intents(reader, data, paths[-1], seed=seed)
    for name, path in sources.dialogues:
        paths.append(folder / f"{name}_answers.png")
        draw_answers(reader, read_dialogues(path), paths[-1], data=name, seed=seed)
    return paths


def draw_intents(reader: Reader, data: IntentSet, path: Path, *, seed: int) -> None:
    """Draw the test sentences of ten intents, a colour each, and a hundred out of scope as black circles, if any.

    Source: Zhou et al. 2022 (DSE), Figure 1, left.

    :raises CorpusError: if there are no test sentences.
    """
    require_sentences(data.test.texts, f"{data.name} has no test sentences")
    intents = _drawn(sorted(set(data.test.labels)), N_INTENTS, seed)
    rows = [(text, label) for text, label in zip(data.test.texts, data.test.labels, strict=True) if label in intents]
    others = _drawn(sorted(set(data.out_of_scope)), N_OTHERS, seed)
    encoded = encode_distinct(reader.utterances, [*(text for text, _ in rows), *others])
    points = lay_out(encoded.vectors, seed=seed).points
    figure, axes = _axes(f"{data.name}: intents" + (", black: out of scope" if others else ""))
    for colour, intent in zip(COLOURS, intents, strict=False):
        own = encoded.rows(text for text, label in rows if label == intent)
        axes.scatter(*points[own].T, s=14, color=colour, label=intent, linewidths=0)
    if others:
        _black(axes, points[encoded.rows(others)])
    axes.legend(fontsize=6, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    save_picture(figure, path)


def draw_answers(reader: Reader, dialogues: Iterable[Dialogue], path: Path, *, data: str, seed: int) -> None:
    """Draw twenty questions as triangles and their answers as dots, a colour for each pair or two, and other answers.

    A hundred answers to other questions are black circles. Source: Zhou et al. 2022 (DSE), Figure 1, right.

    :raises CorpusError: if no turn of the second speaker follows another.
    """
    pairs = pairs_of(dialogues)
    require_sentences([answer.text for _, answer in pairs], f"{data} has no turn of the second speaker after another")
    order = sorted(pairs, key=lambda pair: stable_hash(seed, "map", pair[0].text, pair[1].text))
    shown, others = order[:N_PAIRS], order[N_PAIRS : N_PAIRS + N_OTHERS]
    shown_turns = [(turn,) for pair in shown for turn in pair] + [(answer,) for _, answer in others]
    encoded = encode_distinct(reader.contexts, shown_turns)
    points = lay_out(encoded.vectors, seed=seed).points
    figure, axes = _axes(f"{data}: questions (triangles) and their answers, black: other answers")
    if others:
        _black(axes, points[encoded.rows((answer,) for _, answer in others)])
    for place, (question, answer) in enumerate(shown):
        asked, told_by = (points[encoded.row_of[turn,]] for turn in (question, answer))
        colour = COLOURS[place % len(COLOURS)]
        axes.plot(*zip(asked, told_by, strict=True), color=colour, linewidth=0.6, alpha=0.6)
        axes.scatter(*asked, marker="^", s=30, color=colour, linewidths=0)
        axes.scatter(*told_by, marker="o", s=22, color=colour, linewidths=0)
    save_picture(figure, path)


def _drawn(names: Sequence[str], n: int, seed: int) -> list[str]:
    return sorted(names, key=lambda name: stable_hash(seed, "map", name))[:n]


def _axes(title: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(SIZE * 1.35, SIZE), dpi=DPI, layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, fontsize=9)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color("#c8ced4")
    return figure, axes


def _black(axes: Any, points: NDArray[np.float32]) -> None:
    axes.scatter(*points.T, s=12, facecolors="none", edgecolors="black", linewidths=0.7)
