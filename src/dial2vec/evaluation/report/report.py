"""Static HTML page about a trained encoder: the result, maps, examples, figures, and the choice of the encoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.words import number
from dial2vec.evaluation import NO_LABELS
from dial2vec.evaluation.intervals import Gain
from dial2vec.evaluation.measure import Measured
from dial2vec.evaluation.report import pictures
from dial2vec.evaluation.report.candidate_table import CandidateTable, candidate_table
from dial2vec.evaluation.report.confusion import Confusion, confusion
from dial2vec.evaluation.report.dialogue_map import dialogue_maps, named_groups
from dial2vec.evaluation.report.examples import changed_cards, example_cards
from dial2vec.evaluation.report.figure_table import METRICS, FigureRow, figure_rows
from dial2vec.evaluation.report.neighbours import (
    NearestDialogues,
    kept_neighbours,
    neighbours_of,
    rank_nearest,
)
from dial2vec.evaluation.report.outcome import labelled_outcome, unlabelled_outcome
from dial2vec.evaluation.report.similarity import similarities
from dial2vec.html import rendered

# Name of the base encoder among the candidates.
START = "start"


@dataclass(frozen=True, slots=True)
class Report:
    """Content of the page.

    :param split_sizes: dialogues per split, in the order of display.
    :param encoders: figures and vectors on test of "start", "trained" and, if it was kept, "student". Their scores are
        None if no label can be scored.
    :param start_name: name of the base encoder, such as "all-MiniLM-L6-v2".
    :param settings: flat settings, such as {"train.epochs": 1}.
    :param history: logged steps of the training, in order, each with "step", "loss" and "learning_rate".
    :param dialogues: n dialogues of the test split: the labelled ones, or any if no label can be scored. The vectors of
        start and trained encoder are those of these dialogues.
    :param seed: seed of the maps, of k-means and of the intervals.
    :param selection: content of `selection.json` (see `report.candidate_table`); None if nothing was chosen.
    :param notes: sentences such as "12 dialogues are longer than 512 tokens and were read in windows."
    :param distillation: content of `distillation.json`; None if stage distil has not run.
    :param gains: gains over the base encoder on test with intervals, by encoder ("trained", "student") and metric.
    """

    corpus: str
    split_sizes: dict[str, int]
    encoders: dict[str, Measured]
    start_name: str
    settings: dict[str, object]
    history: list[dict[str, float]]
    dialogues: list[Dialogue]
    seed: int
    selection: dict[str, Any] | None
    notes: list[str]
    made: str
    distillation: dict[str, Any] | None = None
    gains: dict[str, dict[str, Gain]] = field(default_factory=dict)

    @property
    def labels(self) -> list[str]:
        """Label of each dialogue; empty if no label can be scored."""
        return self.encoders["start"].labels

    @property
    def vectors(self) -> dict[str, NDArray[np.float32]]:
        """Vectors by the title of the encoder: "Start", "Trained" and, with labels, "Student"."""
        return {name.title(): measured.vectors for name, measured in self.encoders.items()}

    @property
    def compared(self) -> dict[str, NDArray[np.float32]]:
        """Vectors by "Start" and by "Trained", which maps and examples compare."""
        return {title: self.vectors[title] for title in ("Start", "Trained")}

    @property
    def kept(self) -> bool:
        """True if the base encoder was kept, so that start and trained encoder are the same."""
        if self.selection is not None and self.selection["chosen"] == START:
            return True
        start, trained = self.compared.values()
        return len(start) > 0 and np.array_equal(start, trained)


def render_report(report: Report) -> str:
    """Return the page as HTML that needs no network: it contains its style, script and plots.

    :param report: content of the page; without scores the page says why it has no figures.
    """
    ranked, kept, seed = _ranked(report), report.kept, report.seed
    shared = kept_neighbours(ranked["Start"], ranked["Trained"])
    rows = _rows(report)
    if report.labels:
        neighbours = neighbours_of(ranked["Start"], ranked["Trained"], report.labels)
        outcome = labelled_outcome(neighbours, neighbours.gain(seed=seed), rows, kept=kept)
        groups = report.labels
        examples = [] if kept else example_cards(report.dialogues, groups, ranked, neighbours)
    else:
        neighbours = None
        outcome = unlabelled_outcome(report.selection, shared, kept=kept)
        groups = named_groups(report.dialogues, report.vectors["Trained"], seed=seed)
        examples = [] if kept else changed_cards(report.dialogues, ranked, shared, groups)
    choice = candidate_table(report.selection)
    drawn = {"Start": report.vectors["Start"]} if kept else report.compared
    return rendered(
        "dial2vec.evaluation.report",
        "report.html",
        report=report,
        outcome=outcome,
        rows=rows,
        metrics=METRICS,
        nothing=NO_LABELS,
        neighbours=neighbours,
        choice=choice,
        distillation=candidate_table(report.distillation),
        path=_path(choice),
        curves=pictures.curves(report.history),
        curves_in_words=_curves_in_words(report.history),
        maps=dialogue_maps(report.dialogues, groups, drawn, seed=seed, kind="label" if report.labels else "group"),
        similarity=_similarity(report),
        confusions=_confusions(report),
        examples=examples,
    )


def _ranked(report: Report) -> dict[str, NearestDialogues]:
    # Without labels each dialogue has its own, so that no pair counts as a hit.
    labels = report.labels or [str(place) for place in range(len(report.dialogues))]
    return {title: rank_nearest(vectors, labels) for title, vectors in report.compared.items()}


def _rows(report: Report) -> list[FigureRow]:
    scores = {name: measured.scores for name, measured in report.encoders.items() if measured.scores is not None}
    return figure_rows(scores, report.gains) if {"start", "trained"} <= scores.keys() else []


def _curves_in_words(history: list[dict[str, float]]) -> str:
    if not history:
        return "No loss was recorded: an encoder computed in one step, such as by a head in closed form, has no curve."
    first, last = history[0], history[-1]
    return (
        f"The loss goes from {first['loss']:.3f} at step {first['step']:.0f} to {last['loss']:.3f} at step "
        f"{last['step']:.0f}."
    )


def _path(choice: CandidateTable | None) -> str:
    """Return alignment and uniformity of the candidates as SVG; empty if fewer than two have both."""
    if choice is None or len(choice.points) < 2:
        return ""
    return pictures.path(choice.points, choice.point_names, chosen=choice.chosen_point)


def _similarity(report: Report) -> list[dict[str, str]]:
    """Return title, histogram and overlap per encoder; empty unless same-label and other pairs exist."""
    if len(set(report.labels)) in {0, 1, len(report.labels)}:
        return []
    similar = {title: similarities(vectors, report.labels) for title, vectors in report.vectors.items()}
    drawn = pictures.distributions({title.lower(): shares for title, shares in similar.items()})
    return [
        {"title": title, "svg": drawn[title.lower()], "overlap": number(100 * shares.overlap)}
        for title, shares in similar.items()
    ]


def _confusions(report: Report) -> list[tuple[str, Confusion]]:
    """Return the confusions, the trained model first and the base encoder last; empty without labels."""
    if not report.labels:
        return []
    vectors = sorted(report.vectors.items(), key=lambda item: item[0], reverse=True)
    return [(title, confusion(rows, report.labels, seed=report.seed)) for title, rows in vectors]
