"""A champion that somebody changed in MLflow: told, recorded as a decision, and replaced if it is gone.

The champion is compared with our last decision. Nobody knows who changed it, nor when: the new decision says when it
was noticed, and from which version to which.
"""

from __future__ import annotations

import time
from pathlib import Path

from mlflow import MlflowClient

from dial2vec.registry.decisions import (
    ROLLED_BACK_TAG,
    decisions,
    last_decision,
    of_this_model,
    present_aliases,
    record,
    settle,
    unsettled,
)
from dial2vec.registry.records import CHAMPION, MOVED, PREVIOUS, REMOVED, Decision
from dial2vec.registry.store import (
    experiment,
    has_files,
    has_whole_files,
    model_name,
    opened,
    registry_lock,
    versions_of,
)


def noticed(root: Path, corpus: str) -> list[str]:
    """Record that the champion is not the one that was decided last, and return one line about it, or nothing.

    Takes no lock if nothing has changed, so a server may call it every few seconds.

    :param corpus: name of a corpus; with `SMALL` at its end for its student.
    :raises ModelError: if the store cannot be used.
    """
    name = model_name(corpus)
    with opened(root) as client:
        known = client.get_experiment_by_name(name)
        if known is None:
            return []
        if not unsettled(client, known.experiment_id) and _by_hand(client, known.experiment_id, corpus) is None:
            return []
        with registry_lock(root):
            experiment_id = experiment(client, root, corpus)
            settle(client, experiment_id, corpus)
            decision = notice(client, experiment_id, corpus)
        return [f"{name}: {decision}"] if decision else []


def settled(client: MlflowClient, root: Path, corpus: str) -> str:
    """Settle open decisions, record a champion changed by hand, and return the id of the experiment.

    Call it with the registry locked, before anything is changed.
    """
    experiment_id = experiment(client, root, corpus)
    settle(client, experiment_id, corpus)
    notice(client, experiment_id, corpus)
    return experiment_id


def notice(client: MlflowClient, experiment_id: str, corpus: str) -> Decision | None:
    """Record that the champion is not the one that was decided last; return that decision, or None.

    Call it after `settle`, with the registry locked.
    """
    decision = _by_hand(client, experiment_id, corpus)
    if decision:
        record(client, experiment_id, corpus, decision)
    return decision


def _by_hand(client: MlflowClient, experiment_id: str, corpus: str) -> Decision | None:
    """Return the decision that explains the present champion; None if the last one does."""
    name = model_name(corpus)
    # Read before the runs: another machine records its decision before the alias moves.
    champion = present_aliases(client, name).get(CHAMPION, "")
    last = last_decision(client, experiment_id)
    if last is None or unsettled(client, experiment_id):
        return None
    before, versions = last.after, versions_of(client, name)
    if champion and champion != before:
        way_out = f" To undo this: dial2vec rollback {corpus} --to {before}." if before in versions else ""
        reason = f"Somebody moved the alias in MLflow; noticed at this time.{way_out}"
        return Decision(MOVED, champion, before, champion, reason, time.time())
    if not before or (champion and has_files(client, versions[champion])):
        return None
    after, consequence = _successor(client, experiment_id, name, before)
    if champion and not after:
        # Nothing can replace it, so it stays; whoever loads it is told that its files are gone.
        return None
    if champion:
        what = f"the files of version {before}"
    elif before in versions:
        what = f"the alias `{CHAMPION}`"
    else:
        what = f"version {before}" if versions else "or renamed the model"
    reason = f"Somebody deleted {what} in MLflow; noticed at this time. {consequence}"
    return Decision(REMOVED, before, before, after, reason, time.time())


def _successor(client: MlflowClient, experiment_id: str, name: str, removed: str) -> tuple[str, str]:
    """Return the next champion after `removed`, "" for none, and a sentence about it.

    The next champion is `previous`, else the latest champion before, else the base encoder, possibly the same
    version again.
    """
    versions = versions_of(client, name)
    usable = [number for number, version in versions.items() if has_whole_files(client, version)]
    champions = [decision.before for decision in reversed(of_this_model(decisions(client, experiment_id)))]
    for number in (present_aliases(client, name).get(PREVIOUS), *champions):
        if number != removed and number in usable and ROLLED_BACK_TAG not in versions[number].tags:
            return number, "An earlier champion takes its place."
    for number in usable:
        if versions[number].tags.get("kind") == "start":
            return number, "The base encoder takes its place."
    return "", "Nothing takes its place until stage register runs."
