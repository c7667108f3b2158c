"""The history of a registry: every decision about a champion is a run in the experiment of its corpus.

A decision is recorded before an alias moves and closed afterwards. If a process is killed in between, the next one
closes or cancels the decision, so aliases and history agree again. What a verdict writes into its version is written
after the alias was read back, so nothing is called promoted before. `by_hand` records a champion
that somebody changed in MLflow.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping
from functools import partial

from mlflow import MlflowClient
from mlflow.entities import Metric, Run, ViewType

from dial2vec.errors import BusyError, ModelError
from dial2vec.registry.model_card import with_verdict
from dial2vec.registry.records import CHAMPION, MOVED, PREVIOUS, PRUNED, REMOVED, ROLLED_BACK, Decision, local_minute
from dial2vec.registry.store import SERVER, aliases_of, model_name, pages, versions_of

KIND = "decision"
# A tag of a run holds a little more.
LONGEST_REASON = 4000
# Tag of a version that the gate does not promote again.
ROLLED_BACK_TAG = "rolled_back"
# Seconds that a decision may take; on a server, a younger open decision may belong to another machine.
AT_WORK = 60
# Runs by start time among which the latest decision is looked for; a clock may be set back.
NEWEST = 20


def record(
    client: MlflowClient,
    experiment_id: str,
    corpus: str,
    decision: Decision,
    *,
    text: str = "",
    metrics: Mapping[str, float] | None = None,
    act: Callable[[], object] | None = None,
) -> None:
    """Record a decision and carry it out: move the aliases and name the champion in the model's description.

    :param text: description of the run, Markdown.
    :param metrics: figures of the run.
    :param act: function that does what the decision says, if that is more than moving an alias.
    :raises BusyError: if another machine has moved the champion meanwhile; nothing is moved then.
    """
    name = model_name(corpus)
    number = max(map(number_of, _newest(client, experiment_id)), default=0) + 1
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
    run_id = client.create_run(experiment_id, start_time=began, tags=tags, run_name=decision.title).info.run_id
    if metrics:
        client.log_batch(run_id, metrics=[Metric(key, value, began, 0) for key, value in metrics.items()])
    if act is not None:
        act()
    moves = decision.before != decision.after or decision.kind == REMOVED
    if moves and not _move(client, name, decision):
        client.set_terminated(run_id, "FAILED")
        raise BusyError(f"the champion of {name} has changed meanwhile; look at `dial2vec history {corpus}`.")
    _close(client, experiment_id, name, run_id, decision, text or decision.reason)


def settle(client: MlflowClient, experiment_id: str, corpus: str) -> None:
    """Close decisions that a killed process left open if the champion has moved, and mark the others FAILED.

    Call it from one process at a time, with no open decision of its own.
    """
    # A history of years takes a second to read; there is rarely an open decision.
    if not unsettled(client, experiment_id):
        return
    name, runs = model_name(corpus), runs_of(client, experiment_id)
    latest = max((number_of(run) for run in runs if run.info.status == "FINISHED"), default=0)
    for run in [run for run in runs if run.info.status == "RUNNING"]:
        decision, overtaken = _decision(run), number_of(run) < latest
        if not overtaken and _is_done(client, name, decision):
            _close(client, experiment_id, name, run.info.run_id, decision, run.data.tags.get("mlflow.note.content", ""))
        elif overtaken or not os.environ.get(SERVER) or time.time() - decision.when > AT_WORK:
            client.set_terminated(run.info.run_id, "FAILED")


def unsettled(client: MlflowClient, experiment_id: str) -> bool:
    """Return True if a decision is being carried out, or a killed process has left one open."""
    open_runs = f"tags.kind = '{KIND}' and attributes.status = 'RUNNING'"
    return bool(client.search_runs(experiment_id, open_runs, ViewType.ALL))


def verdict_key(decision: Decision) -> str:
    """Return what a version keeps of its verdict, so that the same verdict is recorded once."""
    return json.dumps([decision.before, decision.reason[:LONGEST_REASON]])


def decisions(client: MlflowClient, experiment_id: str) -> list[Decision]:
    """Return all decisions that were carried out, oldest first."""
    return carried_out(runs_of(client, experiment_id))


def _move(client: MlflowClient, name: str, decision: Decision) -> bool:
    """Move the alias, read it back, and return True if it names the new champion.

    The lock holds for this checkout only; others may use the same server.
    """
    expected = decision.after if decision.kind == MOVED else decision.before
    # Without the alias the base encoder is champion.
    if present_aliases(client, name).get(CHAMPION, expected) != expected:
        return False
    if decision.kind != MOVED and decision.after:
        client.set_registered_model_alias(name, CHAMPION, decision.after)
    return present_aliases(client, name).get(CHAMPION, "") == decision.after


def _is_done(client: MlflowClient, name: str, decision: Decision) -> bool:
    """Return True if what an open decision says has happened: the alias names its champion, its version is gone."""
    if decision.kind == PRUNED and decision.version in versions_of(client, name):
        return False
    return present_aliases(client, name).get(CHAMPION, "") == decision.after


def _close(client: MlflowClient, experiment_id: str, name: str, run_id: str, decision: Decision, text: str) -> None:
    """Update tags, `previous` and descriptions after a move; a second call after a kill changes nothing."""
    if decision.kind in ("promoted", "refused"):
        _write_verdict(client, name, decision, text)
    if decision.kind in (MOVED, ROLLED_BACK):
        _mark_rolled_back(client, name, decision)
    if decision.before != decision.after != "":
        _set_previous(client, experiment_id, name, decision)
        champion = f"Champion: version {decision.after}, since {local_minute(decision.when)}. {decision.reason}"
        client.update_registered_model(name, description=champion)
    client.set_terminated(run_id, "FINISHED")


def _write_verdict(client: MlflowClient, name: str, decision: Decision, text: str) -> None:
    version = versions_of(client, name).get(decision.version)
    if version is not None:
        verdict = "promoted" if decision.kind == "promoted" else decision.reason
        client.update_model_version(name, version.version, description=with_verdict(version.description or "", text))
        client.set_model_version_tag(name, version.version, "promotion", verdict)
        client.set_model_version_tag(name, version.version, "promotion_key", verdict_key(decision))


def _mark_rolled_back(client: MlflowClient, name: str, decision: Decision) -> None:
    """Keep the gate from promoting a champion again that was rolled back; a move back by hand counts as a rollback."""
    versions, by_hand = versions_of(client, name), decision.kind == MOVED
    if decision.before in versions and (not by_hand or int(decision.after) < int(decision.before)):
        reason = "by hand, in MLflow" if by_hand else decision.reason
        client.set_model_version_tag(name, decision.before, ROLLED_BACK_TAG, f"{local_minute(decision.when)}: {reason}")
    if decision.after in versions and ROLLED_BACK_TAG in versions[decision.after].tags:
        client.delete_model_version_tag(name, decision.after, ROLLED_BACK_TAG)


def _set_previous(client: MlflowClient, experiment_id: str, name: str, decision: Decision) -> None:
    versions = versions_of(client, name)
    previous = decision.before if decision.kind in ("promoted", MOVED) else None
    if previous not in versions:
        # Nobody goes back to a version that was rolled back.
        previous = champion_before(decisions(client, experiment_id), decision.after)
    if previous in versions:
        client.set_registered_model_alias(name, PREVIOUS, previous)
    elif PREVIOUS in present_aliases(client, name):
        client.delete_registered_model_alias(name, PREVIOUS)


def present_aliases(client: MlflowClient, name: str) -> dict[str, str]:
    """Return alias -> version of a model; nothing if it does not exist."""
    with contextlib.suppress(ModelError):
        return aliases_of(client, name)
    return {}


def runs_of(client: MlflowClient, experiment_id: str) -> list[Run]:
    """Return the runs of all decisions in order: by number, because a clock may be set back.

    Runs that somebody deleted in MLflow count, until `mlflow gc` removes them.
    """
    runs = pages(partial(client.search_runs, experiment_id, f"tags.kind = '{KIND}'", ViewType.ALL))
    return sorted(runs, key=lambda run: (number_of(run), run.info.start_time))


def carried_out(runs: list[Run]) -> list[Decision]:
    """Return the decisions of finished runs."""
    return [_decision(run) for run in runs if run.info.status == "FINISHED"]


def number_of(run: Run) -> int:
    """Return the number of a decision, from 1."""
    return int(run.data.tags["decision.number"])


def last_decision(client: MlflowClient, experiment_id: str) -> Decision | None:
    """Return the latest decision that was carried out; None for none."""
    return next(iter(carried_out(_newest(client, experiment_id))[-1:]), None)


def _newest(client: MlflowClient, experiment_id: str) -> list[Run]:
    ours, order = f"tags.kind = '{KIND}'", ["attributes.start_time DESC"]
    return sorted(client.search_runs(experiment_id, ours, ViewType.ALL, NEWEST, order), key=number_of)


def champion_before(decided: list[Decision], version: str) -> str | None:
    """Return the champion before the latest promotion of `version`, else before its latest move by hand, or None."""
    for kind in ("promoted", MOVED):
        for decision in reversed(of_this_model(decided)):
            if decision.kind == kind and decision.after == version:
                return decision.before
    return None


def of_this_model(decided: list[Decision]) -> list[Decision]:
    """Return the decisions from the last "first" on: a model that was deleted and made again numbers from 1."""
    starts = [place for place, decision in enumerate(decided) if decision.kind == "first"]
    return decided[starts[-1] :] if starts else decided


def _decision(run: Run) -> Decision:
    values = {key: run.data.tags[f"decision.{key}"] for key in ("kind", "version", "before", "after", "reason")}
    return Decision(when=run.info.start_time / 1000, **values)
