"""Any encoder by name or folder: how it is loaded, its limits, its layers."""

from __future__ import annotations

import importlib
import inspect
import logging
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from dial2vec.encoder.inputs import InputStyle
from dial2vec.encoder.names import SHORT_NAMES, resolve
from dial2vec.encoder.papers.plato import PlatoModel, is_plato
from dial2vec.encoder.tokens import Batch
from dial2vec.errors import Dial2vecError, ModelError

# Models with a decoder: type -> module and class of the encoder. Only the encoder is loaded.
ENCODERS_OF = {
    "t5": ("transformers.models.t5.modeling_t5", "T5Stack"),
    "blenderbot": ("transformers.models.blenderbot.modeling_blenderbot", "BlenderbotEncoder"),
}
# Names of parameters in the whole model -> names in the encoder alone.
AS_IN_THE_ENCODER = {r"^(model\.)?encoder\.": "", r"^(model\.)?shared\.": "embed_tokens."}


def own_input(name: str | Path, folder: str) -> str:
    """Return the default input of an encoder: the published code's for the paper's encoders, else "text".

    :param name: name that the user gave.
    :param folder: result of `resolve`.
    """
    if is_plato(folder):
        return "plato"
    return SHORT_NAMES[str(name)].input if str(name) in SHORT_NAMES and folder != str(name) else "text"


def load_backbone(folder: str) -> tuple[Any, Any]:
    """Return the encoder, in fp32, and its tokenizer. For T5 and Blender only the encoder is loaded.

    :raises ModelError: if they cannot be loaded, with the reason.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    from transformers import AutoTokenizer, BertTokenizerFast
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    with loading_errors(f"{folder} cannot be loaded as an encoder"):
        if is_plato(folder):
            # PLATO's vocabulary is BERT's, and AutoTokenizer does not know the model type.
            return PlatoModel.from_pretrained(folder), BertTokenizerFast.from_pretrained(folder)
        return _load_model(folder), AutoTokenizer.from_pretrained(folder, trust_remote_code=False)


@contextmanager
def loading_errors(problem: str, *, give: str = "a folder made by save_pretrained") -> Iterator[None]:
    """Turn any error while a model is loaded into a ModelError of one sentence.

    :param problem: Start of the sentence, such as "x cannot be loaded as an encoder".
    :param give: Folder to give instead, such as "the folder of one such as bert-base-uncased".
    """
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(
            f"{problem} ({reason}). Give {give}, or a Hugging Face name that this machine can reach."
        ) from error


def load_with_head(name: str | Path, auto_model: str, *, kind: str, example: str) -> tuple[str, Any, Any]:
    """Return the folder, the tokenizer and the network (fp32) of a model with a trained head.

    :param auto_model: Class of transformers that loads the network, such as "AutoModelForMaskedLM".
    :param kind: Kind of model for errors, such as "masked language model".
    :param example: Name of such a model for errors.
    :raises ModelError: if the model cannot be loaded or lacks parameters.
    """
    import transformers

    folder = resolve(name)
    with loading_errors(f"{folder} cannot be loaded as a {kind}", give=f"the folder of one such as {example}"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        load = getattr(transformers, auto_model).from_pretrained
        network, report = load(folder, dtype=torch.float32, output_loading_info=True, trust_remote_code=False)
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelError(
            f"{folder} lacks parameter {missing[0]}, which would be random. Give a whole {kind} such as {example}."
        )
    return folder, tokenizer, network


def _load_model(folder: str) -> Any:
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    encoder: Any = AutoModel
    options: dict[str, Any] = {"trust_remote_code": False}
    if config.model_type in ENCODERS_OF:
        module, kind = ENCODERS_OF[config.model_type]
        encoder, options = getattr(importlib.import_module(module), kind), {"key_mapping": AS_IN_THE_ENCODER}
        # A cache is for the decoder; T5's encoder refuses one.
        config.use_cache = False
    elif getattr(config, "is_encoder_decoder", False):
        raise ModelError(
            f"{folder} is a {config.model_type} with a decoder; expected {' or '.join(ENCODERS_OF)}. "
            "Give an encoder such as bert or all-MiniLM-L6-v2."
        )
    # The loaders list each parameter that no encoder needs. Only missing ones matter: they would stay random.
    for name in ("modeling_utils", "distributed.tensor_parallel"):
        logging.getLogger(f"transformers.{name}").setLevel(logging.ERROR)
    model, report = encoder.from_pretrained(
        folder, config=config, dtype=torch.float32, output_loading_info=True, **options
    )
    missing = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))
    if missing:
        raise ModelError(f"{folder} lacks parameter {missing[0]} of its encoder. Give a folder with all its weights.")
    return model


def save_backbone(backbone: Any, folder: Path) -> None:
    """Write the encoder into a folder that `load_backbone` loads."""
    # The parameters of an encoder that was taken out of a model cannot get their old names back.
    alone = backbone.config.model_type in ENCODERS_OF
    backbone.save_pretrained(folder, **({"save_original_format": False} if alone else {}))


def add_token(backbone: Any, tokenizer: Any, token: str) -> bool:
    """Add a token to the tokenizer and a row to the encoder, the mean of all other rows; return whether it was new.

    Nothing is random: the same encoder always gets the same row.
    """
    if token in tokenizer.get_vocab():
        return False
    tokenizer.add_tokens([token], special_tokens=True)
    number, table = tokenizer.convert_tokens_to_ids(token), backbone.get_input_embeddings()
    mean = table.weight.detach()[:number].mean(0)
    # Some tables have spare rows.
    more = max(0, number + 1 - table.num_embeddings)
    weights = torch.cat([table.weight.detach(), mean.expand(more, -1)])
    weights[number] = mean
    table.weight = nn.Parameter(weights, requires_grad=table.weight.requires_grad)
    table.num_embeddings = len(weights)
    if isinstance(backbone, PlatoModel):
        backbone.config = replace(backbone.config, vocab_size=len(weights))
    else:
        backbone.config.vocab_size = len(weights)
    return True


def limits(backbone: Any, tokenizer: Any, style: InputStyle, *, name: str) -> tuple[int, int | None]:
    """Return the encoder's limits in tokens: the longest dialogue and the longest turn; None is no limit.

    :param style: input style.
    :param name: name of the input.
    :raises ModelError: if the encoder has no such positions or turn numbers.
    """
    _check_input(backbone, style, name)
    positions = _positions(backbone) - _first_position(backbone)
    longest = int(tokenizer.model_max_length)
    # Positions that restart in every turn limit the turns.
    return (longest, positions) if style.restart_positions else (min(longest, positions), None)


def extra_inputs(backbone: Any, style: InputStyle, batch: Batch) -> dict[str, torch.Tensor]:
    """Return the encoder's further inputs beside tokens and attention, each int64 [b, n]."""
    extra = {}
    if style.restart_positions:
        places = _first_position(backbone) + batch.positions_in_turn()
        # An augmentation can put longer words into a turn after the turn was cut.
        extra["position_ids"] = places.clamp(max=_positions(backbone) - 1)
    if _takes(backbone, "turn_ids"):
        extra |= {"turn_ids": batch.turns, "role_ids": batch.roles}
    return extra


