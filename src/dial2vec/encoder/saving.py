"""The folder of a saved encoder: its settings, and what it has beside backbone and tokenizer, a file for each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from dial2vec.encoder.head import Head
from dial2vec.encoder.hierarchical import HIERARCHIES, Hierarchy, load_hierarchy, name_of, save_hierarchy
from dial2vec.errors import ModelError
from dial2vec.files import atomic_path

SETTINGS_FILE = "dialogue_encoder.json"
TABLES_FILE = "dialogue_tables.safetensors"
HIERARCHY_FILE = "dialogue_hierarchy.safetensors"
HEAD_FILE = "dialogue_head.safetensors"
# Of the same encoder for other libraries and readers: they say nothing that the other files do not.
RETOLD = {
    "README.md",
    "modules.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "1_Pooling",
    "2_Normalize",
    "3_Dense",
    "4_Normalize",
}
# What an encoder gets of which nothing was saved and nothing else is asked for.
DEFAULTS: dict[str, Any] = {
    "max_length": 512,
    "pooling": "role",
    "hierarchy": "none",
    "turn_embeddings": False,
    "role_embeddings": False,
}


def saved_settings(folder: str) -> dict[str, Any]:
    """Return the settings that a model was saved with; empty for what is no saved model.

    :raises ModelError: for a file that is not whole, or names a hierarchy that there is not.
    """
    path = Path(folder) / SETTINGS_FILE
    if not path.is_file():
        return {}
    try:
        settings = dict(json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError) as error:
        raise ModelError(f"{path} is not whole JSON ({error}). Save the encoder again.") from error
    known = ("none", *HIERARCHIES)
    if settings.get("hierarchy", "none") not in known:
        raise ModelError(
            f"{path} names the hierarchy {settings['hierarchy']!r}; expected one of {', '.join(known)}. Load it with "
            "the version of dial2vec that saved it."
        )
    return settings


def saved_input(settings: Mapping[str, Any]) -> str | None:
    """Return the name of the input that a model was saved with, None for what is no saved model.

    :param settings: those saved with it.
    """
    if not settings or "input" in settings:
        return settings.get("input")
    # Saved when the choice was separators or none, or before there was one: then they were put in.
    return "separators" if settings.get("separators", True) else "text"


def chosen(settings: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return each of the options `asked` as it was asked for; where that is None, as saved, else its default.

    :param settings: those saved with the model.
    """
    return {key: settings.get(key, DEFAULTS[key]) if value is None else value for key, value in asked.items()}


def folder_hash(folder: Path) -> str:
    """Return a SHA-256 over what decides the vectors of a saved encoder: weights, vocabulary, our settings.

    The other files also carry versions of libraries, and an upgrade makes no new encoder.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        retold = path.relative_to(folder).parts[0] in RETOLD
        if not retold and path.name not in ("config.json", "tokenizer_config.json"):
            digest.update(f"{path.relative_to(folder).as_posix()}\0".encode())
            with path.open("rb") as handle:
                digest.update(hashlib.file_digest(handle, "sha256").digest())
    return digest.hexdigest()


@contextmanager
def model_folder(path: str | Path) -> Iterator[Path]:
    """Give a new folder inside a `with`; at its end it stands at `path`, in the place of a model that was there.

    :raises ModelError: when `path` holds anything else than a saved model.
    """
    path = Path(path).resolve()
    if path.is_dir() and any(path.iterdir()) and not (path / SETTINGS_FILE).is_file():
        raise ModelError(f"{path} holds other files, which saving would remove. Give a new or an empty folder.")
    with atomic_path(path) as folder:
        folder.mkdir()
        yield folder


def save_parts(
    folder: Path,
    settings: Mapping[str, Any],
    *,
    tables: Mapping[str, nn.Embedding | None],
    hierarchy: Hierarchy | None,
    head: Head | None,
) -> None:
    """Write the settings, with what there is of tables, hierarchy and head, and the weights of these.

    :param tables: "turn" and "role".
    """
    weights = {key: table.weight.detach().cpu() for key, table in tables.items() if table is not None}
    if weights:
        save_file(weights, folder / TABLES_FILE)
    if hierarchy is not None:
        save_hierarchy(hierarchy, folder / HIERARCHY_FILE)
    if head is not None:
        head.save(folder / HEAD_FILE)
    there = {f"{key}_embeddings": table is not None for key, table in tables.items()}
    written = {**settings, **there, "hierarchy": name_of(hierarchy), "head": head is not None}
    (folder / SETTINGS_FILE).write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


def fill_tables(folder: str, settings: Mapping[str, Any], tables: Mapping[str, nn.Embedding | None]) -> None:
    """Give tables the weights that were saved for them; one that was not saved stays as it is.

    :param settings: those saved with the model.
    :param tables: "turn" and "role".
    :raises ModelError: when their file is missing, damaged or made for another encoder.
    """
    saved = {key: table for key, table in tables.items() if table and settings.get(f"{key}_embeddings", False)}
    if not saved:
        return
    path = Path(folder) / TABLES_FILE
    try:
        weights = load_file(path)
        for key, table in saved.items():
            table.weight.data.copy_(weights[key])
    except (OSError, SafetensorError, KeyError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise ModelError(f"{path} does not hold the whole tables ({reason}). Save the encoder again.") from error


def saved_hierarchy(folder: str, settings: Mapping[str, Any], untrained: Hierarchy | None) -> Hierarchy | None:
    """Return the hierarchy that was saved where it is of the kind asked for, else the untrained one.

    :param settings: those saved with the model.
    :raises ModelError: when its file is missing, damaged or made for another encoder.
    """
    if untrained is None or settings.get("hierarchy", "none") != name_of(untrained):
        return untrained
    return load_hierarchy(Path(folder) / HIERARCHY_FILE, untrained.width)


def saved_head(folder: str, settings: Mapping[str, Any], dimension: int) -> Head | None:
    """Return the head that was saved, None for none.

    :param settings: those saved with the model.
    :param dimension: length of the encoder's vectors.
    :raises ModelError: when its file is missing, damaged or made for another encoder.
    """
    return Head.load(Path(folder) / HEAD_FILE, dimension) if settings.get("head", False) else None
