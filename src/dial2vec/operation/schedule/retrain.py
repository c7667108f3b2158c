"""Prefect flow: bring new data, train each corpus that is worth it, promote. The project is the one around here.

`flows/retrain.py` of a project gives the flow to Prefect, whose worker changes into the project first.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext, suppress

from dial2vec import telemetry
from dial2vec.files import checkout_lock, find_root
from dial2vec.operation.pages import use_prefect
from dial2vec.processes import collect_rarely

ROOT = find_root()
# Prefect reads its environment while it is imported.
telemetry.switch_off()
use_prefect(ROOT)
collect_rarely()

from prefect import flow, get_run_logger, runtime, task
from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.client.orchestration import get_client
from prefect.states import Cancelled, State

from dial2vec.addresses import shown
from dial2vec.config import Prune, Schedule, Settings
from dial2vec.errors import BusyError, Dial2vecError
from dial2vec.operation.old_runs import remove_old_runs
from dial2vec.operation.schedule.embedding import embed_folder
from dial2vec.operation.schedule.inbox import Arrival, take_in
from dial2vec.operation.schedule.nights import killed_sentence, tell
from dial2vec.operation.schedule.notify import notify, send_heartbeat
from dial2vec.operation.schedule.reasons import Reason, reason_to_train
from dial2vec.operation.schedule.result import CorpusResult, Retraining, done_before, remember, result_rows, work_key
from dial2vec.operation.schedule.runs import alive, mark_dead
from dial2vec.operation.schedule.temporary_server import start_temporary_server
from dial2vec.params import load_operation, load_settings
from dial2vec.pipeline.dvc_records import data_hash
from dial2vec.pipeline.free_space import require_space
from dial2vec.project.dvc import STAGES, add_data, dvc_lines, ensure_data, pull_data, require_stages
from dial2vec.project.dvc import push as push_versions
from dial2vec.project.promotion import promote_candidate
from dial2vec.project.prune import prune
from dial2vec.registry.promotion import Verdict, verdict_sentence
from dial2vec.registry.receipts import reconcile, registered_models
from dial2vec.registry.tracking import run_address

# Only these stages can succeed if repeated: killed training resumes, and a tracking server may be away for a moment.
RETRIES = {"train": 1, "distil": 1, "register": 2}
# Seconds to wait for another retraining; "wait" is longer than any takes.
PATIENCE = {"wait": 7 * 24 * 3600.0, "refuse": 0.0}


@task
def bring_data(corpora: list[str], schedule: Schedule) -> list[Arrival]:
    """Pull data that others have versioned, import the inbox, and version the result."""
    logger = get_run_logger()
    ensure_data(ROOT, corpora)
    if problem := pull_data(ROOT):
        logger.info(problem)
    arrivals = take_in(ROOT, ROOT / schedule.inbox, corpora, redact=schedule.redact, say=logger.info)
    # Single stages do not check if the raw data has changed.
    add_data(ROOT)
    return arrivals


@task(task_run_name="decide-{corpus}")
def decide(corpus: str) -> Reason:
    """Decide whether to train a corpus again."""
    reason = reason_to_train(ROOT, corpus, load_settings(ROOT / "params.yaml"), load_operation(ROOT / "operation.yaml"))
    get_run_logger().info("%s: %s, for %s", corpus, "training" if reason.train else "no training", reason.words)
    return reason


@task(task_run_name="{stage}-{corpus}")
def run_stage(stage: str, corpus: str) -> None:
    """Run one stage of one corpus with DVC, which skips it if nothing changed; its output goes to the run's log."""
    logger = get_run_logger()
    for line in dvc_lines(ROOT, "repro", "--single-item", f"{stage}@{corpus}"):
        logger.info(line)


@task(task_run_name="promote-{corpus}")
def promote(corpus: str) -> Verdict:
    """Promote the candidate of a corpus, or of its student, if it passes the gate."""
    verdict = promote_candidate(ROOT, corpus, load_settings(ROOT / "params.yaml"))
    get_run_logger().info(
        "%s: %s, %s", corpus, "promoted" if verdict.promoted else "champion stays", verdict_sentence(verdict)
    )
    return verdict


@task
def embed(corpus: str, folder: str) -> None:
    """Embed the folder of `schedule.embed` with the champion."""
    batch_size = load_settings(ROOT / "params.yaml").evaluate.batch_size
    get_run_logger().info(embed_folder(ROOT, ROOT / folder, corpus, batch_size=batch_size))


@task
def push(outputs: str) -> str:
    """Push data, or everything, to DVC's remote; return why that failed, "" if it did not."""
    return push_versions(ROOT, ["data.dvc"] if outputs == "data" else [])


@task
def prune_old(corpora: list[str], rules: Prune) -> str:
    """Remove old versions and old runs by the rules of block `prune`; return what was removed."""
    removed = prune(ROOT, corpora, rules)
    get_run_logger().info(removed or "there are no old versions to remove")
    get_run_logger().info(remove_old_runs(ROOT, rules.keep_days, dry_run=False))
    return removed


