"""Sharing an encoder: files for `SentenceTransformer(folder)`, and the model card; docs/ecosystem.md.

sentence-transformers is not imported: its modules are named in JSON, and their weights are safetensors.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from safetensors.torch import save_file
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedModel

from dial2vec.encoder.backbone import ENCODERS_OF
from dial2vec.encoder.folder import CARD_FILE
from dial2vec.encoder.head import Head
from dial2vec.encoder.network import Network
from dial2vec.encoder.pooling import Pooling

TRANSFORMER, POOLING, NORMALIZE, DENSE = (
    f"sentence_transformers.models.{name}" for name in ("Transformer", "Pooling", "Normalize", "Dense")
)
# Our pooling -> the nearest pooling of the library. A plain text has no roles.
POOLINGS = {"role": "mean", "mean": "mean", "cls": "cls"}


class Parts(NamedTuple):
    """Parts of an encoder that its files tell others about; the fields are attributes of `DialogueEncoder`."""

    network: Network
    pooling: Pooling
    head: Head | None
    name: str


def why_not(encoder: Parts) -> str | None:
    """Return why sentence-transformers' own modules cannot express an encoder; None if they can."""
    backbone, tokens = encoder.network.backbone, encoder.network.tokens
    if not isinstance(backbone, PreTrainedModel) or backbone.config.model_type in ENCODERS_OF:
        return "its transformer is part of another model"
    if encoder.network.hierarchy is not None or any(table is not None for table in encoder.network.tables.values()):
        return "it tells turns or roles apart, and a plain text has none"
    if tokens.input != "text" or tokens.last_turns is not None:
        return f"its input is {tokens.input}, not the whole running text"
    if encoder.pooling not in POOLINGS:
        return f"its pooling is {encoder.pooling}"
    if getattr(tokens.tokenizer, "backend_tokenizer", None) is None or not _blank_parts_turns(tokens.tokenizer):
        return "its tokenizer reads a turn differently after a blank"
    return None


def save_sentence_modules(encoder: Parts, folder: Path) -> None:
    """Write the library's files into a folder with backbone and tokenizer; nothing if `why_not` gives a reason."""
    if why_not(encoder) is not None:
        return
    modules = [("", TRANSFORMER), ("1_Pooling", POOLING)]
    _write(
        folder / "sentence_bert_config.json",
        {"max_seq_length": encoder.network.tokens.max_length, "do_lower_case": False},
    )
    how = POOLINGS[encoder.pooling]
    pooling = {
        "word_embedding_dimension": encoder.network.dimension,
        "pooling_mode_cls_token": how == "cls",
        "pooling_mode_mean_tokens": how == "mean",
    }
    _write(folder / "1_Pooling" / "config.json", pooling)
    if encoder.head is not None:
        modules += [("2_Normalize", NORMALIZE), ("3_Dense", DENSE), ("4_Normalize", NORMALIZE)]
        _save_dense(encoder.head, folder / "3_Dense")
        for name in ("2_Normalize", "4_Normalize"):
            (folder / name).mkdir()
    _write_start_only(folder / "tokenizer.json", encoder.network.tokens.tokenizer)
    named = [
        {"idx": place, "name": str(place), "path": path, "type": kind} for place, (path, kind) in enumerate(modules)
    ]
    _write(folder / "modules.json", named)
    _write(folder / "config_sentence_transformers.json", {"similarity_fn_name": "cosine"})


def save_card(encoder: Parts, folder: Path) -> None:
    """Write the model card that a hub shows, with an example of use."""
    template = Path(__file__).with_name("card.md").read_text(encoding="utf-8")
    text = jinja2.Template(template, trim_blocks=True, keep_trailing_newline=True).render(
        # The name can be a private path of the machine that trained the model.
        start=Path(encoder.name).name,
        dimension=encoder.network.dimension,
        pooling=encoder.pooling,
        same_as=POOLINGS[encoder.pooling] if why_not(encoder) is None else "",
        max_length=encoder.network.tokens.max_length,
    )
    (folder / CARD_FILE).write_text(text, encoding="utf-8")


def _blank_parts_turns(tokenizer: Any) -> bool:
    """Return whether a blank between two texts adds no token and changes none."""
    alone = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("one", "two", "one two")]
    return bool(alone[0] + alone[1] == alone[2])


def _save_dense(head: Head, folder: Path) -> None:
    """Write the head's map: unit(unit(x - mean) W) = unit(xW - mean W), since `unit` drops lengths."""
    width = len(head.mean)
    config = {
        "in_features": width,
        "out_features": width,
        "bias": True,
        "activation_function": "torch.nn.modules.linear.Identity",
    }
    _write(folder / "config.json", config)
    mean, weight = head.mean.cpu(), head.weight.cpu()
    weights = {"linear.weight": weight.T.contiguous(), "linear.bias": -(mean @ weight)}
    save_file(weights, folder / "model.safetensors")


def _write_start_only(path: Path, tokenizer: Any) -> None:
    """Make the saved tokenizer add the tokens of input "text": the start token and no separator."""
    start = tokenizer.cls_token if tokenizer.cls_token is not None else tokenizer.bos_token
    saved = Tokenizer.from_file(str(path))
    special = [] if start is None else [(start, saved.token_to_id(start))]
    front = "" if start is None else f"{start} "
    saved.post_processor = TemplateProcessing(single=f"{front}$A", pair=f"{front}$A $B", special_tokens=special)
    saved.save(str(path))
    # BERT's own class would add its separator again.
    settings = path.with_name("tokenizer_config.json")
    _write(settings, json.loads(settings.read_text(encoding="utf-8")) | {"tokenizer_class": "PreTrainedTokenizerFast"})


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
