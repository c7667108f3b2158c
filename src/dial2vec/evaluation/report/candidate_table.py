"""What was chosen among the candidates of a training, as rows of a table and as points of a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# The one rule that looks at labels of the dev split.
LABELLED_RULE = "dev_purity"


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """One candidate as printed.

    :param name: such as "start" or "map k=30".
    :param criteria: its criteria in the order of the columns, then its score; "–" where there is none.
    :param verdict: such as "not ahead of the start on stability".
    :param dev: its figures on dev in the order of their columns; "–" where there are none.
    :param chosen: is it the chosen one?
    """

    name: str
    criteria: list[str]
    verdict: str
    dev: list[str]
    chosen: bool


@dataclass(frozen=True, slots=True)
class CandidateTable:
    """The choice, ready for the page.

    :param sentence: what was chosen and why.
    :param criteria: titles of the columns of criteria.
    :param dev: titles of the columns of dev figures; empty when no candidate has any.
    :param rows: the candidates, in order of their step.
    :param points: (uniformity, alignment) of the candidates that have both, in the same order.
    :param point_names: their names.
    :param chosen_point: place of the chosen one among the points; None when it is not there.
    :param by_labels: were labels of dev used for the choice?
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
    """Return the choice that `selection.json` records; None when nothing was chosen.

    :param selection: the content of the file: "rule", "chosen", "sentence", "criteria" and "candidates", each of
        these with "name", "step", "criteria", "score", "verdict", "alignment", "uniformity" and "dev".
    """
    if selection is None:
        return None
    candidates = sorted(selection["candidates"], key=lambda candidate: candidate["step"])
    dev = list(dict.fromkeys(title for candidate in candidates for title in candidate["dev"] or ()))
    drawn = [c for c in candidates if c["alignment"] is not None and c["uniformity"] is not None]
    names = [candidate["name"] for candidate in drawn]
    return CandidateTable(
        sentence=selection["sentence"],
        criteria=[criterion.replace("_", " ") for criterion in selection["criteria"]],
        dev=dev,
        rows=[_row(candidate, selection, dev) for candidate in candidates],
        points=[(float(candidate["uniformity"]), float(candidate["alignment"])) for candidate in drawn],
        point_names=names,
        chosen_point=names.index(selection["chosen"]) if selection["chosen"] in names else None,
        by_labels=selection["rule"] == LABELLED_RULE,
    )


def _row(candidate: dict[str, Any], selection: dict[str, Any], dev: Sequence[str]) -> CandidateRow:
    criteria = [candidate["criteria"].get(criterion) for criterion in selection["criteria"]]
    return CandidateRow(
        name=candidate["name"],
        criteria=[_figure(value, 3) for value in (*criteria, candidate["score"])],
        verdict=candidate["verdict"],
        dev=[_figure((candidate["dev"] or {}).get(title), 2) for title in dev],
        chosen=candidate["name"] == selection["chosen"],
    )


def _figure(value: float | None, digits: int) -> str:
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    return "–" if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")