@flow(name="retrain")
def retrain(corpora: list[str] | None = None, force: bool = False) -> dict[str, str] | State[None]:
    """Retrain the listed corpora (default: those of params.yaml) and return the result of each, in words.

    Only one retraining or `dvc repro` runs at a time. A second retraining waits or is cancelled, by `schedule.overlap`.
    The lock of a killed process is free at once.

    :param force: True trains even if there is little or no new data.
    """
    schedule, run_id = load_operation(ROOT / "operation.yaml").schedule, runtime.flow_run.id
    with alive(ROOT, str(run_id)) if run_id else nullcontext():
        with get_client(sync_client=True) as client:
            for name in mark_dead(ROOT, client):
                _tell_failure(killed_sentence(name), schedule)
        try:
            settings = load_settings(ROOT / "params.yaml")
            names = corpora or list(settings.corpora)
            if unknown := sorted(set(names) - set(settings.corpora)):
                raise Dial2vecError(f"no stages for {', '.join(unknown)}: add them to `corpora` of params.yaml first.")
            with checkout_lock(ROOT, "flow retrain", patience=PATIENCE[schedule.overlap]):
                done = _retrain(names, settings, schedule, force=force)
        except BusyError as error:
            return Cancelled(message=str(error))
        except Exception as error:
            _tell_failure(_sentence(error), schedule)
            raise
        # Without the lock: a slow server delays nobody else.
        _tell(done, schedule)
    if done.failed:
        raise Dial2vecError(done.failed)
    return {result.corpus: str(result) for result in done.corpora}


def _retrain(corpora: list[str], settings: Settings, schedule: Schedule, *, force: bool) -> Retraining:
    done = Retraining()
    try:
        require_space(ROOT, schedule.min_free_gb)
        done.arrived(bring_data(corpora, schedule))
        done.notes += reconcile(ROOT, corpora)
        key = work_key(ROOT, data_hash(ROOT))
        before = None if force or done.imported or done.notes else done_before(ROOT, key, corpora)
        if before is not None:
            done.corpora, done.before = before.corpora, before.before
        else:
            for corpus in corpora:
                result = CorpusResult(corpus)
                done.corpora.append(result)
                _retrain_corpus(corpus, result, force=force)
        # Even if nothing is new: the last push may have failed.
        if schedule.push != "nothing" and (problem := push(schedule.push)):
            done.notes.append(problem)
        if schedule.embed and not done.failed:
            embed(settings.corpora[0], schedule.embed)
        if (
            not done.failed
            and load_operation(ROOT / "operation.yaml").prune.nightly
            and (removed := prune_old(corpora))
        ):
            done.notes.append(removed)
        remember(ROOT, key, done)
    except Exception as error:
        done.corpora.append(CorpusResult("all corpora", failed=_sentence(error)))
    return done


def _retrain_corpus(corpus: str, result: CorpusResult, *, force: bool) -> None:
    """Train one corpus if it is worth it; an error does not stop the other corpora."""
    try:
        reason = Reason(True, "it was asked for") if force else decide(corpus)
        result.why = reason.words
        if reason.train:
            require_stages(ROOT)
            for stage in STAGES:
                retries = RETRIES.get(stage, 0)
                run_stage.with_options(name=stage, retries=retries, retry_delay_seconds=10)(stage, corpus)
            result.trained = True
        for name in registered_models(ROOT, corpus):
            result.judged(promote(name), small=name != corpus)
    except Exception as error:
        result.failed = _sentence(error)


def _sentence(error: Exception) -> str:
    """Return an error as one line; the log gets the traceback of unforeseen errors."""
    if isinstance(error, Dial2vecError):
        return str(error)
    get_run_logger().error("unforeseen", exc_info=error)
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no reason given'} (traceback in the run's log)"


def _tell(done: Retraining, schedule: Schedule) -> None:
    """Send the verdict to `schedule.notify`, call `schedule.heartbeat`, and write the verdict to the run's page."""
    server = os.environ.get("MLFLOW_TRACKING_URI")
    page = shown(server) if server and server.startswith("http") else "http://127.0.0.1:5000"
    problems = [notify(schedule, done.to_record(), text=done.to_text(ROOT.name), root=ROOT)]
    if not done.failed:
        problems.append(send_heartbeat(schedule))
    for problem in filter(None, problems):
        done.notes.append(problem)
        get_run_logger().warning(problem)
    create_table_artifact(
        key="results",
        table=result_rows(ROOT, done.corpora),
        description="Scores of the encoders on the test split",
    )
    words = page if server else f"{page} after `make mlflow`"
    create_markdown_artifact(key="verdict", markdown=done.to_markdown(page=words), description="Verdict and reasons")
    for result in done.corpora:
        # A corpus whose first run failed has nothing registered.
        with suppress(Dial2vecError):
            for name in registered_models(ROOT, result.corpus):
                link, key = page + run_address(ROOT, name), f"mlflow-{name.replace('_', '-').lower()}"
                create_link_artifact(key=key, link=link, link_text=f"run of {name}", description="MLflow")


def _tell_failure(sentence: str, schedule: Schedule) -> None:
    """Tell of a failure before or instead of this run's verdict."""
    get_run_logger().warning(sentence)
    if problem := tell(ROOT, schedule, sentence):
        get_run_logger().warning(problem)


def main() -> None:
    """Retrain now; an error is one sentence."""
    try:
        # Before Prefect starts its server, so that a second retraining ends at once with one sentence.
        with checkout_lock(ROOT, "flow retrain"):
            start_temporary_server()
        retrain()
    except Dial2vecError as error:
        sys.exit(f"retrain: {error}")
