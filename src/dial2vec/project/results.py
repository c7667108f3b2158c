"""The results of the last run as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conversations.files import read_json
from dial2vec.config import Settings
from dial2vec.errors import ArtifactError
from dial2vec.evaluation import NO_LABELS
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.project.dvc import STAGES
from dial2vec.registry import SMALL


def require_runs(root: Path, corpora: Sequence[str]) -> None:
    """Raise if a corpus has no complete run.

    :raises ArtifactError: if the last run of a corpus did not end.
    """
    for name in corpora:
        artifacts = Artifacts(root, name)
        needed = (artifacts.model, artifacts.selection, artifacts.metrics, artifacts.registration)
        if not all(path.exists() for path in needed):
            raise ArtifactError(
                f"there is no complete run of '{name}': it never ended or is still running. Run `dial2vec run`."
            )


def results_table(root: Path, settings: Settings) -> str:
    """Return a table: scores of start, trained and student per corpus, seconds per stage, paths of the outputs.

    :raises ArtifactError: if the last run of a corpus did not end.
    """
    require_runs(root, settings.corpora)
    lines = [f"{'corpus':<14} {'encoder':<8} {'purity':>14} {'Spearman':>9} {'ceiling':>8} {'MAP':>7}"]
    for name in settings.corpora:
        metrics = read_json(Artifacts(root, name).metrics)
        student = ["student"] if metrics.get("student") else []
        encoders = ["start", "trained", *student]
        lines += [_row(name, encoder, metrics[encoder]) for encoder in encoders]
        for part, scores in metrics.get("parts", {}).items():
            lines += [_row(f"  {part}", encoder, scores[encoder]) for encoder in encoders]
    lines.append("")
    for name in settings.corpora:
        artifacts = Artifacts(root, name)
        registration = read_json(artifacts.registration)
        seconds = {stage: artifacts.seconds(stage) for stage in STAGES}
        spent = ", ".join(f"{stage} {read_json(path):.0f}" for stage, path in seconds.items() if path.is_file())
        lines += [
            f"{name}: seconds of the last run: {spent}",
            f"  choice   {read_json(artifacts.selection)['sentence']}",
            f"  report   {artifacts.report.relative_to(root)}",
            f"  model    {artifacts.model.relative_to(root)}, registered as dial2vec-{name} version "
            f"{registration['version']}",
            *_student_lines(artifacts, registration),
            f"  next     dial2vec promote {name}    (champion, if better on dev)",
        ]
    return "\n".join(lines)


def _student_lines(artifacts: Artifacts, registration: dict[str, Any]) -> list[str]:
    """Return the lines about the student; empty before stage distil."""
    if not artifacts.distillation.is_file():
        return []
    if not (small := registration.get("small")):
        return [f"  student  {read_json(artifacts.distillation)['sentence']}"]
    folder, name = artifacts.student.relative_to(artifacts.root), f"{artifacts.corpus}{SMALL}"
    return [
        f"  student  {folder}, registered as dial2vec-{name} version {small['version']}",
        f"           judged by dial2vec promote {name}",
    ]


def _row(corpus: str, encoder: str, scores: dict[str, float] | None) -> str:
    if scores is None:
        return f"{corpus:<14} {encoder:<8} no figures on test: {NO_LABELS}"
    purity = f"{scores['purity']:.1f} ± {scores['purity_sd']:.1f}"
    return (
        f"{corpus:<14} {encoder:<8} {purity:>14} {scores['spearman']:>9.2f} "
        f"{scores['spearman_ceiling']:>8.2f} {scores['map']:>7.2f}"
    )
