"""Old versions of a model: which ones stay and why, and removing the others with their files.

A version leaves the registry before its files leave the disk. A kill in between leaves files that nobody can load, and
the next call removes them; the other order would leave a version that fails when somebody loads it. The decision is
recorded first, so that the history has a line on each removed version, and closed last.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from dial2vec.config import Prune
from dial2vec.errors import ModelError
from dial2vec.registry import SMALL
from dial2vec.registry.by_hand import settled
from dial2vec.registry.decisions import record
from dial2vec.registry.promotion import figures_sentence
from dial2vec.registry.records import CANDIDATE, CHAMPION, PREVIOUS, PRUNED, Decision, local_minute, size_of
from dial2vec.registry.store import (
    SERVER,
    aliases_of,
    database_path,
    dev_scores,
    hard_delete,
    model_name,
    model_of,
    opened,
    registry_lock,
    versions_of,
)

DAY = 86_400
WHY = {
    CHAMPION: "it is champion",
    CANDIDATE: "it is the candidate",
    PREVIOUS: "it was champion before, for a rollback",
}


@dataclass(frozen=True, slots=True)
class OldVersion:
    """A version of a model, and whether it stays.

    :param corpus: name of the corpus; with `SMALL` at its end for its student.
    :param version: number in the registry.
    :param kind: "start", "trained" or "student".
    :param created: seconds since 1970.
    :param size: bytes of its files; 0 on a tracking server.
    :param why: reasons to keep it; empty if it goes.
    """

    corpus: str
    version: str
    kind: str
    created: float
    size: int
    why: tuple[str, ...]

    def __str__(self) -> str:
        what = f"{self.kind or 'by hand'}, {local_minute(self.created)}, {self.size / 1e6:.1f} MB"
        return (
            f"keep    {self.version:>3}  {what}: {'; '.join(self.why)}"
            if self.why
            else f"remove  {self.version:>3}  {what}"
        )


def old_versions(root: Path, corpus: str, rules: Prune, *, chosen: Sequence[str] = ()) -> list[OldVersion]:
    """Return all versions of a corpus's model and of its student's, each with the reasons to keep it.

    :param chosen: numbers of the only versions to remove, instead of those by `rules`, with the students that imitate
        them; a version in use stays.
    :raises ModelError: if nothing is registered, a chosen version does not exist, or the store cannot be used.
    """
    with opened(root) as client:
        versions = {corpus: versions_of(client, model_name(corpus))}
        aliases = {corpus: aliases_of(client, model_name(corpus))}
        small = f"{corpus}{SMALL}"
        if model_of(client, model_name(small)):
            versions[small], aliases[small] = (
                versions_of(client, model_name(small)),
                aliases_of(client, model_name(small)),
            )
        if unknown := [number for number in chosen if number not in versions[corpus]]:
            numbers = ", ".join(sorted(versions[corpus], key=int))
            raise ModelError(f"{model_name(corpus)} has no version {unknown[0]}. It has: {numbers}.")
        taught = [n for n, v in versions.get(small, {}).items() if v.tags.get("teacher_version") in chosen]
        # No version is called "", which stands for a choice of none.
        picked = {corpus: chosen, small: taught or [""] if chosen else []}
        teachers: dict[str, str] = {}
        done = []
        # The student's first: a version that one of them imitates stays with it.
        for name in reversed(versions):
            why = _reasons(versions[name], aliases[name], rules, picked[name])
            for number, version in versions[name].items():
                if number in teachers and name == corpus:
                    why[number].append(f"version {teachers[number]} of its student imitates it")
                if why[number] and name == small:
                    teachers[version.tags.get("teacher_version", "")] = number
                created, size = version.creation_timestamp / 1000, size_of(_folders(client, root, version))
                done.append(OldVersion(name, number, version.tags.get("kind", ""), created, size, tuple(why[number])))
    return sorted(done, key=lambda old: (old.corpus, int(old.version)))


def remove(root: Path, old: Sequence[OldVersion]) -> list[str]:
    """Remove the versions without a reason to stay, with their runs and files, and files without a version.

    :return: sentences about what stayed after all, because somebody has moved an alias to it meanwhile.
    :raises ModelError: if the store cannot be used.
    """
    stayed = []
    with opened(root) as client, registry_lock(root):
        for corpus in dict.fromkeys(version.corpus for version in old):
            experiment_id, name = settled(client, root, corpus), model_name(corpus)
            for version in old:
                if version.why or version.corpus != corpus:
                    continue
                present, aliases = versions_of(client, name).get(version.version), aliases_of(client, name)
                if present is None or version.version in aliases.values():
                    stayed.append(f"version {version.version} of {name} stays: somebody has changed it meanwhile")
                    continue
                _remove(client, root, experiment_id, version, present, aliases.get(CHAMPION, ""))
        for folder in orphans(client, root):
            shutil.rmtree(folder, ignore_errors=True)
    return stayed


def data_hashes(root: Path, going: Sequence[OldVersion]) -> set[str]:
    """Return DVC's hashes of the data that all versions of any corpus were trained on, without those that go.

    :raises ModelError: if the store cannot be used.
    """
    gone = {(model_name(version.corpus), version.version) for version in going}
    with opened(root) as client:
        versions = client.search_model_versions()
    return {of.tags.get("data_hash", "") for of in versions if (of.name, str(of.version)) not in gone}


def trainings(root: Path, corpus: str) -> dict[str, str]:
    """Return version -> DVC's hash of its data for the registered trainings of a corpus, oldest first.

    :raises ModelError: if the store cannot be used.
    """
    with opened(root) as client:
        versions = reversed(versions_of(client, model_name(corpus)).items())
        tags = {number: version.tags for number, version in versions}
        return {number: tag.get("data_hash", "") for number, tag in tags.items() if tag.get("kind") == "trained"}


def orphans(client: MlflowClient, root: Path) -> list[Path]:
    """Return the folders of models that no version uses, which killed registrations and removals have left.

    Call it with the registry locked, or only to look.
    """
    artifacts = database_path(root).with_name("artifacts")
    if os.environ.get(SERVER) or not artifacts.is_dir():
        return []
    used = {folder for version in client.search_model_versions() for folder in _folders(client, root, version)}
    folders = [*(artifacts / "registered").glob("*"), *(artifacts / "models").glob("*")]
    return sorted(folder for folder in folders if folder.is_dir() and folder not in used)


def _reasons(
    versions: Mapping[str, ModelVersion], aliases: Mapping[str, str], rules: Prune, chosen: Sequence[str]
) -> dict[str, list[str]]:
    """Return the reasons to keep each version; newest first."""
    why: dict[str, list[str]] = {number: [] for number in versions}
    for alias, number in aliases.items():
        if number in why:
            why[number].append(WHY.get(alias, f"it has the alias `{alias}`"))
    trained = [number for number, version in versions.items() if version.tags.get("kind") != "start"]
    for number, version in versions.items():
        if version.current_stage in ("Production", "Staging"):
            why[number].append(f"somebody put it to stage {version.current_stage}")
        if chosen and number not in chosen:
            why[number].append("not chosen")
        elif not chosen:
            why[number] += _by_rules(version, rules, last=number in trained[: rules.keep_last])
    for number in [number for number in versions if number not in trained][:1]:
        why[number].append("it is the base encoder")
    for number in trained:
        start = versions[number].tags.get("start_version", "")
        if why[number] and not why.get(start, [""]):
            why[start].append(f"version {number} was trained from it")
    return why


def _by_rules(version: ModelVersion, rules: Prune, *, last: bool) -> Iterator[str]:
    if last:
        yield f"it is among the last {rules.keep_last} trainings"
    if time.time() - version.creation_timestamp / 1000 < rules.keep_days * DAY:
        yield f"it is younger than {rules.keep_days:g} days"


def _remove(
    client: MlflowClient,
    root: Path,
    experiment_id: str,
    version: OldVersion,
    present: ModelVersion,
    champion: str,
) -> None:
    name = model_name(version.corpus)
    others = [o for o in client.search_model_versions() if (o.name, o.version) != (name, present.version)]
    shared = {folder for other in others for folder in _folders(client, root, other)}
    folders = [folder for folder in _folders(client, root, present) if folder not in shared]

    run_id = present.run_id if present.run_id not in {other.run_id for other in others} else ""
    model_id = _logged_model(present) if _logged_model(present) not in map(_logged_model, others) else ""

    def act() -> None:
        client.delete_model_version(name, version.version)
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        # Somebody may have deleted them.
        with contextlib.suppress(MlflowException):
            hard_delete(client, model_id=model_id)
        with contextlib.suppress(MlflowException):
            hard_delete(client, run_id=run_id or "")

    reason = (
        f"`dial2vec prune` removed this {version.kind} version of {local_minute(version.created)} with its files "
        f"({version.size / 1e6:.1f} MB). {figures_sentence(dev_scores(present))}"
    )
    decision = Decision(PRUNED, version.version, champion, champion, reason, time.time())
    record(client, experiment_id, version.corpus, decision, act=act)


def _logged_model(version: ModelVersion) -> str:
    """Return the id of a version's logged model, "" for none; its source is `models:/m-<id>` or `.../m-<id>`."""
    name = PurePosixPath(version.source).name
    return name if name.startswith("m-") else ""


def _folders(client: MlflowClient, root: Path, version: ModelVersion) -> list[Path]:
    """Return the folders of a version: its own files, those of its logged model and those of its run."""
    artifacts = database_path(root).with_name("artifacts")
    location = client.get_model_version_download_uri(version.name, version.version)
    if os.environ.get(SERVER) or not location.startswith(f"{artifacts}/"):
        return []
    # Both are named after the logged model; the version itself does not name it.
    names = [f"{folder}/{Path(location).name}" for folder in ("registered", "models")]
    names += [version.run_id] if version.run_id else []
    return [artifacts / name for name in names]
