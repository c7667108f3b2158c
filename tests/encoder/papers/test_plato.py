from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertModel

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.papers.plato import PlatoConfig, PlatoModel, is_plato
from dial2vec.errors import ModelError
from tests.tiny_models import build

SMALL = PlatoConfig(
    vocab_size=20, hidden_size=16, num_hidden_layers=3, num_attention_heads=2, max_position_embeddings=8
)
# The parameters of the public conversion, PLATO.pt.
CONVERTED = [
    "embed_layer_norm.{weight,bias}",
    "embedder.{token,pos,type,turn}_embedding.weight",
    "layers.{0,1,2}.{attn.linear_qkv,attn.linear_out,attn_norm,ff.linear_hidden.0,ff.linear_out,ff_norm}.{weight,bias}",
]


@pytest.fixture
def folder(tmp_path) -> Path:
    return Path(build("plato", tmp_path / "plato"))


def some_batch():
    torch.manual_seed(1)
    return {
        "input_ids": torch.randint(0, 20, (2, 7)),
        "position_ids": torch.tensor([[0, 1, 2, 0, 1, 0, 1], [0, 1, 0, 1, 0, 0, 0]]),
        "turn_ids": torch.tensor([[3, 3, 3, 2, 2, 1, 1], [2, 2, 1, 1, 0, 0, 0]]),
        "role_ids": torch.tensor([[0, 0, 0, 1, 1, 0, 0], [0, 0, 1, 1, -1, -1, -1]]),
        "attention_mask": torch.tensor([[1] * 7, [1, 1, 1, 1, 0, 0, 0]]),
    }


def spread(pattern):
    if "{" not in pattern:
        return [pattern]
    head, rest = pattern.split("{", 1)
    choices, tail = rest.split("}", 1)
    return [name for choice in choices.split(",") for name in spread(head + choice + tail)]


def test_parameters_are_named_as_in_the_public_conversion():
    assert sorted(PlatoModel(SMALL).state_dict()) == sorted(name for row in CONVERTED for name in spread(row))


def test_sizes_are_platos_unless_said_otherwise():
    with torch.device("meta"):
        n_weights = sum(weights.numel() for weights in PlatoModel(PlatoConfig()).parameters())
    # Tables (30522 + 512 + 2 + 16) x 768, a norm, and BERT's twelve layers; PLATO's 132M have generation's heads too.
    assert n_weights == 31052 * 768 + 2 * 768 + 12 * 7_087_872


