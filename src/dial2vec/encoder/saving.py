"""The folder of a saved encoder: its options, and a file each for tables, hierarchy and head."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from dial2vec.encoder.head import Head
from dial2vec.encoder.hierarchical import HIERARCHIES, load_hierarchy, name_of, save_hierarchy
from dial2vec.encoder.network import Network
from dial2vec.encoder.reading import EncoderOptions
from dial2vec.errors import ModelError
from dial2vec.files import atomic_path

SETTINGS_FILE = "dialogue_encoder.json"
TABLES_FILE = "dialogue_tables.safetensors"
HIERARCHY_FILE = "dialogue_hierarchy.safetensors"
HEAD_FILE = "dialogue_head.safetensors"
# The options in the order of the file; the name of the start stands before them, whether there is a head after them.
OPTIONS = ("max_length", "input", "last_turns", "pooling", "turn_embeddings", "role_embeddings", "hierarchy")
# Files for other libraries and for readers. All they say is also in the other files.
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


def saved_settings(folder: str) -> dict[str, Any]:
    """Return the settings that a model was saved with: name, options and whether it has a head; {} for other models.

    :raises ModelError: if the file is damaged or names an unknown hierarchy.
    """
    path = Path(folder) / SETTINGS_FILE
    if not path.is_file():
        return {}
    try:
        settings = dict(json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError) as error:
        raise ModelError(f"{path} is not whole JSON ({error}). Save the encoder again.") from error
    if missing := [key for key in ("name", *OPTIONS, "head") if key not in settings]:
        raise ModelError(f"{path} lacks {', '.join(missing)}; expected all options. Save the encoder again.")
    known = ("none", *HIERARCHIES)
    if settings["hierarchy"] not in known:
        raise ModelError(
            f"{path} names the hierarchy {settings['hierarchy']!r}; expected one of {', '.join(known)}. Load it with "
            "the version of dial2vec that saved it."
        )
    return settings


def options_for(settings: Mapping[str, Any], asked: Mapping[str, Any], *, own_input: str) -> EncoderOptions:
    """Return the options of a loaded encoder: each as requested, else as saved, else the default.

    :param settings: saved settings, {} for a model that was not saved by dial2vec.
    :param asked: requested options; None stands for no request.
    :param own_input: default input.
    """
    saved = {key: settings[key] for key in OPTIONS if key in settings}
    if asked["input"] is not None:
        # The saved number of turns belongs to the saved input.
        saved.pop("last_turns", None)
    requested = {key: value for key, value in asked.items() if value is not None}
    return replace(EncoderOptions(input=own_input), **saved | requested)


def folder_hash(folder: Path) -> str:
    """Return a SHA-256 over all that decides the vectors of a saved encoder: weights, vocabulary, our settings.

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
    """Give a new folder inside a `with`; at the end the folder replaces the model at `path`.

    :raises ModelError: if `path` holds other files than a saved model.
    """
    path = Path(path).resolve()
    if path.is_dir() and any(path.iterdir()) and not (path / SETTINGS_FILE).is_file():
        raise ModelError(f"{path} holds other files, which saving would remove. Give a new or an empty folder.")
    with atomic_path(path) as folder:
        folder.mkdir()
        yield folder


def save_parts(
    folder: Path, options: EncoderOptions, network: Network, head: Head | None, *, name: str, max_length: int
) -> None:
    """Write the settings, and the weights of tables, hierarchy and head if the encoder has them.

    :param name: name of the start.
    :param max_length: longest input in tokens, within the encoder's own limit.
    """
    weights = {key: table.weight.detach().cpu() for key, table in network.tables.items() if table is not None}
    if weights:
        save_file(weights, folder / TABLES_FILE)
    if network.hierarchy is not None:
        save_hierarchy(network.hierarchy, folder / HIERARCHY_FILE)
    if head is not None:
        head.save(folder / HEAD_FILE)
    saved = {key: getattr(options, key) for key in OPTIONS}
    saved |= {"max_length": max_length, "hierarchy": name_of(network.hierarchy)}
    written = {"name": name, **saved, "head": head is not None}
    (folder / SETTINGS_FILE).write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


def fill_network(network: Network, folder: str, settings: Mapping[str, Any]) -> None:
    """Load the saved weights of the network's tables and hierarchy; a part that was not saved stays untrained.

    :param settings: saved settings of the model.
    :raises ModelError: if a file is missing, damaged or made for another encoder.
    """
    tables = {key: table for key, table in network.tables.items() if table and settings.get(f"{key}_embeddings")}
    if tables:
        path = Path(folder) / TABLES_FILE
        try:
            weights = load_file(path)
            for key, table in tables.items():
                table.weight.data.copy_(weights[key])
        except (OSError, SafetensorError, KeyError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise ModelError(f"{path} does not hold the whole tables ({reason}). Save the encoder again.") from error
    if network.hierarchy is not None and settings.get("hierarchy") == name_of(network.hierarchy):
        network.hierarchy = load_hierarchy(Path(folder) / HIERARCHY_FILE, network.dimension)


def saved_head(folder: str, settings: Mapping[str, Any], dimension: int) -> Head | None:
    """Return the saved head, None if the model has none.

    :param settings: saved settings of the model.
    :param dimension: length of the encoder's vectors.
    :raises ModelError: if the file is missing, damaged or made for another encoder.
    """
    return Head.load(Path(folder) / HEAD_FILE, dimension) if settings.get("head") else None
