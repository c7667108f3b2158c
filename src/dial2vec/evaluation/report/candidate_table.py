"""Choice among the candidates of a training, as rows of a table and points of a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conversations.words import number

# Titles of dev figures; the others have their own name.
DEV_TITLES = {"map": "average precision", "spearman": "Spearman"}
# Only this rule uses labels of the dev split.
LABELLED_RULE = "dev_purity"


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """One candidate, as printed.

    :param name: name such as "start" or "head of step 60".
    :param criteria: criteria in the order of the columns, then the score; "–" if missing.
    :param verdict: verdict such as "clearly below the base encoder on silhouette".
    :param dev: dev figures in the order of the columns; "–" if missing.
    """

    name: str
    criteria: list[str]
    verdict: str
    dev: list[str]
    chosen: bool


@dataclass(frozen=True, slots=True)
class CandidateTable:
    """The choice, ready for the page.

    :param sentence: reason for the choice.
    :param criteria: column titles of the criteria.
    :param dev: column titles of the dev figures; empty if no candidate has any.
    :param rows: candidates in the order of their steps.
    :param points: (uniformity, adjusted alignment) of the candidates with both, in the order of their steps.
    :param chosen_point: place of the chosen candidate in `points`; None if it has no point.
    :param by_labels: True if labels of dev were used for the choice.
    """

    sentence: str
    criteria: list[str]
    dev: list[str]
    rows: list[CandidateRow]
    points: list[tuple[float, float]]
    point_names: list[str]
    chosen_point: int | None
    by_labels: bool


def candidate_table(selection: dict[str, Any] | None) -> CandidateTable | None:
    """Return the choice recorded in `selection.json` or `distillation.json`; None if nothing was chosen.

    :param selection: content of the file: "chosen", "sentence" and "candidates", in `selection.json` also "rule" and
        "criteria"; each candidate has "name", "step", "criteria", "score", "verdict" and "dev", and may have
        "agreement" (with the teacher), "adjusted_alignment" and "uniformity".
    """
    if selection is None:
        return None
    candidates = sorted(selection["candidates"], key=lambda candidate: candidate["step"])
    dev = list(dict.fromkeys(title for candidate in candidates for title in candidate["dev"] or ()))
    criteria = selection.get("criteria") or list(dict.fromkeys(name for c in candidates for name in c["criteria"]))
    if any("agreement" in candidate for candidate in candidates):
        criteria = [*criteria, "agreement"]
    drawn = [c for c in candidates if c.get("adjusted_alignment") is not None and c.get("uniformity") is not None]
    names = [candidate["name"] for candidate in drawn]
    return CandidateTable(
        sentence=selection["sentence"],
        criteria=[criterion.replace("_", " ") for criterion in criteria],
        dev=[DEV_TITLES.get(title, title) for title in dev],
        rows=[_row(candidate, criteria, dev, chosen=selection["chosen"]) for candidate in candidates],
        points=[(float(candidate["uniformity"]), float(candidate["adjusted_alignment"])) for candidate in drawn],
        point_names=names,
        chosen_point=names.index(selection["chosen"]) if selection["chosen"] in names else None,
        by_labels=selection.get("rule") == LABELLED_RULE,
    )


def _row(candidate: dict[str, Any], criteria: Sequence[str], dev: Sequence[str], *, chosen: str) -> CandidateRow:
    figures = {"agreement": candidate.get("agreement")} | candidate["criteria"]
    return CandidateRow(
        name=candidate["name"],
        criteria=[_figure(value, 3) for value in (*map(figures.get, criteria), candidate["score"])],
        verdict=candidate["verdict"],
        dev=[_figure((candidate["dev"] or {}).get(title), 2) for title in dev],
        chosen=candidate["name"] == chosen,
    )


def _figure(value: float | None, digits: int) -> str:
    return "–" if value is None else number(value, digits)
