"""Static HTML page about a trained encoder: the result, maps, examples, figures, and the choice of the encoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.words import number
from dial2vec.evaluation import NOTHING_TO_SCORE
from dial2vec.evaluation.intervals import Gain
from dial2vec.evaluation.report import pictures
from dial2vec.evaluation.report.candidate_table import CandidateTable, candidate_table
from dial2vec.evaluation.report.confusion import Confusion, confusion
from dial2vec.evaluation.report.dialogue_map import DialogueMaps, dialogue_maps
from dial2vec.evaluation.report.example_cards import ExampleCard, changed_cards, example_cards
from dial2vec.evaluation.report.figure_table import METRICS, FigureRow, figure_rows
from dial2vec.evaluation.report.groups import named_groups
from dial2vec.evaluation.report.neighbours import Neighbours, kept_neighbours, neighbours_of
from dial2vec.evaluation.report.outcome import labelled_outcome, unlabelled_outcome
from dial2vec.evaluation.report.ranked import NearestDialogues, rank_nearest
from dial2vec.evaluation.report.similarity import similarities
from dial2vec.html import templates

# Name of the start among the candidates.
START = "start"


@dataclass(frozen=True, slots=True)
class Report:
    """Content of the page.

    :param split_sizes: dialogues per split, in the order of display.
    :param start: test figures of the untrained start, by `evaluation.scores.score`; None if no label can be scored.
    :param trained: test figures of the trained encoder; None if no label can be scored.
    :param start_name: name of the start, such as "all-MiniLM-L6-v2".
    :param settings: flat settings, such as {"train.epochs": 1}.
    :param loss: (step, loss) pairs, in order.
    :param learning_rate: (step, learning rate) pairs, in order.
    :param dialogues: n dialogues of the test split: the labelled ones, or any if no label can be scored.
    :param start_vectors: vectors of these dialogues by the start, float32 [n, d].
    :param trained_vectors: vectors of these dialogues by the trained encoder, float32 [n, d].
    :param labels: label of each dialogue; empty if no label can be scored.
    :param seed: seed of the maps, of k-means and of the intervals.
    :param selection: content of `selection.json` (see `report.candidate_table`); None if nothing was chosen.
    :param notes: sentences such as "12 dialogues are longer than 512 tokens and were read in windows."
    :param student: test figures of the student; None if there is no student, or no label can be scored.
    :param student_vectors: vectors of the dialogues by the student, float32 [n, d]; None if there is no student.
    :param distillation: content of `distillation.json`; None if stage distil has not run.
    :param gains: gains over the start on test with their intervals, by encoder ("trained", "student") and metric.
    """

    corpus: str
    split_sizes: dict[str, int]
    start: dict[str, float] | None
    trained: dict[str, float] | None
    start_name: str
    settings: dict[str, object]
    loss: list[tuple[int, float]]
    learning_rate: list[tuple[int, float]]
    dialogues: list[Dialogue]
    start_vectors: NDArray[np.float32]
    trained_vectors: NDArray[np.float32]
    labels: list[str]
    seed: int
    selection: dict[str, Any] | None
    notes: list[str]
    made: str
    student: dict[str, float] | None = None
    student_vectors: NDArray[np.float32] | None = None
    distillation: dict[str, Any] | None = None
    gains: dict[str, dict[str, Gain]] = field(default_factory=dict)

    @property
    def kept(self) -> bool:
        """True if the start was kept, so that start and trained encoder are the same."""
        chosen = self.selection is not None and self.selection["chosen"] == START
        return chosen or (len(self.start_vectors) > 0 and np.array_equal(self.start_vectors, self.trained_vectors))


def render_report(report: Report) -> str:
    """Return the page as HTML that needs no network: it contains its style, script and plots.

    :param report: content of the page; without `start` and `trained` the page says why it has no figures.
    """
    ranked = _ranked(report)
    groups = [] if report.labels else named_groups(report.dialogues, report.trained_vectors, seed=report.seed)
    neighbours = neighbours_of(ranked["Start"], ranked["Trained"], report.labels) if report.labels else None
    rows = _rows(report)
    choice = candidate_table(report.selection)
    shared = kept_neighbours(ranked["Start"], ranked["Trained"])
    page: str = (
        templates("dial2vec.evaluation.report")
        .get_template("report.html")
        .render(
            report=report,
            outcome=_outcome(report, neighbours, rows, shared),
            rows=rows,
            metrics=METRICS,
            nothing=NOTHING_TO_SCORE,
            neighbours=neighbours,
            choice=choice,
            distillation=candidate_table(report.distillation),
            path=_path(choice),
            curves=pictures.curves(report.loss, report.learning_rate),
            curves_in_words=_curves_in_words(report.loss),
            maps=_maps(report, groups),
            similarity=_similarity(report),
            confusions=_confusions(report),
            examples=_examples(report, ranked, neighbours, shared, groups),
        )
    )
    return page


def _vectors(report: Report) -> dict[str, NDArray[np.float32]]:
    return {"Start": report.start_vectors, "Trained": report.trained_vectors}


def _all_vectors(report: Report) -> dict[str, NDArray[np.float32]]:
    """Return the vectors of start, trained and student, if there is one."""
    return _vectors(report) | ({} if report.student_vectors is None else {"Student": report.student_vectors})


def _ranked(report: Report) -> dict[str, NearestDialogues]:
    # Without labels each dialogue has its own, so that no pair counts as a hit.
    labels = report.labels or [str(place) for place in range(len(report.dialogues))]
    return {title: rank_nearest(vectors, labels) for title, vectors in _vectors(report).items()}


def _outcome(report: Report, neighbours: Neighbours | None, rows: list[FigureRow], shared: NDArray[np.int64]) -> str:
    if neighbours is None:
        return unlabelled_outcome(report.selection, shared, kept=report.kept)
    return labelled_outcome(neighbours, neighbours.gain(seed=report.seed), rows, kept=report.kept)


def _rows(report: Report) -> list[FigureRow]:
    if report.start is None or report.trained is None:
        return []
    return figure_rows(report.start, report.trained, report.student, report.gains)


def _maps(report: Report, groups: list[str]) -> DialogueMaps | None:
    """Return the maps, coloured by label or else by group; only that of the start if it was kept."""
    vectors = {"Start": report.start_vectors} if report.kept else _vectors(report)
    kind = "label" if report.labels else "group"
    return dialogue_maps(report.dialogues, report.labels or groups, vectors, seed=report.seed, kind=kind)


def _examples(
    report: Report,
    ranked: dict[str, NearestDialogues],
    neighbours: Neighbours | None,
    shared: NDArray[np.int64],
    groups: list[str],
) -> list[ExampleCard]:
    if report.kept:
        return []
    if neighbours is None:
        return changed_cards(report.dialogues, ranked, shared, groups)
    return example_cards(report.dialogues, report.labels, ranked, neighbours)


def _curves_in_words(loss: list[tuple[int, float]]) -> str:
    if not loss:
        return "No loss was recorded: an encoder computed in one step, such as by a head in closed form, has no curve."
    (first, before), (last, after) = loss[0], loss[-1]
    return f"The loss goes from {before:.3f} at step {first} to {after:.3f} at step {last}."


def _path(choice: CandidateTable | None) -> str:
    """Return alignment and uniformity of the candidates as SVG; empty if fewer than two have both."""
    if choice is None or len(choice.points) < 2:
        return ""
    return pictures.path(choice.points, choice.point_names, chosen=choice.chosen_point)


def _similarity(report: Report) -> list[dict[str, str]]:
    """Return title, histogram and overlap per encoder; empty unless same-label and other pairs exist."""
    if len(set(report.labels)) in {0, 1, len(report.labels)}:
        return []
    similar = {title: similarities(vectors, report.labels) for title, vectors in _all_vectors(report).items()}
    drawn = pictures.distributions({title.lower(): shares for title, shares in similar.items()})
    return [
        {"title": title, "svg": drawn[title.lower()], "overlap": number(100 * shares.overlap)}
        for title, shares in similar.items()
    ]


def _confusions(report: Report) -> list[tuple[str, Confusion]]:
    """Return the confusions, the trained model first and the start last; empty without labels."""
    if not report.labels:
        return []
    vectors = sorted(_all_vectors(report).items(), key=lambda item: item[0], reverse=True)
    return [(title, confusion(rows, report.labels, seed=report.seed)) for title, rows in vectors]
