"""A model that commit ba89909 saved still gives the same vectors: the folder is built here, file by file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from conversations.dialogue import Dialogue, Turn
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ModelError

D = 4
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "hello", "taxi", "please", "where", "to"]
TALK = Dialogue("d", (Turn("a", "hello where to"), Turn("b", "taxi please"), Turn("a", "to where hello")))
SETTINGS = """{
  "name": "all-MiniLM-L6-v2",
  "max_length": 16,
  "input": "separators",
  "last_turns": null,
  "pooling": "turns",
  "turn_embeddings": true,
  "role_embeddings": true,
  "hierarchy": "hssa",
  "head": true
}
"""
CONFIG = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "vocab_size": len(WORDS),
    "hidden_size": D,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": D,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
}
TOKENIZER = {
    "version": "1.0",
    "added_tokens": [
        {"id": i, "content": word, "special": True, "single_word": False, "lstrip": False, "rstrip": False}
        | {"normalized": False}
        for i, word in enumerate(WORDS[:4])
    ],
    "pre_tokenizer": {"type": "Whitespace"},
    "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {word: i for i, word in enumerate(WORDS)}},
}
TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "model_max_length": 16,
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
}
LINEAR = {"weight": (D, D), "bias": (D,)}
NORM = {"weight": (D,), "bias": (D,)}
LAYER = "encoder.layer.0."
BACKBONE = {
    "embeddings.word_embeddings": {"weight": (len(WORDS), D)},
    "embeddings.position_embeddings": {"weight": (16, D)},
    "embeddings.token_type_embeddings": {"weight": (2, D)},
    "embeddings.LayerNorm": NORM,
    **{f"{LAYER}attention.self.{name}": LINEAR for name in ("query", "key", "value")},
    **{f"{LAYER}{name}": LINEAR for name in ("attention.output.dense", "intermediate.dense", "output.dense")},
    **{f"{LAYER}{name}": NORM for name in ("attention.output.LayerNorm", "output.LayerNorm")},
    "pooler.dense": LINEAR,
}
HIERARCHY = {
    **dict.fromkeys(("inner_norm", "inter_norm", "ff_norm"), NORM),
    **{name: {"weight": (3 * D, D), "bias": (3 * D,)} for name in ("inner.qkv", "inter.qkv")},
    **dict.fromkeys(("inner_out", "inter_out"), LINEAR),
    "place": {"weight": (512, D)},
    "ff_hidden": {"weight": (4 * D, D), "bias": (4 * D,)},
    "ff_out": {"weight": (D, 4 * D), "bias": (D,)},
}
HIERARCHY_METADATA = {"hierarchy": "hssa", "width": str(D), "heads": "2", "dropout": "0.1"}
# What commit ba89909 made of the folder below.
VECTOR = [-0.578328, -0.518292, 0.494682, 0.390128]
TURNS = [
    [-0.575003, -0.524336, 0.493585, 0.388351],
    [-0.580362, -0.51464, 0.495321, 0.391129],
    [-0.579647, -0.515778, 0.495137, 0.390925],
]
LONG = [-0.578621, -0.517371, 0.494879, 0.390666]


def weights(modules: dict[str, dict[str, tuple[int, ...]]]) -> dict[str, np.ndarray]:
    shapes = {f"{module}.{name}": shape for module, parts in modules.items() for name, shape in parts.items()}
    return {key: drawn(seed, *shape) for seed, (key, shape) in enumerate(shapes.items())}


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def build(folder: Path) -> Path:
    folder.mkdir()
    (folder / "dialogue_encoder.json").write_text(SETTINGS)
    for name, content in (("config", CONFIG), ("tokenizer", TOKENIZER), ("tokenizer_config", TOKENIZER_CONFIG)):
        (folder / f"{name}.json").write_text(json.dumps(content))
    save_file(weights(BACKBONE), folder / "model.safetensors", metadata={"format": "pt"})
    tables = {"turn": drawn(100, 512, D), "role": drawn(101, 16, D)}
    save_file(tables, folder / "dialogue_tables.safetensors")
    save_file(weights(HIERARCHY), folder / "dialogue_hierarchy.safetensors", metadata=HIERARCHY_METADATA)
    save_file({"mean": drawn(102, D) / 10, "weight": drawn(103, D, D)}, folder / "dialogue_head.safetensors")
    return folder


def test_a_saved_model_gives_the_vectors_that_it_always_gave(tmp_path):
    encoder = DialogueEncoder.from_pretrained(build(tmp_path / "model"), device="cpu")
    np.testing.assert_allclose(encoder.encode(TALK), VECTOR, atol=1e-5)
    np.testing.assert_allclose(encoder.encode(TALK, output="turns"), TURNS, atol=1e-5)
    # Four windows: the encoder reads 16 tokens at once.
    long = Dialogue("long", TALK.turns * 5)
    np.testing.assert_allclose(encoder.encode(long), LONG, atol=1e-5)


def test_a_saved_model_is_saved_again_with_the_same_settings_and_weights(tmp_path):
    folder = build(tmp_path / "model")
    DialogueEncoder.from_pretrained(folder).save_pretrained(tmp_path / "again")
    assert (tmp_path / "again" / "dialogue_encoder.json").read_text() == SETTINGS
    for path in sorted(folder.glob("dialogue_*.safetensors")):
        before, after = load_file(path), load_file(tmp_path / "again" / path.name)
        assert before.keys() == after.keys()
        assert all(np.array_equal(before[key], after[key]) for key in before), path.name


def test_settings_that_lack_an_option_are_one_sentence(tmp_path):
    folder = build(tmp_path / "model")
    settings = json.loads(SETTINGS)
    del settings["input"], settings["head"]
    (folder / "dialogue_encoder.json").write_text(json.dumps(settings))
    with pytest.raises(ModelError, match=r"encoder\.json lacks input, head; expected .* Save the encoder again"):
        DialogueEncoder.from_pretrained(folder)
