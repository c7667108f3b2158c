"""The receipts of stage register, compared with the registry: people delete versions and models in MLflow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mlflow import MlflowClient

from dial2vec.errors import ArtifactError, ModelError
from dial2vec.files import read_json
from dial2vec.registry import receipt_path
from dial2vec.registry.decisions import notice, notice_removed, settle
from dial2vec.registry.records import CANDIDATE, CHAMPION
from dial2vec.registry.store import (
    aliases_of,
    experiment,
    has_files,
    model_name,
    one_sentence,
    open_store,
    registry_lock,
    store_uri,
    versions_of,
)


def reconcile(root: Path, corpora: Sequence[str]) -> list[str]:
    """Record changes by hand, delete the receipts of missing versions, and return sentences about both.

    DVC runs stage register again if its receipt is missing.

    :raises ModelError: if the store cannot be used.
    """
    notes = []
    for corpus in corpora:
        path, name = receipt_path(root, corpus), model_name(corpus)
        if not path.is_file():
            continue
        client = open_store(root)
        with one_sentence(store_uri(root)), registry_lock(root):
            experiment_id = experiment(client, root, corpus)
            settle(client, experiment_id, corpus)
            if decision := notice(client, experiment_id, corpus):
                notes.append(f"{name}: {decision}")
            if lost := _lost(client, path, name):
                number, reason = lost
                if number:
                    notice_removed(client, experiment_id, corpus, number)
                path.unlink()
                notes.append(f"{name}: {reason}, so stage register runs again")
    return notes


def standing_champion(root: Path, corpus: str) -> str:
    """Return the champion's version; "" if the registry lacks the champion or anything that the receipt names.

    :raises ModelError: if the store cannot be used.
    """
    path, name = receipt_path(root, corpus), model_name(corpus)
    if not path.is_file():
        return ""
    client = open_store(root)
    with one_sentence(store_uri(root)):
        return "" if _lost(client, path, name) else aliases_of(client, name)[CHAMPION]


def _lost(client: MlflowClient, receipt: Path, name: str) -> tuple[str, str] | None:
    """Return the missing version ("" if its number is unknown or kept) and a reason; None if nothing is missing."""
    try:
        content = read_json(receipt)
        numbers = [str(content[key]) for key in ("version", "start_version")]
        aliases = aliases_of(client, name)
    except (ArtifactError, KeyError, TypeError):
        return "", f"{receipt} cannot be read"
    except ModelError:
        return "", "nothing is registered"
    known = versions_of(client, name)
    for number in numbers:
        if number not in known:
            return number, f"version {number} is no longer in the registry"
        if not has_files(client, known[number]):
            return "", f"the files of version {number} are gone"
    for alias in (CANDIDATE, CHAMPION):
        if alias not in aliases:
            return "", f"no version has the alias '{alias}'"
    return None
