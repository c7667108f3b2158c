"""The folder of a saved encoder: its options, and a file each for tables, hierarchy and head."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from dial2vec.encoder.folder import SETTINGS_FILE, damaged, is_lens, is_student
from dial2vec.encoder.head import Head
from dial2vec.encoder.names import is_multilingual
from dial2vec.encoder.network import Network
from dial2vec.encoder.papers.codes import give_codes
from dial2vec.encoder.papers.hierarchical import HIERARCHIES, load_hierarchy, name_of, save_hierarchy
from dial2vec.encoder.reading import EncoderOptions
from dial2vec.errors import ModelError

TABLES_FILE = "dialogue_tables.safetensors"
HIERARCHY_FILE = "dialogue_hierarchy.safetensors"
HEAD_FILE = "dialogue_head.safetensors"
CODES_FILE = "dialogue_codes.safetensors"
# The options in the order of the file: the base encoder's name stands before them, whether there is a head after them.
OPTIONS = ("max_length", "input", "last_turns", "pooling", "turn_embeddings", "role_embeddings", "hierarchy")


def saved_settings(folder: str) -> dict[str, Any]:
    """Return the settings that a model was saved with: name, options and whether it has a head; {} for other models.

    :raises ModelError: if the file is damaged or names an unknown hierarchy, or the folder is a student's.
    """
    if is_student(folder) or is_multilingual(folder) or is_lens(folder):
        raise ModelError(
            f"{folder} is no transformer, which training and serving need; expected the name of one, or a folder made "
            "by DialogueEncoder.save_pretrained. To encode with it, load it with dial2vec.load_encoder."
        )
    path = Path(folder) / SETTINGS_FILE
    if not path.is_file():
        return {}
    with damaged(f"{path} is not whole JSON"):
        settings = dict(json.loads(path.read_text(encoding="utf-8")))
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


def save_parts(
    folder: Path, options: EncoderOptions, network: Network, head: Head | None, *, name: str, max_length: int
) -> None:
    """Write the settings, and the weights of tables, hierarchy, codes and head if the encoder has them.

    :param name: name of the base encoder.
    :param max_length: longest input in tokens, within the encoder's own limit.
    """
    weights = {key: table.weight.detach().cpu() for key, table in network.tables.items() if table is not None}
    if weights:
        save_file(weights, folder / TABLES_FILE)
    if network.hierarchy is not None:
        save_hierarchy(network.hierarchy, folder / HIERARCHY_FILE)
    if network.codes is not None:
        save_file({"codes": network.codes.detach().cpu()}, folder / CODES_FILE)
    if head is not None:
        head.save(folder / HEAD_FILE)
    saved = {key: getattr(options, key) for key in OPTIONS}
    saved |= {"max_length": max_length, "hierarchy": name_of(network.hierarchy)}
    written = {"name": name, **saved, "head": head is not None}
    if network.codes is not None:
        # Models without codes are written as before they existed.
        written["codes"] = len(network.codes)
    (folder / SETTINGS_FILE).write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


def fill_network(network: Network, folder: str, settings: Mapping[str, Any]) -> None:
    """Load the saved weights of the network's tables, hierarchy and codes; a part that was not saved stays untrained.

    :param settings: saved settings of the model.
    :raises ModelError: if a file is missing, damaged or made for another encoder.
    """
    tables = {key: table for key, table in network.tables.items() if table and settings.get(f"{key}_embeddings")}
    if tables:
        path = Path(folder) / TABLES_FILE
        with damaged(f"{path} does not hold the whole tables"):
            weights = load_file(path)
            for key, table in tables.items():
                table.weight.data.copy_(weights[key])
    if network.hierarchy is not None and settings.get("hierarchy") == name_of(network.hierarchy):
        network.hierarchy = load_hierarchy(Path(folder) / HIERARCHY_FILE, network.dimension)
    if settings.get("codes"):
        path = Path(folder) / CODES_FILE
        with damaged(f"{path} does not hold the codes"):
            codes = load_file(path)["codes"]
        if codes.shape != (settings["codes"], network.dimension):
            raise ModelError(
                f"{path} has codes of shape {list(codes.shape)}; expected {[settings['codes'], network.dimension]}. "
                "Save the encoder again."
            )
        give_codes(network, codes)
