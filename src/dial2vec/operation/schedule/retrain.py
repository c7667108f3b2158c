"""The tasks of a project's `flows/retrain.py`, and the care around them: locks, killed runs, and what is told.

The project is the one around here: Prefect's worker changes into it first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from dial2vec import telemetry
from dial2vec.files import checkout_lock, find_root
from dial2vec.operation.pages import use_prefect
from dial2vec.processes import collect_rarely

ROOT = find_root()
# Prefect reads its environment while it is imported.
telemetry.switch_off()
use_prefect(ROOT)
collect_rarely()

from prefect import get_run_logger, runtime, task
from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.client.orchestration import get_client

from conversations.files import write_text
from dial2vec.addresses import shown
from dial2vec.config import Operation, Prune, Schedule, ScheduledCollection
from dial2vec.errors import BusyError, Dial2vecError
from dial2vec.operation.notify import notify, send_heartbeat
from dial2vec.operation.schedule.collections import CollectionResult, mark_all_sent, update_one
from dial2vec.operation.schedule.embedding import embed_folder
from dial2vec.operation.schedule.inbox import Arrival, take_in
from dial2vec.operation.schedule.inbox_traces import bring_traces
from dial2vec.operation.schedule.reasons import Reason, reason_to_train
from dial2vec.operation.schedule.rehearsal import without_quotes
from dial2vec.operation.schedule.result import CorpusResult, Retraining, remember, result_rows
from dial2vec.operation.schedule.runs import alive, killed_sentence, mark_dead, remove_old_runs, tell, verdict_file
from dial2vec.operation.schedule.temporary_server import is_lost
from dial2vec.operation.schedule.temporary_server import run_now as run_now  # for the flow of a project
from dial2vec.params import load_operation, load_settings
from dial2vec.pipeline.free_space import require_space
from dial2vec.project.dvc import add_data, dvc_lines, ensure_data, pull_data
from dial2vec.project.dvc import push as push_versions
from dial2vec.project.promotion import promote_candidate
from dial2vec.project.prune import prune
from dial2vec.registry.promotion import Verdict, verdict_sentence
from dial2vec.registry.receipts import registered_models
from dial2vec.registry.tracking import run_address

# Only these stages can succeed if repeated: killed training resumes, and a tracking server may be away for a moment.
RETRIES = {"train": 1, "distil": 1, "register": 2}
# Seconds to wait for another retraining; "wait" is longer than any takes.
PATIENCE = {"wait": 7 * 24 * 3600.0, "refuse": 0.0}


@task
def bring_data(corpora: list[str], schedule: Schedule) -> list[Arrival]:
    """Pull data that others have versioned, fetch new traces, import the inbox, and version the result."""
    logger = get_run_logger()
    require_space(ROOT, schedule.min_free_gb)
    ensure_data(ROOT, corpora)
    if problem := pull_data(ROOT):
        logger.info(problem)
    notes = bring_traces(ROOT / schedule.inbox, schedule.traces, say=logger.info)
    arrivals = take_in(ROOT, ROOT / schedule.inbox, corpora, redact=schedule.redact, say=logger.info)
    # Single stages do not check if the raw data has changed.
    add_data(ROOT)
    return [*notes, *arrivals]


@task(task_run_name="decide-{corpus}")
def decide(corpus: str) -> Reason:
    """Decide whether to train a corpus again."""
    reason = reason_to_train(ROOT, corpus, load_settings(ROOT / "params.yaml"), load_operation(ROOT / "operation.yaml"))
    get_run_logger().info("%s: %s, for %s", corpus, "training" if reason.train else "no training", reason.words)
    return reason


def run_stage(stage: str, corpus: str) -> None:
    """Run one stage of one corpus as a task of its name, again if it may succeed then."""
    _run_stage.with_options(name=stage, retries=RETRIES.get(stage, 0), retry_delay_seconds=10)(stage, corpus)


@task(task_run_name="{stage}-{corpus}")
def _run_stage(stage: str, corpus: str) -> None:
    """Run a stage with DVC, which skips it if nothing changed; its output goes to the run's log."""
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


