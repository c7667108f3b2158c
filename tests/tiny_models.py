"""The paper's encoders, tiny and randomly initialised, as folders that look like the published ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import torch
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizerFast,
    BlenderbotConfig,
    BlenderbotForConditionalGeneration,
    BlenderbotTokenizerFast,
    RobertaConfig,
    RobertaModel,
    RobertaTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
    T5TokenizerFast,
    set_seed,
)

from dial2vec.encoder.papers.plato import PlatoConfig, PlatoModel

WORDS = [f"w{digit}" for digit in range(10)]
# Byte-level: a word is its letters, and a blank before it is "Ġ".
LETTERS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "w", "Ġ", *"0123456789"]
SIZES = {"hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 32}


def _words(*more: str, **options: int) -> BertTokenizerFast:
    vocabulary = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    tokenizer = BertTokenizerFast(vocab={token: i for i, token in enumerate(vocabulary)}, **options)
    tokenizer.add_tokens(list(more))
    return tokenizer


def bert(folder: Path, *more: str) -> None:
    tokenizer = _words(*more, model_max_length=64)
    BertModel(BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **SIZES)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def roberta(folder: Path) -> None:
    tokenizer = RobertaTokenizerFast(vocab={token: i for i, token in enumerate(LETTERS)}, merges=[])
    config = RobertaConfig(vocab_size=len(LETTERS), max_position_embeddings=66, pad_token_id=1, **SIZES)
    RobertaModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def t5(folder: Path) -> None:
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *((f"▁{word}", -2.0) for word in WORDS)]
    T5TokenizerFast(vocab=pieces, extra_ids=0, model_max_length=64).save_pretrained(folder)
    config = T5Config(vocab_size=len(pieces), d_model=16, d_kv=8, num_layers=4, num_heads=2, d_ff=32)
    T5ForConditionalGeneration(config).save_pretrained(folder)


def blender(folder: Path) -> None:
    tokenizer = BlenderbotTokenizerFast(vocab={token: i for i, token in enumerate(LETTERS)}, merges=[])
    half = {"layers": 4, "attention_heads": 2, "ffn_dim": 32}
    config = BlenderbotConfig(
        vocab_size=len(LETTERS),
        d_model=16,
        max_position_embeddings=64,
        scale_embedding=True,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        **{f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in half.items()},
    )
    BlenderbotForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def plato(folder: Path) -> None:
    """As converted: `PLATO.pt` with what generation needs besides, `config.json`, and the vocabulary."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2, "max_position_embeddings": 12}
    tokenizer = _words()
    model = PlatoModel(PlatoConfig(vocab_size=len(tokenizer), **sizes))
    generation = {"mask_embed": torch.zeros(1, 1, 16), "bow_predictor.weight": torch.zeros(17, 16)}
    torch.save(model.state_dict() | generation, folder / "PLATO.pt")
    (folder / "config.json").write_text(json.dumps({"model_type": "plato", "vocab_size": len(tokenizer)} | sizes))
    (folder / "vocab.txt").write_text("\n".join(sorted(tokenizer.vocab, key=tokenizer.vocab.__getitem__)))


BUILDERS: dict[str, Callable[[Path], None]] = {
    "bert": bert,
    "simcse": bert,
    "roberta": roberta,
    "t5": t5,
    "tod-bert": lambda folder: bert(folder, "[sys]", "[usr]"),
    "blender": blender,
    "plato": plato,
}


def build(name: str, folder: Path) -> str:
    """Write the tiny encoder of a short name into a new folder, and return it."""
    folder.mkdir(parents=True)
    set_seed(0)
    BUILDERS[name](folder)
    return str(folder)
