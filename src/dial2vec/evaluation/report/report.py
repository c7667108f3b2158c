"""Static HTML page about a trained model: figures, plots, examples and the choice of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dial2vec.dialogue import Dialogue
from dial2vec.evaluation import NOTHING_TO_SCORE, TASKS
from dial2vec.evaluation.report import pictures
from dial2vec.evaluation.report.candidate_table import CandidateTable, candidate_table
from dial2vec.evaluation.report.confusion import Confusion, confusion
from dial2vec.evaluation.report.dialogue_map import dialogue_maps
from dial2vec.evaluation.report.examples import NearestDialogues, choose_examples, rank_nearest
from dial2vec.evaluation.report.excerpts import Excerpt, excerpt
from dial2vec.evaluation.report.similarity import similarities
from dial2vec.html import templates


@dataclass(frozen=True, slots=True)
class Report:
    """Content of the page.

    :param split_sizes: dialogues per split, in the order of display.
    :param start: test figures of the untrained start, by `evaluation.scores.score`; None if no label can be scored.
    :param trained: test figures of the trained model; None if no label can be scored.
    :param start_name: name of the start, such as "all-MiniLM-L6-v2".
    :param settings: flat settings, such as {"train.epochs": 1}.
    :param loss: (step, loss) pairs, in order.
    :param learning_rate: (step, learning rate) pairs, in order.
    :param dialogues: n labelled dialogues of the test split; empty if no label can be scored.
    :param start_vectors: vectors of these dialogues by the start, float32 [n, d].
    :param trained_vectors: vectors of these dialogues by the trained model, float32 [n, d].
    :param labels: label of each dialogue.
    :param seed: seed of the maps and of k-means.
    :param selection: content of `selection.json` (see `report.candidate_table`); None if nothing was chosen.
    :param notes: sentences such as "12 dialogues are longer than 512 tokens and were read in windows."
    :param student: test figures of the student; None if there is no student, or no label can be scored.
    :param student_vectors: vectors of the dialogues by the student, float32 [n, d]; None if there is no student.
    :param distillation: content of `distillation.json`; None if stage distil has not run.
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


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table of figures.

    :param key: key of the metric in the scores.
    :param title: title of the metric on the page.
    :param higher_is_better: True if higher is better.
    :param low: lowest possible value, as printed.
    :param high: highest possible value, as printed.
    :param meaning: one-line explanation for a newcomer.
    """

    key: str
    title: str
    higher_is_better: bool
    low: str
    high: str
    meaning: str


METRICS = (
    Metric(
        "purity",
        "Purity",
        True,
        "0",
        "100",
        "Share of dialogues with the commonest label of their cluster, mean ± sd over k-means runs.",
    ),
    Metric(
        "spearman",
        "Spearman",
        True,
        "−100",
        "its ceiling",
        "Rank correlation of cosine with having the same label. The ceiling is the figure of a perfect ranking.",
    ),
    Metric("map", "MAP", True, "0", "100", "Mean average precision: how high dialogues of the same label rank."),
    Metric("mrr", "MRR", True, "0", "100", "Mean of 1 / rank of the first dialogue of the same label."),
    Metric("ari", "ARI", True, "about 0 by chance", "100", "Agreement of clusters and labels on pairs, beyond chance."),
    Metric("nmi", "NMI", True, "0", "100", "Information that clusters and labels share."),
    Metric("accuracy", "Accuracy", True, "0", "100", "Share of dialogues in the cluster matched to their label."),
    Metric("alignment", "Alignment", False, "0", "4", "Mean squared distance between dialogues of one label."),
    Metric(
        "adjusted_alignment", "Adjusted alignment", False, "−4", "4", "Alignment minus its value for different labels."
    ),
    Metric("uniformity", "Uniformity", False, "−8", "0", "How evenly the dialogues spread; 0 if all coincide."),
)

# Limits of a transcript in an example.
TRANSCRIPT_TURNS, TRANSCRIPT_CHARACTERS = 12, 400


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """Figure of an encoder beside the start's, as printed.

    :param spread: spread over the runs of k-means; empty except for purity.
    :param difference: signed difference to the start's figure.
    :param verdict: "better", "worse" or "equal", by the difference as printed.
    :param caution: "within the spread" if the difference is no larger than the spread; else empty.
    """

    figure: str
    spread: str
    difference: str
    verdict: str
    caution: str


@dataclass(frozen=True, slots=True)
class ExampleDialogue:
    """Dialogue of an example, as printed.

    :param transcript: opening of the dialogue.
    :param cosine: cosine to the query; empty for the query itself.
    :param hit: True if the dialogue has the label of the query.
    """

    dialogue_id: str
    label: str
    transcript: Excerpt
    cosine: str
    hit: bool


def render_report(report: Report) -> str:
    """Return the page as HTML that needs no network: it contains its style, script and plots.

    :param report: content of the page; without `start` and `trained` the page says why it has no figures.
    """
    rows = _rows(report)
    choice = candidate_table(report.selection)
    page: str = (
        templates("dial2vec.evaluation.report")
        .get_template("report.html")
        .render(
            report=report,
            headline=_headline(rows),
            rows=rows,
            metrics=METRICS,
            choice=choice,
            distillation=candidate_table(report.distillation),
            path=_path(choice),
            curves=pictures.curves(report.loss, report.learning_rate),
            curves_in_words=_curves_in_words(report.loss),
            maps=dialogue_maps(report.dialogues, report.labels, _vectors(report), seed=report.seed),
            similarity=_similarity(report),
            confusions=_confusions(report),
            examples=_examples(report),
        )
    )
    return page


def _vectors(report: Report) -> dict[str, np.ndarray]:
    return {"Start": report.start_vectors, "Trained": report.trained_vectors}


def _all_vectors(report: Report) -> dict[str, np.ndarray]:
    """Return the vectors of start, trained and student, if there is one."""
    return _vectors(report) | ({} if report.student_vectors is None else {"Student": report.student_vectors})


def _headline(rows: list[dict[str, Any]]) -> str:
    if not rows:
        reason = f"There are no figures on test: {NOTHING_TO_SCORE}."
        return f"{reason} So this page cannot say whether the trained model is better or worse than its start."
    parts: dict[str, list[str]] = {}
    for row in rows:
        if row["key"] in TASKS:
            trained: ComparedFigure = row["trained"]
            caution = f", {trained.caution}" if trained.caution else ""
            by = "" if trained.verdict == "equal" else f" ({trained.difference}{caution})"
            parts.setdefault(trained.verdict, []).append(row["title"] + by)
    words = {"better": "better than", "worse": "worse than", "equal": "equal to"}
    phrases = [f"{word} its start on {_and(parts[verdict])}" for verdict, word in words.items() if verdict in parts]
    return f"The trained model is {_and(phrases)}."


def _rows(report: Report) -> list[dict[str, Any]]:
    """Return one row per metric."""
    if report.start is None or report.trained is None:
        return []
    ceiling = f"ceiling {_number(report.trained['spearman_ceiling'])}"
    return [
        {
            "key": metric.key,
            "title": metric.title,
            "arrow": "↑" if metric.higher_is_better else "↓",
            "remark": ceiling if metric.key == "spearman" else "",
            "start": _compared(metric, report.start, report.start),
            "trained": _compared(metric, report.start, report.trained),
            "student": None if report.student is None else _compared(metric, report.start, report.student),
        }
        for metric in METRICS
    ]


def _compared(metric: Metric, start: dict[str, float], scores: dict[str, float]) -> ComparedFigure:
    difference = round(scores[metric.key] - start[metric.key], 2)
    gain = difference if metric.higher_is_better else -difference
    # Only purity has a spread: it is the mean of several runs.
    spread = scores.get(f"{metric.key}_sd")
    within = spread is not None and 0 < abs(difference) <= max(start[f"{metric.key}_sd"], spread)
    return ComparedFigure(
        figure=_number(scores[metric.key]),
        spread="" if spread is None else f"± {spread:.2f}",
        difference=f"{'+' if difference > 0 else ''}{_number(difference)}",
        verdict="better" if gain > 0 else "worse" if gain < 0 else "equal",
        caution="within the spread" if within else "",
    )


def _number(value: float) -> str:
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def _and(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def _curves_in_words(loss: list[tuple[int, float]]) -> str:
    if not loss:
        return "No loss was recorded: a model computed in one step, such as a closed-form map, has no curve."
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
        {"title": title, "svg": drawn[title.lower()], "overlap": _number(100 * shares.overlap)}
        for title, shares in similar.items()
    ]


def _confusions(report: Report) -> list[tuple[str, Confusion]]:
    """Return the confusions, the trained model first and the start last; empty without dialogues."""
    if not report.dialogues:
        return []
    vectors = sorted(_all_vectors(report).items(), key=lambda item: item[0], reverse=True)
    return [(title, confusion(rows, report.labels, seed=report.seed)) for title, rows in vectors]


def _examples(report: Report) -> list[dict[str, Any]]:
    if not report.dialogues:
        return []
    ranked = {title: rank_nearest(vectors, report.labels) for title, vectors in _vectors(report).items()}
    return [
        {
            "why": example.why,
            "query": _shown(report, example.query, query=example.query),
            "precisions": {
                title: _number(100 * float(ranking.precisions[example.query])) for title, ranking in ranked.items()
            },
            "nearest": {title: _nearest(report, ranking, example.query) for title, ranking in ranked.items()},
        }
        for example in choose_examples(ranked["Start"], ranked["Trained"], report.labels)
    ]


def _nearest(report: Report, ranking: NearestDialogues, query: int) -> list[ExampleDialogue]:
    pairs = zip(ranking.nearest[query].tolist(), ranking.cosines[query].tolist(), strict=True)
    return [_shown(report, place, query=query, cosine=_number(cosine)) for place, cosine in pairs]


def _shown(report: Report, place: int, *, query: int, cosine: str = "") -> ExampleDialogue:
    transcript = excerpt(report.dialogues[place], turns=TRANSCRIPT_TURNS, characters=TRANSCRIPT_CHARACTERS)
    hit = report.labels[place] == report.labels[query]
    return ExampleDialogue(report.dialogues[place].dialogue_id, report.labels[place], transcript, cosine, hit)