@task(task_run_name="update-{entry.folder}")
def update_collection(entry: ScheduledCollection, corpora: list[str]) -> CollectionResult:
    """Bring a collection up to date, and find what is new; an error does not stop the other collections."""
    result = CollectionResult(entry.folder)
    try:
        update_one(ROOT, entry, entry.corpus or corpora[0], result)
    except Exception as error:
        result.failed = without_quotes(sentence(error))
    get_run_logger().info("%s: %s", entry.folder, result.failed or f"{len(result.news)} messages")
    return result


@task
def embed(folder: str) -> None:
    """Embed the folder of `schedule.embed` with the champion of the first corpus."""
    settings = load_settings(ROOT / "params.yaml")
    done = embed_folder(ROOT, ROOT / folder, settings.corpora[0], batch_size=settings.evaluate.batch_size)
    get_run_logger().info(done)


@task
def push(outputs: str) -> list[str]:
    """Push data, or everything, to DVC's remote; return why that failed, nothing if it did not."""
    problem = push_versions(ROOT, ["data.dvc"] if outputs == "data" else [])
    return [problem] if problem else []


@task
def prune_old(corpora: list[str], rules: Prune) -> list[str]:
    """Remove old versions and old runs by the rules of block `prune`; return what was removed."""
    removed = prune(ROOT, corpora, rules)
    get_run_logger().info(removed or "there are no old versions to remove")
    get_run_logger().info(remove_old_runs(ROOT, rules.keep_days, dry_run=False))
    return [removed] if removed else []


@contextmanager
def night(corpora: list[str] | None) -> Iterator[tuple[list[str], Operation, Retraining]]:
    """Yield the corpora of a retraining, the settings of operation.yaml, and its result, which is reported at the end.

    An error of the `with` block becomes a failure in the result. The lock of a killed process is free at once, and the
    next retraining tells of it.

    :param corpora: names of corpora; None means those of params.yaml.
    :raises BusyError: if another retraining runs, and `schedule.overlap` is "refuse".
    """
    options, run_id, done = load_operation(ROOT / "operation.yaml"), runtime.flow_run.id, Retraining()
    schedule = options.schedule
    with alive(ROOT, str(run_id)) if run_id else nullcontext():
        with get_client(sync_client=True) as client:
            for name in mark_dead(ROOT, client):
                _tell_failure(killed_sentence(name), schedule)
        try:
            known = load_settings(ROOT / "params.yaml").corpora
            if unknown := sorted(set(corpora or ()) - set(known)):
                raise Dial2vecError(f"no stages for {', '.join(unknown)}: add them to `corpora` of params.yaml first.")
            with checkout_lock(ROOT, "flow retrain", patience=PATIENCE[schedule.overlap]):
                try:
                    yield corpora or list(known), options, done
                    remember(ROOT, done)
                except Exception as error:
                    done.corpora.append(CorpusResult("all corpora", failed=sentence(error)))
        except BusyError:
            raise
        except Exception as error:
            _tell_failure(sentence(error), schedule)
            raise
        # Without the lock: a slow server delays nobody else.
        _tell(done, schedule)


def sentence(error: Exception) -> str:
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
    write_text(verdict_file(ROOT), text := done.to_text(ROOT.name))
    problems = [notify(schedule, done.to_record(), text=text, root=ROOT)]
    if not problems[0]:
        mark_all_sent(ROOT, done.collections)
    if not done.failures:
        problems.append(send_heartbeat(schedule))
    for problem in filter(None, problems):
        done.notes.append(problem)
        get_run_logger().warning(problem)
    if is_lost():
        return
    create_table_artifact(
        key="results",
        table=result_rows(ROOT, done.corpora),
        description="Scores of the encoders on the test split",
    )
    words = page if server else f"{page} after `dial2vec page mlflow`"
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
