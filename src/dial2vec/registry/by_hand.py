"""What people do by hand in MLflow: noticed, written into the history, and mended if the champion is concerned.

Nobody knows who it was, nor when: a decision says when it was noticed, and from which version to which.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion

from dial2vec.registry.decisions import (
    ROLLED_BACK_TAG,
    carried_out,
    champion_before,
    last_number,
    number_of,
    of_this_model,
    present_aliases,
    record,
    runs_of,
    settle,
)
from dial2vec.registry.records import CANDIDATE, CHAMPION, CHANGED, MOVED, PREVIOUS, PRUNED, REMOVED, Decision
from dial2vec.registry.seen import TAG, Seen, keep_here, last_seen, seen_here
from dial2vec.registry.store import (
    PREFIX,
    experiment,
    has_files,
    model_name,
    model_of,
    one_sentence,
    open_store,
    registry_lock,
    renamed_to,
    store_uri,
    versions_of,
)


def noticed(root: Path, corpus: str) -> list[str]:
    """Record what was done by hand since the last look, and return one line for each change.

    A corpus that this project never registered, such as a mistyped one, gets no experiment.

    :param corpus: name of a corpus; with `SMALL` at its end for its student.
    :raises ModelError: if the store cannot be used.
    """
    client, name = open_store(root), model_name(corpus)
    with one_sentence(store_uri(root)), registry_lock(root):
        if not client.get_experiment_by_name(name) and not seen_here(root, corpus).number:
            return []
        experiment_id = experiment(client, root, corpus)
        settle(client, experiment_id, corpus)
        return [f"{name}: {decision}" for decision in notice(client, root, experiment_id, corpus)]


def notice_champion(root: Path, model: str, aliases: Mapping[str, str]) -> bool:
    """Record what was done by hand if the champion is not the one that was seen last; return whether something was.

    Cheap if nothing has changed, so a server may call it every few seconds.

    :param model: name of a registered model; those of others are left alone.
    :param aliases: its aliases at this moment.
    :raises ModelError: if the store cannot be used.
    """
    client = open_store(root)
    with one_sentence(store_uri(root)):
        known = client.get_experiment_by_name(model)
        seen = last_seen(known.tags) if known else Seen()
    if not model.startswith(PREFIX) or not seen.model or seen.champion == aliases.get(CHAMPION, ""):
        return False
    return bool(noticed(root, model.removeprefix(PREFIX)))


def notice(client: MlflowClient, root: Path, experiment_id: str, corpus: str) -> list[Decision]:
    """Record everything that somebody has changed in MLflow, and return these decisions, oldest first.

    A champion that was deleted, or whose files are gone, gets a successor if there is one. Call it after `settle`, from
    the same process. The history explains a move by another machine, so such a move never counts as one by hand.
    """
    state = _State.of(client, experiment_id, corpus)
    if state is None:
        return []
    lost = sorted(set(range(1, state.seen.number + 1)) - state.numbers)
    made = list(_older_registry(state, seen_here(root, corpus)))
    made += _lost_decisions(state, [number for number in lost if number not in state.seen.lost])
    # Without its last decisions the history no longer says who was champion, but the last look does.
    made += _changed_champion(client, state, before=state.seen.champion if made else "")
    recorded = {decision.version for decision in made}
    made += [decision for decision in _other_changes(client, state) if decision.version not in recorded]
    for number, decision in enumerate(made):
        if number and decision.kind not in (MOVED, REMOVED):
            # The champion may have moved by the decision before.
            decision = made[number] = replace(decision, before=made[number - 1].after, after=made[number - 1].after)
        record(client, experiment_id, corpus, decision)
    note_state(client, root, experiment_id, corpus, lost=lost)
    return made


def note_state(
    client: MlflowClient,
    root: Path,
    experiment_id: str,
    corpus: str,
    *,
    candidate: str = "",
    lost: Sequence[int] | None = None,
) -> None:
    """Note the present state of the registry, so that later differences count as changes by hand.

    Call it with the registry locked, after every change.

    :param candidate: version that gets the alias `candidate` next; "" for none.
    :param lost: numbers of decisions whose runs are gone; None for those known before.
    """
    tags, name = client.get_experiment(experiment_id).tags, model_name(corpus)
    model, versions, before = model_of(client, name), versions_of(client, name), last_seen(tags)
    aliases = {alias: str(number) for alias, number in model.aliases.items()} if model else {}
    seen = Seen(
        model=model.creation_timestamp if model else before.model,
        number=last_number(client, experiment_id, before),
        lost=before.lost if lost is None else tuple(lost),
        champion=aliases.get(CHAMPION, ""),
        candidate=tuple(number for number in (aliases.get(CANDIDATE, ""), candidate) if number),
        versions=tuple(versions),
        stages={number: version.current_stage for number, version in versions.items() if _has_stage(version)},
        gone=tuple(number for number, version in versions.items() if not has_files(client, version)),
    )
    if tags.get(TAG) != seen.to_tag():
        client.set_experiment_tag(experiment_id, TAG, seen.to_tag())
    keep_here(root, corpus, seen)


@dataclass(frozen=True, slots=True)
class _State:
    """The registry of one model now, and what was seen of it before."""

    corpus: str
    aliases: dict[str, str]
    versions: dict[str, ModelVersion]
    seen: Seen
    numbers: frozenset[int]
    decided: list[Decision]
    previous: str | None
    new_name: str

    @classmethod
    def of(cls, client: MlflowClient, experiment_id: str, corpus: str) -> _State | None:
        """Read the state; None while another machine carries out a decision."""
        name = model_name(corpus)
        # Read aliases before runs: a decision is recorded before its alias moves, so its run is visible then.
        aliases = present_aliases(client, name)
        runs = runs_of(client, experiment_id)
        if any(run.info.status == "RUNNING" for run in runs):
            return None
        finished = [run for run in runs if run.info.status == "FINISHED"]
        previous = finished[-1].data.tags.get("decision.previous") if finished else None
        numbers = frozenset(map(number_of, runs))
        seen = last_seen(client.get_experiment(experiment_id).tags)
        renamed = "" if aliases else renamed_to(client, name)
        versions = versions_of(client, name)
        return cls(corpus, aliases, versions, seen, numbers, carried_out(runs), previous, renamed)

    @property
    def champion(self) -> str:
        return self.aliases.get(CHAMPION, "")

    def changed(self, version: str, what: str, *, kind: Literal["removed by hand", "changed by hand"]) -> Decision:
        """Return a decision about a change that leaves the champion in place."""
        return Decision(kind, version, self.champion, self.champion, what, time.time())


def _older_registry(state: _State, here: Seen) -> Iterator[Decision]:
    """Yield a decision if this project folder knows more of the history than the registry has."""
    number = max([state.seen.number, *state.numbers])
    if number >= here.number:
        return
    damage = f"has only {number} of the {here.number} decisions, so it was restored from an older state"
    if not number:
        damage = f"has none of the {here.number} decisions, so mlflow.db or its experiment was removed"
    was = f"version {here.champion} was champion" if here.champion else "there was no champion"
    reason = (
        f"The registry {damage}; noticed at this time. Before that, {was}. Restore a newer copy of mlruns/, or let "
        "`dial2vec run` register the latest training again."
    )
    yield state.changed("", reason, kind=CHANGED)


def _lost_decisions(state: _State, lost: Sequence[int]) -> Iterator[Decision]:
    if lost:
        which = ", ".join(map(str, lost[:5])) + (", ..." if len(lost) > 5 else "")
        reason = (
            f"Somebody deleted decisions of this history (numbers: {which}) from MLflow for good; noticed at this "
            "time. Only a backup of mlruns/ has them."
        )
        yield state.changed("", reason, kind=CHANGED)


def _changed_champion(client: MlflowClient, state: _State, *, before: str) -> Iterator[Decision]:
    """Yield a decision if the champion was moved, deleted or renamed, or lost its files.

    :param before: champion before; "" for that of the last decision.
    """
    if not state.decided:
        return
    before, champion, versions = before or state.decided[-1].after, state.champion, state.versions
    if champion and champion != before:
        way_out = f" To undo this: dial2vec rollback {state.corpus} --to {before}." if before in versions else ""
        reason = f"Somebody moved the alias in MLflow; noticed at this time.{way_out}"
        yield Decision(MOVED, champion, before, champion, reason, time.time())
        return
    if not champion and not before:
        return
    what = _lost_champion(client, state, before)
    if what:
        after, consequence = _successor(client, state)
        if champion and not after:
            # It stays champion, because nothing can replace it.
            after, consequence = champion, "Restore them from a backup, or run `dial2vec run`."
        reason = f"Somebody {what} in MLflow; noticed at this time. {consequence}"
        yield Decision(REMOVED, before, before, after, reason, time.time())


def _lost_champion(client: MlflowClient, state: _State, champion: str) -> str:
    """Return what happened to the champion; "" if it can be loaded or its loss was recorded before."""
    if state.champion:
        lost = not has_files(client, state.versions[champion]) and champion not in state.seen.gone
        return f"deleted the files of version {champion}" if lost else ""
    if state.new_name:
        return f"renamed the model to {state.new_name}"
    if champion in state.versions:
        return f"deleted the alias `{CHAMPION}`"
    return f"deleted version {champion}" if state.versions else "deleted every version"


def _successor(client: MlflowClient, state: _State) -> tuple[str, str]:
    """Return the next champion after the champion was deleted, "" for none, and a sentence about it.

    The next champion is `previous`, else the nearest earlier champion, else the starting encoder, possibly the same
    version again.
    """
    versions, decided = state.versions, state.decided
    removed = decided[-1].after
    earlier: list[str] = [state.aliases.get(PREVIOUS, "")]
    before = champion_before(decided, removed)
    while before and before not in earlier[1:]:
        earlier.append(before)
        before = champion_before(decided, before)
    for number in earlier:
        version = versions.get(number)
        if number != removed and version and ROLLED_BACK_TAG not in version.tags and has_files(client, version):
            return number, "An earlier champion takes its place."
    for number, version in versions.items():
        if version.tags.get("kind") == "start" and has_files(client, version):
            return number, "The starting encoder takes its place."
    return "", "Nothing takes its place until stage register runs."


def _other_changes(client: MlflowClient, state: _State) -> Iterator[Decision]:
    """Yield a decision for each change of a version or an alias that leaves the champion in place."""
    seen, versions = state.seen, state.versions
    if not versions or not seen.versions:
        return
    ours = of_this_model(state.decided)
    explained = {decision.version for decision in ours if decision.kind in (PRUNED, REMOVED)}
    for number in sorted(set(seen.versions) - versions.keys() - explained, key=int):
        # Stage register makes a new version of the latest training; older ones have none.
        again = number in seen.candidate or number == min(seen.versions, key=int)
        way_out = "Stage register makes a new version." if again else "Only a backup of mlruns/ has it."
        reason = f"Somebody deleted it in MLflow; noticed at this time. {way_out}"
        yield state.changed(number, reason, kind=REMOVED)
    for number, version in versions.items():
        yield from _changed_version(client, state, number, version)
    yield from _moved_aliases(state)


def _changed_version(client: MlflowClient, state: _State, number: str, version: ModelVersion) -> Iterator[Decision]:
    seen = state.seen
    if number not in seen.versions and "kind" not in version.tags:
        reason = "Somebody registered it in MLflow; noticed at this time. No training of dial2vec made it."
        yield state.changed(number, reason, kind=CHANGED)
    elif number not in seen.gone and not has_files(client, version):
        reason = "Somebody deleted its files; noticed at this time. Restore them from a backup, or run `dial2vec run`."
        yield state.changed(number, reason, kind=CHANGED)
    if _has_stage(version) and seen.stages.get(number) != version.current_stage:
        reason = (
            f"Somebody put it to stage {version.current_stage} in MLflow (before: {seen.stages.get(number, 'None')}); "
            "noticed at this time. Stages change nothing here, only aliases do. To make it champion: "
            f"dial2vec rollback {state.corpus} --to {number}."
        )
        yield state.changed(number, reason, kind=CHANGED)


def _moved_aliases(state: _State) -> Iterator[Decision]:
    """Yield decisions about the aliases `candidate` and `previous`."""
    before, now = state.seen.candidate, state.aliases.get(CANDIDATE, "")
    if before and now not in before and before[0] in state.versions:
        judged = f"The gate judges version {now} from now on." if now else "Stage register sets it again."
        yield _moved_alias(state, CANDIDATE, before[0], now, judged)
    last, present = state.previous or "", state.aliases.get(PREVIOUS, "")
    if last != present and last in state.versions and state.decided[-1].after == state.champion:
        target = f"goes to version {present}" if present else "needs --to"
        yield _moved_alias(state, PREVIOUS, last, present, f"`dial2vec rollback {state.corpus}` {target} now.")


def _moved_alias(state: _State, alias: str, before: str, now: str, consequence: str) -> Decision:
    what = f"moved the alias `{alias}` from version {before} to version {now}"
    if not now:
        what = f"deleted the alias `{alias}` of version {before}"
    reason = f"Somebody {what} in MLflow; noticed at this time. {consequence}"
    return state.changed(now or before, reason, kind=CHANGED)


def _has_stage(version: ModelVersion) -> bool:
    return version.current_stage not in (None, "", "None")
