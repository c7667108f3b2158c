"""The memory of the registry: every decision about a champion is a run in the experiment of its corpus.

A decision is written down before an alias moves, and closed afterwards: what a killed process has left open is settled
by the next one, so aliases and memory never disagree for longer. People move and delete in MLflow as well: `notice`
writes that down.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping

from mlflow import MlflowClient
from mlflow.entities import Metric, Run

from dial2vec.errors import BusyError, ModelError
from dial2vec.registry.records import CHAMPION, MOVED, PREVIOUS, REMOVED, Decision
from dial2vec.registry.store import SERVER, aliases_of, has_files, model_name, newest_first

KIND = "decision"
# What a tag of a run holds, with room to spare.
LONGEST_REASON = 4000
# Tag of a version that is not promoted again by itself.
ROLLED_BACK = "rolled_back"
# Seconds that a decision may take; a younger open one on a server may be another machine's.
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
    run_id = client.create_run(experiment_id, start_time=began, tags=tags, run_name=decision.title).info.run_id
    logged = [Metric(key, value, began, 0) for key, value in (metrics or {}).items()]
    if logged:
        client.log_batch(run_id, metrics=logged)
    moves = decision.before != decision.after or decision.kind == REMOVED
    if moves and not _move(client, name, decision):
        client.set_terminated(run_id, "FAILED")
        raise BusyError(f"the champion of {name} has changed meanwhile; look at `dial2vec history {corpus}`.")
    _close(client, experiment_id, name, run_id, decision)


def settle(client: MlflowClient, experiment_id: str, corpus: str) -> None:
    """Close what a killed process left open: a decision whose champion stands counts, another is marked FAILED.

    To be called by one process at a time, which has nothing open itself.
    """
    name = model_name(corpus)
    runs = _runs(client, experiment_id)
    latest = max(map(_number, _finished(runs)), default=0)
    for run in runs:
        if run.info.status != "RUNNING":
            continue
        decision, overtaken = _decision(run), _number(run) < latest
        if not overtaken and _aliases(client, name).get(CHAMPION, "") == decision.after:
            _close(client, experiment_id, name, run.info.run_id, decision)
        elif overtaken or not os.environ.get(SERVER) or time.time() - decision.when > AT_WORK:
            client.set_terminated(run.info.run_id, "FAILED")


def notice(client: MlflowClient, experiment_id: str, corpus: str) -> Decision | None:
    """Write down a champion that somebody has moved or deleted in MLflow, and return that decision; None if nobody has.

    A deleted champion gets a successor if there is one. To be called after `settle`, by the same process. The history
    of another machine's move explains it, so such a move is never taken for one by hand.
    """
    # The alias before the runs: a decision is written down before the alias moves, so its run is then seen.
    name = model_name(corpus)
    champion = _aliases(client, name).get(CHAMPION, "")
    runs = _runs(client, experiment_id)
    decided = _carried_out(runs)
    if not decided or decided[-1].after == champion or any(run.info.status == "RUNNING" for run in runs):
        return None
    before = decided[-1].after
    if champion:
        reason = "Somebody moved the alias in MLflow; it was seen at this time."
        decision = Decision(MOVED, champion, before, champion, reason, time.time())
    else:
        kept = {str(version.version) for version in newest_first(client, name)}
        thing = f"the alias `{CHAMPION}`" if before in kept else f"version {before}" if kept else "every version"
        after, place = _successor(client, name, decided)
        reason = f"Somebody deleted {thing} in MLflow; it was seen at this time. {place}"
        decision = Decision(REMOVED, before, before, after, reason, time.time())
    record(client, experiment_id, corpus, decision)
    return decision


def notice_removed(client: MlflowClient, experiment_id: str, corpus: str, version: str) -> None:
    """Write down once that somebody has deleted a version that is not champion."""
    champion = _aliases(client, model_name(corpus)).get(CHAMPION, "")
    earlier = _of_this_model(decisions(client, experiment_id))
    if champion and not any(decision.kind == REMOVED and decision.version == version for decision in earlier):
        reason = "Somebody deleted it in MLflow; it was seen at this time. Stage register makes a new version."
        decision = Decision(REMOVED, version, champion, champion, reason, time.time())
        record(client, experiment_id, corpus, decision)


def decisions(client: MlflowClient, experiment_id: str) -> list[Decision]:
    """Return what was decided and carried out, oldest first."""
    return _carried_out(_runs(client, experiment_id))


def _move(client: MlflowClient, name: str, decision: Decision) -> bool:
    """Move the alias, read it back, and return True if it names the new champion.

    The lock belongs to this checkout; others may use the same server.
    """
    expected = decision.after if decision.kind == MOVED else decision.before
    # Without the alias the start is champion.
    if _aliases(client, name).get(CHAMPION, expected) != expected:
        return False
    if decision.kind != MOVED and decision.after:
        client.set_registered_model_alias(name, CHAMPION, decision.after)
    return _aliases(client, name).get(CHAMPION, "") == decision.after


def _close(client: MlflowClient, experiment_id: str, name: str, run_id: str, decision: Decision) -> None:
    """Do what follows from a moved alias; done again after a kill, it changes nothing."""
    if decision.kind == MOVED:
        _mark_moved(client, name, decision)
    if decision.before != decision.after != "":
        _set_previous(client, experiment_id, name, decision)
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(decision.when))
        said = f"Champion: version {decision.after}, since {since}. {decision.reason}"
        client.update_registered_model(name, description=said)
    client.set_tag(run_id, "decision.previous", _aliases(client, name).get(PREVIOUS, ""))
    client.set_terminated(run_id, "FINISHED")


def _mark_moved(client: MlflowClient, name: str, decision: Decision) -> None:
    """Treat a move back by hand as a rollback: the gate does not overrule it."""
    known = {str(version.version): version for version in newest_first(client, name)}
    if decision.before in known and int(decision.after) < int(decision.before):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(decision.when))
        client.set_model_version_tag(name, decision.before, ROLLED_BACK, f"{when}: by hand, in MLflow")
    if decision.after in known and ROLLED_BACK in known[decision.after].tags:
        client.delete_model_version_tag(name, decision.after, ROLLED_BACK)


def _set_previous(client: MlflowClient, experiment_id: str, name: str, decision: Decision) -> None:
    known = {str(version.version) for version in newest_first(client, name)}
    aliases, finished = _aliases(client, name), _finished(_runs(client, experiment_id))
    previous = decision.before if decision.kind in ("promoted", MOVED) else None
    if decision.kind == MOVED:
        noted, present = finished[-1].data.tags.get("decision.previous"), aliases.get(PREVIOUS)
        # The person has set it, too.
        if noted is not None and present not in (None, noted, decision.after):
            previous = present
    if previous not in known:
        # A version that was rolled back is no place to go back to.
        previous = _champion_before([_decision(run) for run in finished], decision.after)
    if previous in known:
        client.set_registered_model_alias(name, PREVIOUS, previous)
    elif PREVIOUS in aliases:
        client.delete_registered_model_alias(name, PREVIOUS)


def _aliases(client: MlflowClient, name: str) -> dict[str, str]:
    with contextlib.suppress(ModelError):
        return aliases_of(client, name)
    return {}


def _runs(client: MlflowClient, experiment_id: str) -> list[Run]:
    """Return the runs of all decisions in their order; by number, because a clock may be set back."""
    found: list[Run] = []
    token = None
    while True:
        page = client.search_runs(experiment_id, f"tags.kind = '{KIND}'", page_token=token)
        found += page
        token = page.token
        if not token:
            return sorted(found, key=lambda run: (_number(run), run.info.start_time))


def _finished(runs: list[Run]) -> list[Run]:
    return [run for run in runs if run.info.status == "FINISHED"]


def _carried_out(runs: list[Run]) -> list[Decision]:
    return [_decision(run) for run in _finished(runs)]


def _number(run: Run) -> int:
    return int(run.data.tags["decision.number"])


def _champion_before(decided: list[Decision], version: str) -> str | None:
    """Return who was champion before `version` was promoted, or moved by hand, for the last time; None for nobody."""
    for kind in ("promoted", MOVED):
        if found := [one.before for one in _of_this_model(decided) if one.kind == kind and one.after == version]:
            return found[-1]
    return None


def _successor(client: MlflowClient, name: str, decided: list[Decision]) -> tuple[str, str]:
    """Return who becomes champion after the champion was deleted, "" for nobody, and a sentence about it.

    That is `previous`, else the nearest champion before it, else the starting encoder, which may be the same one again.
    """
    known = {str(version.version): version for version in newest_first(client, name)}
    removed = decided[-1].after
    earlier: list[str] = [_aliases(client, name).get(PREVIOUS, "")]
    before = _champion_before(decided, removed)
    while before and before not in earlier[1:]:
        earlier.append(before)
        before = _champion_before(decided, before)
    for number in earlier:
        version = known.get(number)
        if number != removed and version and ROLLED_BACK not in version.tags and has_files(client, version):
            return number, "An earlier champion takes its place."
    for number, version in known.items():
        if version.tags.get("kind") == "start" and has_files(client, version):
            return number, "The starting encoder takes its place."
    return "", "Nothing takes its place until stage register runs."


def _of_this_model(decided: list[Decision]) -> list[Decision]:
    """Return the decisions since the last "first": in a model that was deleted and made again, numbers mean others."""
    starts = [at for at, decision in enumerate(decided) if decision.kind == "first"]
    return decided[starts[-1] :] if starts else decided


def _decision(run: Run) -> Decision:
    values = {key: run.data.tags[f"decision.{key}"] for key in ("kind", "version", "before", "after", "reason")}
    return Decision(when=run.info.start_time / 1000, **values)
