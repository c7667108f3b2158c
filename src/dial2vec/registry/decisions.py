"""The memory of the registry: every decision about a champion is a run in the experiment of its corpus.

A decision is written down before an alias moves, and closed afterwards: what a killed process has left open is settled
by the next one, so aliases and memory never disagree for longer.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from mlflow import MlflowClient
from mlflow.entities import Metric, Run

from dial2vec.errors import BusyError
from dial2vec.registry.records import CHAMPION, PREVIOUS, Decision
from dial2vec.registry.store import aliases_of, model_name, newest_first

KIND = "decision"
# What a tag of a run holds, with room to spare.
LONGEST_REASON = 4000


def record(
    client: MlflowClient,
    experiment_id: str,
    corpus: str,
    decision: Decision,
    *,
    text: str = "",
    metrics: Mapping[str, float] | None = None,
) -> None:
    """Write a decision down and carry it out: the aliases move, and the registered model says who is champion.

    :param text: the run's description, Markdown.
    :param metrics: figures of the run.
    :raises BusyError: when another machine has moved the champion meanwhile; nothing is moved then.
    """
    name = model_name(corpus)
    number = max((_number(run) for run in _runs(client, experiment_id)), default=0) + 1
    tags = {
        "kind": KIND,
        "decision.number": str(number),
        "decision.kind": decision.kind,
        "decision.version": decision.version,
        "decision.before": decision.before,
        "decision.after": decision.after,
        "decision.reason": decision.reason[:LONGEST_REASON],
        "mlflow.note.content": text or decision.reason,
    }
    began = int(decision.when * 1000)
    title = f"version {decision.version} {decision.kind}"
    run_id = client.create_run(experiment_id, start_time=began, tags=tags, run_name=title).info.run_id
    logged = [Metric(key, value, began, 0) for key, value in (metrics or {}).items()]
    if logged:
        client.log_batch(run_id, metrics=logged)
    if decision.before != decision.after:
        # The lock is of this checkout; others may use the same server. Without the alias the start is champion.
        if aliases_of(client, name).get(CHAMPION, decision.before) != decision.before:
            client.set_terminated(run_id, "FAILED")
            raise BusyError(f"the champion of {name} has changed meanwhile; look at `dial2vec history {corpus}`.")
        client.set_registered_model_alias(name, CHAMPION, decision.after)
    _close(client, experiment_id, name, run_id, decision)


def settle(client: MlflowClient, experiment_id: str, corpus: str) -> None:
    """Close what a killed process left open: a decision whose champion stands counts, another is marked FAILED.

    To be called by one process at a time, which has nothing open itself.
    """
    name = model_name(corpus)
    for run in _runs(client, experiment_id):
        if run.info.status != "RUNNING":
            continue
        decision = _decision(run)
        champion = str(client.get_registered_model(name).aliases.get(CHAMPION, ""))
        if champion == decision.after:
            _close(client, experiment_id, name, run.info.run_id, decision)
        else:
            client.set_terminated(run.info.run_id, "FAILED")


def decisions(client: MlflowClient, experiment_id: str) -> list[Decision]:
    """Return what was decided and carried out, oldest first."""
    return [_decision(run) for run in _runs(client, experiment_id) if run.info.status == "FINISHED"]


def _close(client: MlflowClient, experiment_id: str, name: str, run_id: str, decision: Decision) -> None:
    if decision.kind == "promoted":
        client.set_registered_model_alias(name, PREVIOUS, decision.before)
    elif decision.kind == "rolled back":
        # The one that was taken back is no place to go back to.
        before = _champion_before(decisions(client, experiment_id), decision.after)
        if before in {str(version.version) for version in newest_first(client, name)}:
            client.set_registered_model_alias(name, PREVIOUS, before)
        elif PREVIOUS in aliases_of(client, name):
            client.delete_registered_model_alias(name, PREVIOUS)
    if decision.before != decision.after:
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(decision.when))
        said = f"Champion: version {decision.after}, since {since}. {decision.reason}"
        client.update_registered_model(name, description=said)
    client.set_terminated(run_id, "FINISHED")


def _runs(client: MlflowClient, experiment_id: str) -> list[Run]:
    """Return the runs of all decisions in their order; by number, because a clock may be set back."""
    found: list[Run] = []
    token = None
    while True:
        page = client.search_runs(experiment_id, f"tags.kind = '{KIND}'", page_token=token)
        found += page
        token = page.token
        if not token:
            return sorted(found, key=_number)


def _number(run: Run) -> int:
    return int(run.data.tags["decision.number"])


def _champion_before(decided: list[Decision], version: str) -> str | None:
    """Return who was champion before `version` became it for the last time by promotion; None for nobody."""
    found = [one.before for one in decided if one.kind == "promoted" and one.after == version]
    return found[-1] if found else None


def _decision(run: Run) -> Decision:
    values = {key: run.data.tags[f"decision.{key}"] for key in ("kind", "version", "before", "after", "reason")}
    return Decision(when=run.info.start_time / 1000, **values)