def test_without_turns_it_is_bert():
    plato = PlatoModel(SMALL).eval()
    torch.nn.init.zeros_(plato.embedder.turn_embedding.weight)
    shape = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 64}
    bert = BertModel(BertConfig(vocab_size=20, max_position_embeddings=8, **shape), add_pooling_layer=False).eval()
    for weights in plato.parameters():
        torch.nn.init.normal_(weights, std=0.3) if weights.ndim == 1 else None
    tables = {"word": "token", "position": "pos", "token_type": "type"}
    mapped = {
        f"embeddings.{ours}_embeddings": getattr(plato.embedder, f"{theirs}_embedding")
        for ours, theirs in tables.items()
    }
    mapped["embeddings.LayerNorm"] = plato.embed_layer_norm
    for number, layer in enumerate(plato.layers):
        parts = {
            "attention.output.dense": layer.attn.linear_out,
            "attention.output.LayerNorm": layer.attn_norm,
            "intermediate.dense": layer.ff.linear_hidden[0],
            "output.dense": layer.ff.linear_out,
            "output.LayerNorm": layer.ff_norm,
        }
        mapped |= {f"encoder.layer.{number}.{name}": module for name, module in parts.items()}
    state = {f"{name}.{key}": value for name, module in mapped.items() for key, value in module.state_dict().items()}
    for number, layer in enumerate(plato.layers):
        for key in ("weight", "bias"):
            thirds = getattr(layer.attn.linear_qkv, key).chunk(3)
            state |= {
                f"encoder.layer.{number}.attention.self.{name}.{key}": third
                for name, third in zip(("query", "key", "value"), thirds, strict=True)
            }
    bert.load_state_dict(state)
    batch = some_batch()
    found = plato(**batch).last_hidden_state
    roles = batch.pop("role_ids").clamp(min=0)
    del batch["turn_ids"]
    expected = bert(token_type_ids=roles, **batch).last_hidden_state
    kept = batch["attention_mask"].bool()
    torch.testing.assert_close(found[kept], expected[kept], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("what", ["position_ids", "turn_ids", "role_ids"])
def test_positions_turns_and_roles_all_count(what):
    plato, batch = PlatoModel(SMALL).eval(), some_batch()
    before = plato(**batch).last_hidden_state
    batch[what][0, 0] = 1 - batch[what][0, 0].clamp(max=1)
    assert not torch.allclose(plato(**batch).last_hidden_state[0], before[0])


def test_padding_changes_nothing_and_a_third_speaker_has_the_seconds_row():
    plato, batch = PlatoModel(SMALL).eval(), some_batch()
    whole = plato(**batch).last_hidden_state
    alone = plato(**{key: value[1:, :4] for key, value in batch.items()}).last_hidden_state
    torch.testing.assert_close(whole[1, :4], alone[0], atol=1e-5, rtol=1e-5)
    batch["role_ids"][batch["role_ids"] == 1] = 2
    torch.testing.assert_close(plato(**batch).last_hidden_state, whole)


def test_dropout_acts_in_training_only():
    plato, batch = PlatoModel(SMALL), some_batch()
    assert not torch.equal(plato(**batch).last_hidden_state, plato(**batch).last_hidden_state)
    plato.eval()
    assert torch.equal(plato(**batch).last_hidden_state, plato(**batch).last_hidden_state)


def test_converted_weights_load_without_the_parts_of_generation(folder):
    converted = torch.load(folder / "PLATO.pt", weights_only=True)
    plato = PlatoModel.from_pretrained(folder)
    assert "bow_predictor.weight" in converted
    assert all(torch.equal(value, converted[name]) for name, value in plato.state_dict().items())
    assert is_plato(folder)
    assert DialogueEncoder.from_pretrained(folder).tokens.input == "plato"


def test_a_saved_encoder_holds_what_its_folder_needs(folder, tmp_path):
    DialogueEncoder.from_pretrained(folder).save_pretrained(tmp_path / "saved")
    assert json.loads((tmp_path / "saved" / "config.json").read_text())["model_type"] == "plato"
    assert len(load_file(tmp_path / "saved" / "model.safetensors")) == 6 + 4 * 12


def broken(folder, change):
    weights = torch.load(folder / "PLATO.pt", weights_only=True)
    change(weights)
    torch.save(weights, folder / "PLATO.pt")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda w: w.pop("layers.1.ff.linear_out.bias"),
            r"layers\.1\.ff\.linear_out\.bias is missing; expected \(16,\)",
        ),
        (lambda w: w.update({"embed_layer_norm.bias": torch.zeros(3)}), r"of shape \(3,\); expected \(16,\)"),
        (lambda w: w.update({"bert.pooler": torch.zeros(3)}), r"PLATO's encoder has no parameter bert\.pooler"),
    ],
)
def test_weights_of_another_shape_or_name_are_refused_by_the_parameters_name(folder, change, message):
    broken(folder, change)
    with pytest.raises(ModelError, match=message):
        DialogueEncoder.from_pretrained(folder)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"hidden_dim": 16}, r"unknown key 'hidden_dim'\..*Valid: vocab_size, hidden_size"),
        ({"hidden_size": "16"}, r"hidden_size is '16'; expected a size"),
        ({"dropout": 1}, "dropout is 1; expected a size of at least 1, or a dropout in"),
        ({"hidden_size": 15}, "hidden_size 15 does not divide among 2 attention heads"),
    ],
)
def test_wrong_sizes_are_named(folder, sizes, message):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | sizes))
    with pytest.raises(ModelError, match=message):
        DialogueEncoder.from_pretrained(folder)


def test_a_folder_without_weights_says_which_files_would_do(folder):
    (folder / "PLATO.pt").unlink()
    with pytest.raises(ModelError, match=r"holds no weights; expected model\.safetensors or PLATO\.pt"):
        DialogueEncoder.from_pretrained(folder)
