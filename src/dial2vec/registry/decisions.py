"""The history of a registry: every decision about a champion is a run in the experiment of its corpus.

A decision is recorded before an alias moves and closed afterwards. If a process is killed in between, the next one
closes or cancels the decision, so aliases and history agree again. People also move and delete things in MLflow:
`notice` records that.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping

from mlflow import MlflowClient
from mlflow.entities import Metric, Run

from dial2vec.errors import BusyError, ModelError
from dial2vec.registry.records import CHAMPION, MOVED, PREVIOUS, REMOVED, ROLLED_BACK, Decision, local_minute
from dial2vec.registry.store import SERVER, aliases_of, has_files, model_name, versions_of

KIND = "decision"
# A tag of a run holds a little more.
LONGEST_REASON = 4000
# Tag of a version that the gate does not promote again.
ROLLED_BACK_TAG = "rolled_back"
# Seconds that a decision may take; on a server, a younger open decision may belong to another machine.
AT_WORK = 60


def record(
    client: MlflowClient,
    experiment_id: str,
    corpus: str,
    decision: Decision,
    *,
    text: str = "",
    metrics: Mapping[str, float] | None = None,
) -> None:
    """Record a decision and carry it out: move the aliases and name the champion in the model's description.

    :param text: description of the run, Markdown.
    :param metrics: figures of the run.
    :raises BusyError: if another machine has moved the champion meanwhile; nothing is moved then.
    """
    name = model_name(corpus)
    number = max(map(_number, _runs(client, experiment_id)), default=0) + 1
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
    moves = decision.before != decision.after or decision.kind == REMOVED
    if moves and not _move(client, name, decision):
        client.set_terminated(run_id, "FAILED")
        raise BusyError(f"the champion of {name} has changed meanwhile; look at `dial2vec history {corpus}`.")
    _close(client, experiment_id, name, run_id, decision)


def settle(client: MlflowClient, experiment_id: str, corpus: str) -> None:
    """Close decisions that a killed process left open if the champion has moved, and mark the others FAILED.

    Call it from one process at a time, with no open decision of its own.
    """
    name, runs = model_name(corpus), _runs(client, experiment_id)
    latest = max((_number(run) for run in runs if run.info.status == "FINISHED"), default=0)
    for run in runs:
        if run.info.status != "RUNNING":
            continue
        decision, overtaken = _decision(run), _number(run) < latest
        if not overtaken and _aliases(client, name).get(CHAMPION, "") == decision.after:
            _close(client, experiment_id, name, run.info.run_id, decision)
        elif overtaken or not os.environ.get(SERVER) or time.time() - decision.when > AT_WORK:
            client.set_terminated(run.info.run_id, "FAILED")


def notice(client: MlflowClient, experiment_id: str, corpus: str) -> Decision | None:
    """Record that somebody has moved or deleted the champion in MLflow, and return that decision, or None.

    A deleted champion gets a successor if there is one. Call it after `settle`, from the same process. The history
    explains a move by another machine, so such a move never counts as one by hand.
    """
    # Read the alias before the runs: a decision is recorded before its alias moves, so its run is visible then.
    name = model_name(corpus)
    champion = _aliases(client, name).get(CHAMPION, "")
    runs = _runs(client, experiment_id)
    decided = _carried_out(runs)
    if not decided or decided[-1].after == champion or any(run.info.status == "RUNNING" for run in runs):
        return None
    before = decided[-1].after
    if champion:
        reason = "Somebody moved the alias in MLflow; noticed at this time."
        decision = Decision(MOVED, champion, before, champion, reason, time.time())
    else:
        versions = versions_of(client, name)
        deleted = f"version {before}" if versions else "every version"
        if before in versions:
            deleted = f"the alias `{CHAMPION}`"
        after, consequence = _successor(client, name, decided)
        reason = f"Somebody deleted {deleted} in MLflow; noticed at this time. {consequence}"
        decision = Decision(REMOVED, before, before, after, reason, time.time())
    record(client, experiment_id, corpus, decision)
    return decision


def notice_removed(client: MlflowClient, experiment_id: str, corpus: str, version: str) -> None:
    """Record once that somebody has deleted a version that is not champion."""
    champion = _aliases(client, model_name(corpus)).get(CHAMPION, "")
    earlier = _of_this_model(decisions(client, experiment_id))
    if champion and not any(decision.kind == REMOVED and decision.version == version for decision in earlier):
        reason = "Somebody deleted it in MLflow; noticed at this time. Stage register makes a new version."
        decision = Decision(REMOVED, version, champion, champion, reason, time.time())
        record(client, experiment_id, corpus, decision)


def decisions(client: MlflowClient, experiment_id: str) -> list[Decision]:
    """Return all decisions that were carried out, oldest first."""
    return _carried_out(_runs(client, experiment_id))


def _move(client: MlflowClient, name: str, decision: Decision) -> bool:
    """Move the alias, read it back, and return True if it names the new champion.

    The lock holds for this checkout only; others may use the same server.
    """
    expected = decision.after if decision.kind == MOVED else decision.before
    # Without the alias the start is champion.
    if _aliases(client, name).get(CHAMPION, expected) != expected:
        return False
    if decision.kind != MOVED and decision.after:
        client.set_registered_model_alias(name, CHAMPION, decision.after)
    return _aliases(client, name).get(CHAMPION, "") == decision.after


def _close(client: MlflowClient, experiment_id: str, name: str, run_id: str, decision: Decision) -> None:
    """Update tags, `previous` and the description after a move; a second call after a kill changes nothing."""
    if decision.kind in (MOVED, ROLLED_BACK):
        _mark_rolled_back(client, name, decision)
    if decision.before != decision.after != "":
        _set_previous(client, experiment_id, name, decision)
        champion = f"Champion: version {decision.after}, since {local_minute(decision.when)}. {decision.reason}"
        client.update_registered_model(name, description=champion)
    client.set_tag(run_id, "decision.previous", _aliases(client, name).get(PREVIOUS, ""))
    client.set_terminated(run_id, "FINISHED")


def _mark_rolled_back(client: MlflowClient, name: str, decision: Decision) -> None:
    """Keep the gate from promoting a champion again that was rolled back; a move back by hand counts as a rollback."""
    versions, by_hand = versions_of(client, name), decision.kind == MOVED
    if decision.before in versions and (not by_hand or int(decision.after) < int(decision.before)):
        reason = "by hand, in MLflow" if by_hand else decision.reason
        client.set_model_version_tag(name, decision.before, ROLLED_BACK_TAG, f"{local_minute(decision.when)}: {reason}")
    if decision.after in versions and ROLLED_BACK_TAG in versions[decision.after].tags:
        client.delete_model_version_tag(name, decision.after, ROLLED_BACK_TAG)


def _set_previous(client: MlflowClient, experiment_id: str, name: str, decision: Decision) -> None:
    versions, aliases = versions_of(client, name), _aliases(client, name)
    finished = [run for run in _runs(client, experiment_id) if run.info.status == "FINISHED"]
    previous = decision.before if decision.kind in ("promoted", MOVED) else None
    if decision.kind == MOVED:
        recorded, present = finished[-1].data.tags.get("decision.previous"), aliases.get(PREVIOUS)
        # The person has set `previous`, too.
        if recorded is not None and present not in (None, recorded, decision.after):
            previous = present
    if previous not in versions:
        # Nobody goes back to a version that was rolled back.
        previous = _champion_before(_carried_out(finished), decision.after)
    if previous in versions:
        client.set_registered_model_alias(name, PREVIOUS, previous)
    elif PREVIOUS in aliases:
        client.delete_registered_model_alias(name, PREVIOUS)


def _aliases(client: MlflowClient, name: str) -> dict[str, str]:
    with contextlib.suppress(ModelError):
        return aliases_of(client, name)
    return {}


def _runs(client: MlflowClient, experiment_id: str) -> list[Run]:
    """Return the runs of all decisions in order: by number, because a clock may be set back."""
    runs: list[Run] = []
    token = None
    while True:
        page = client.search_runs(experiment_id, f"tags.kind = '{KIND}'", page_token=token)
        runs += page
        token = page.token
        if not token:
            return sorted(runs, key=lambda run: (_number(run), run.info.start_time))


def _carried_out(runs: list[Run]) -> list[Decision]:
    return [_decision(run) for run in runs if run.info.status == "FINISHED"]


def _number(run: Run) -> int:
    return int(run.data.tags["decision.number"])


def _champion_before(decided: list[Decision], version: str) -> str | None:
    """Return the champion before the latest promotion of `version`, else before its latest move by hand, or None."""
    for kind in ("promoted", MOVED):
        for decision in reversed(_of_this_model(decided)):
            if decision.kind == kind and decision.after == version:
                return decision.before
    return None


def _successor(client: MlflowClient, name: str, decided: list[Decision]) -> tuple[str, str]:
    """Return the next champion after the champion was deleted, "" for none, and a sentence about it.

    The next champion is `previous`, else the nearest earlier champion, else the starting encoder, possibly the same
    version again.
    """
    versions, removed = versions_of(client, name), decided[-1].after
    earlier: list[str] = [_aliases(client, name).get(PREVIOUS, "")]
    before = _champion_before(decided, removed)
    while before and before not in earlier[1:]:
        earlier.append(before)
        before = _champion_before(decided, before)
    for number in earlier:
        version = versions.get(number)
        if number != removed and version and ROLLED_BACK_TAG not in version.tags and has_files(client, version):
            return number, "An earlier champion takes its place."
    for number, version in versions.items():
        if version.tags.get("kind") == "start" and has_files(client, version):
            return number, "The starting encoder takes its place."
    return "", "Nothing takes its place until stage register runs."


def _of_this_model(decided: list[Decision]) -> list[Decision]:
    """Return the decisions from the last "first" on: a model that was deleted and made again numbers from 1."""
    starts = [place for place, decision in enumerate(decided) if decision.kind == "first"]
    return decided[starts[-1] :] if starts else decided


def _decision(run: Run) -> Decision:
    values = {key: run.data.tags[f"decision.{key}"] for key in ("kind", "version", "before", "after", "reason")}
    return Decision(when=run.info.start_time / 1000, **values)
