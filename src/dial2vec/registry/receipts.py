"""The receipts of stage register, compared with the registry: people delete versions and models in MLflow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlflow import MlflowClient

from conversations.files import read_json
from dial2vec.errors import ArtifactError, ModelError
from dial2vec.registry import SMALL, receipt_path
from dial2vec.registry.by_hand import noticed
from dial2vec.registry.records import CANDIDATE, CHAMPION
from dial2vec.registry.store import (
    aliases_of,
    has_whole_files,
    model_name,
    opened,
    versions_of,
)


def reconcile(root: Path, corpora: Sequence[str]) -> list[str]:
    """Record changes by hand, delete the receipts of missing versions, and return sentences about both.

    DVC runs stage register again if its receipt is missing.

    :raises ModelError: if the store cannot be used.
    """
    notes = []
    for corpus in corpora:
        for name in (corpus, f"{corpus}{SMALL}"):
            notes += noticed(root, name)
        path = receipt_path(root, corpus)
        if not path.is_file():
            continue
        with opened(root) as client:
            lost = [
                f"{model_name(name)}: {reason}, so stage register runs again"
                for name, receipt in _receipts(path, corpus).items()
                for reason in _lost(client, receipt, name)
            ]
        if lost:
            path.unlink()
        notes += lost
    return notes


def standing_champion(root: Path, corpus: str) -> str:
    """Return the champion's version, and that of the student's model after a blank.

    It is "" if the registry lacks a champion or anything that the receipt names.

    :raises ModelError: if the store cannot be used.
    """
    path = receipt_path(root, corpus)
    if not path.is_file():
        return ""
    receipts = _receipts(path, corpus)
    with opened(root) as client:
        if any(_lost(client, receipt, name) for name, receipt in receipts.items()):
            return ""
        return " ".join(aliases_of(client, model_name(name))[CHAMPION] for name in receipts)


def registered_models(root: Path, corpus: str) -> list[str]:
    """Return the corpus, and the name of its student's model if the last run registered one."""
    return list(_receipts(receipt_path(root, corpus), corpus))


def _receipts(path: Path, corpus: str) -> dict[str, dict[str, Any]]:
    """Return the receipts of a corpus's model and of its student's; an empty one if the file cannot be read."""
    try:
        receipt = dict(read_json(path))
        small = dict(receipt.get("small") or {})
    except (ArtifactError, TypeError, ValueError):
        return {corpus: {}}
    return {corpus: receipt} | ({f"{corpus}{SMALL}": small} if small else {})


def _lost(client: MlflowClient, receipt: dict[str, Any], corpus: str) -> list[str]:
    """Return what the registry lacks first, or nothing."""
    name = model_name(corpus)
    if not {"version", "start_version"} <= receipt.keys():
        return ["the receipt of its registration cannot be read"]
    try:
        aliases = aliases_of(client, name)
    except ModelError:
        return ["nothing is registered"]
    known = versions_of(client, name)
    for number in (str(receipt[key]) for key in ("version", "start_version")):
        if number not in known:
            return [f"version {number} is no longer in the registry"]
        if not has_whole_files(client, known[number]):
            return [f"the files of version {number} are gone or damaged"]
    absent = [alias for alias in (CANDIDATE, CHAMPION) if alias not in aliases]
    return [f"no version has the alias '{alias}'" for alias in absent[:1]]
