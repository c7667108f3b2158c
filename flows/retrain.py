"""Prefect flow: every stage of every corpus in order, then promotion. Run it by `make retrain`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from dial2vec import telemetry
from dial2vec.artifacts import Artifacts, find_root
from dial2vec.errors import Dial2vecError
from dial2vec.evaluation import TASKS
from dial2vec.files import checkout_lock, read_json
from dial2vec.pages import prefect_environment
from dial2vec.params import load_settings
from dial2vec.pipeline import STAGES, add_data, dvc_lines, ensure_data
from dial2vec.stages.promote import promote_candidate

ROOT = find_root(Path(__file__).parent)
# Prefect reads its environment while it is imported.
telemetry.switch_off()
for name, value in prefect_environment(ROOT).items():
    os.environ.setdefault(name, value)

from prefect import flow, get_run_logger, task  # noqa: E402
from prefect.artifacts import create_table_artifact  # noqa: E402


@task(task_run_name="{stage}-{corpus}")
def run_stage(stage: str, corpus: str) -> None:
    """Run one stage of one corpus by DVC, which skips it when nothing changed; its lines go to the run's log."""
    logger = get_run_logger()
    for line in dvc_lines(ROOT, "repro", "--single-item", f"{stage}@{corpus}"):
        logger.info(line)


# A tracking server can fail for a passing reason, and training that was killed resumes; bad data stays bad.
RETRIES = {"train": 1, "register": 2}


@task
def promote(corpus: str) -> str:
    """Promote the candidate if it passes the gate, and return the verdict in words."""
    verdict = promote_candidate(ROOT, corpus, load_settings(ROOT / "params.yaml"))
    words = "promoted" if verdict.promoted else "champion stays: " + "; ".join(verdict.reasons)
    get_run_logger().info("%s: %s", corpus, words)
    return words


@flow(name="retrain")
def retrain(corpora: list[str] | None = None) -> dict[str, str]:
    """Retrain the listed corpora (default: those of params.yaml) and return each one's verdict.

    One retraining at a time, also against a `dvc repro` in another shell: the second one ends at once and says so.
    """
    settings = load_settings(ROOT / "params.yaml")
    names = corpora or list(settings.corpora)
    unknown = sorted(set(names) - set(settings.corpora))
    if unknown:
        raise Dial2vecError(f"no stages for {', '.join(unknown)}: put them into `corpora` of params.yaml first.")
    verdicts: dict[str, str] = {}
    failed: list[str] = []
    with checkout_lock(ROOT, "flow retrain"):
        ensure_data(ROOT, names)
        # Single stages do not look whether the raw data has changed.
        add_data(ROOT)
        for corpus in names:
            try:
                for stage in STAGES:
                    retries = RETRIES.get(stage, 0)
                    run_stage.with_options(name=stage, retries=retries, retry_delay_seconds=10)(stage, corpus)
                verdicts[corpus] = promote(corpus)
            except Dial2vecError as error:
                failed.append(corpus)
                verdicts[corpus] = f"failed: {error}"
        create_table_artifact(
            key="results", table=_results(names, verdicts), description="Start against trained, on the test split"
        )
    if failed:
        raise Dial2vecError("; ".join(f"{corpus} {verdicts[corpus]}" for corpus in failed))
    return verdicts


def _results(corpora: list[str], verdicts: dict[str, str]) -> list[dict[str, Any]]:
    rows = []
    for corpus in corpora:
        path = Artifacts(ROOT, corpus).metrics
        metrics = read_json(path) if path.is_file() else {"start": None, "trained": None}
        for which in ("start", "trained"):
            scores = metrics[which] or {}
            verdict = verdicts[corpus] if which == "trained" else ""
            rows.append({"corpus": corpus, "encoder": which} | {t: scores.get(t) for t in TASKS} | {"verdict": verdict})
    return rows


if __name__ == "__main__":
    try:
        # Taken here already, so that a second retraining ends with one sentence before Prefect starts its server.
        with checkout_lock(ROOT, "flow retrain"):
            retrain()
    except Dial2vecError as error:
        sys.exit(f"retrain: {error}")