def attention_heads(backbone: Any) -> int:
    """Return the number of heads for an attention on top of the encoder: its own, if they divide its width."""
    width = int(backbone.config.hidden_size)
    return math.gcd(getattr(backbone.config, "num_attention_heads", None) or max(1, width // 64), width)


def _check_input(backbone: Any, style: InputStyle, name: str) -> None:
    kind = type(backbone).__name__
    if style.restart_positions and not _takes(backbone, "position_ids"):
        raise ModelError(
            f"input {name} restarts positions in every turn, but {kind} takes no positions. Set encoder.input to "
            "another: separators, or text."
        )
    if not _takes(backbone, "turn_ids"):
        return
    most = backbone.config.turn_vocab_size - 1
    if not (style.count_down and style.restart_positions):
        raise ModelError(f"input is {name}, but {kind} reads dialogues in its own way only. Set it to plato or auto.")
    # A turn that is read alone has the number 1.
    if not style.apart and (style.last_turns is None or style.last_turns > most):
        raise ModelError(
            f"last_turns is {style.last_turns}, but {kind} numbers {most} turns. Set encoder.last_turns to {most} or "
            "less, or to null."
        )


def _positions(backbone: Any) -> int:
    return int(getattr(backbone.config, "max_position_embeddings", None) or 10**9)


def _takes(backbone: nn.Module, argument: str) -> bool:
    return argument in inspect.signature(backbone.forward).parameters


def _first_position(backbone: Any) -> int:
    """RoBERTa starts counting after its padding index."""
    table = getattr(getattr(backbone, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return 0 if padding is None else int(padding) + 1


def layers(backbone: nn.Module) -> list[nn.Module]:
    """Return the transformer layers, bottom first: the longest list of modules in the encoder.

    :raises Dial2vecError: if the encoder has no list of modules.
    """
    lists = [list(module) for module in backbone.modules() if isinstance(module, nn.ModuleList)]
    if not lists:
        raise Dial2vecError(
            f"{type(backbone).__name__} has no list of layers, so no share of them can be frozen. Set frozen_share to "
            "0 in params.yaml: in the method's own block, or in block train for neighbours and dial2vec."
        )
    return max(lists, key=len)
