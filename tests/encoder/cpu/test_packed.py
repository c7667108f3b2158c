"""Packed bf16 layers give the vectors of the encoder itself, and follow its weights."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel, RobertaConfig, RobertaModel

from conversations.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder, network
from dial2vec.encoder.cpu.packed import PackedLayers, attention_output, can_pack, frozen_layers, position_bias
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.vector_cache import encoder_fingerprint

SIZES = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 70,
}
KINDS = {"bert": (BertModel, BertConfig), "roberta": (RobertaModel, RobertaConfig), "mpnet": (MPNetModel, MPNetConfig)}


packs = pytest.mark.skipif(
    not torch.ops.mkldnn._is_mkldnn_bf16_supported(), reason="oneDNN has no bf16 on this processor"
)


def cosines(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    return (ours * theirs).sum(-1) / np.linalg.norm(ours, axis=-1) / np.linalg.norm(theirs, axis=-1)


@pytest.fixture
def conversation(dialogue: object) -> Dialogue:
    return dialogue("d", "a: w1 w2 w3", "b: w4 w5 w6 w7 w8", "a: w9")  # type: ignore[operator]


@pytest.fixture
def short(dialogue: object) -> Dialogue:
    return dialogue("e", "a: w1", "b: w20")  # type: ignore[operator]


@packs
@pytest.mark.parametrize("kind", KINDS)
def test_the_layers_of_each_kind_give_its_last_states(kind: str) -> None:
    model, configuration = KINDS[kind]
    torch.manual_seed(0)
    backbone = model(configuration(**SIZES)).eval()
    for weights in backbone.parameters():
        # As they are trained: large enough for a wrong order of heads, biases or positions to show.
        weights.data.normal_(std=0.15) if weights.ndim > 1 else weights.data.add_(torch.randn_like(weights) * 0.1)
    ids = torch.randint(5, 50, (3, 21))
    attention = torch.ones_like(ids)
    attention[1, 12:] = 0

    with torch.inference_mode():
        expected = backbone(input_ids=ids, attention_mask=attention).last_hidden_state
        embedded = backbone.embeddings(input_ids=ids)
        found = PackedLayers(backbone, 3)(embedded, attention, position_bias(backbone, embedded))

    kept = attention.bool()
    assert found.dtype == torch.bfloat16
    assert cosines(found[kept].float().numpy(), expected[kept].numpy()).min() > 0.999


@packs
def test_an_encoder_reads_by_them_in_bf16_only(
    tiny_folder: str, conversation: Dialogue, short: Dialogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    expected = encoder.encode([conversation, short])
    assert encoder.network._packed is None
    monkeypatch.setattr(network, "has_bf16", lambda device: True)

    encoder.network.precision = "auto"
    found = encoder.encode([conversation, short])

    assert encoder.network._packed is not None
    assert found.dtype == np.float32
    assert cosines(found, expected).min() > 0.999
    turns = encoder.encode([conversation], output="turns")[0]
    encoder.network.precision = "fp32"
    assert cosines(turns, encoder.encode([conversation], output="turns")[0]).min() > 0.999


def written_in_place(encoder: DialogueEncoder) -> None:
    with torch.no_grad():
        encoder.backbone.encoder.layer[0].output.dense.weight.mul_(300)


def written_as_data(encoder: DialogueEncoder) -> None:
    encoder.backbone.encoder.layer[0].output.dense.weight.data.mul_(300)


def loaded(encoder: DialogueEncoder) -> None:
    backbone = encoder.backbone
    backbone.load_state_dict({name: value * 3 for name, value in backbone.state_dict().items()})


def trained(*, in_training_mode: bool, **kind: bool) -> Callable[[DialogueEncoder], None]:
    """Return a training of a few steps; a fused step of AdamW, as Trainer takes, leaves no trace in `_version`."""

    def train(encoder: DialogueEncoder) -> None:
        optimiser = torch.optim.AdamW(encoder.backbone.parameters(), lr=0.3, **kind)
        encoder.train(in_training_mode)
        batch = encoder.tokens.pad(encoder.tokens.utterances_alone(["w1 w2", "w3"]))
        for _ in range(3):
            (encoder.hidden_states(batch) ** 2)[..., :3].sum().backward()
            optimiser.step()
        encoder.eval()

    return train


@pytest.fixture
def reading_in_bf16(tiny_folder: str, monkeypatch: pytest.MonkeyPatch) -> DialogueEncoder:
    monkeypatch.setattr(network, "has_bf16", lambda device: True)
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.network.precision = "bf16"
    return encoder


@packs
@pytest.mark.parametrize(
    "change",
    [
        written_in_place,
        written_as_data,
        loaded,
        trained(in_training_mode=True, fused=True),
        trained(in_training_mode=False, fused=True),
        trained(in_training_mode=True, foreach=True),
    ],
)
def test_changed_weights_are_packed_again(
    reading_in_bf16: DialogueEncoder, conversation: Dialogue, change: Callable[[DialogueEncoder], None]
) -> None:
    encoder = reading_in_bf16
    before = encoder.encode([conversation])

    change(encoder)
    after = encoder.encode([conversation])

    encoder.network.precision = "fp32"
    assert cosines(after, encoder.encode([conversation])).min() > 0.999
    assert cosines(after, before).max() < 0.999


@packs
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda encoder: pickle.loads(pickle.dumps(encoder))])
def test_a_copy_packs_its_layers_itself(
    reading_in_bf16: DialogueEncoder, conversation: Dialogue, copied: Callable[[DialogueEncoder], DialogueEncoder]
) -> None:
    expected = reading_in_bf16.encode([conversation])
    other = copied(reading_in_bf16)
    written_in_place(other)
    assert cosines(other.encode([conversation]), expected).max() < 0.999
    np.testing.assert_array_equal(reading_in_bf16.encode([conversation]), expected)


def gradients(encoder: DialogueEncoder, conversations: list[Dialogue]) -> dict[str, torch.Tensor]:
    encoder.zero_grad()
    batch = encoder.tokens.pad(encoder.tokens.dialogues(conversations))
    torch.manual_seed(0)
    with torch.autocast("cpu", torch.bfloat16):
        (encoder.hidden_states(batch) * batch.attention[..., None]).square()[..., :3].sum().backward()
    return {name: weights.grad for name, weights in encoder.named_parameters() if weights.grad is not None}


@pytest.mark.parametrize(("share", "packed"), [(0, None), pytest.param(0.5, 2, marks=packs)])
def test_training_reads_its_frozen_layers_by_them(
    tiny_folder: str,
    conversation: Dialogue,
    short: Dialogue,
    share: float,
    packed: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.network.freeze_bottom(share)
    counted = []
    encoder.backbone.register_forward_pre_hook(
        lambda _, __, named: counted.append(int(named["attention_mask"].sum())), with_kwargs=True
    )
    found = gradients(encoder.train(), [conversation, short])
    layers = encoder.network._packed
    assert (layers and layers.count) == packed
    assert len(encoder.backbone.encoder.layer) == 4
    assert ("network.backbone.encoder.layer.1.output.dense.weight" in found) == (share == 0)
    monkeypatch.setattr(network, "frozen_layers", lambda backbone: 0)
    expected = gradients(encoder, [conversation, short])
    assert encoder.network._packed is None
    assert found.keys() == expected.keys()
    assert counted[0] == counted[1]
    for name, gradient in expected.items():
        if name.endswith("key.bias"):
            # It moves all scores of a query alike, so its gradient is rounding alone.
            continue
        assert cosines(found[name].flatten().numpy(), gradient.flatten().numpy()) > 0.99, name


def test_a_layer_below_which_something_learns_is_not_read_by_them(tiny_folder: str, conversation: Dialogue) -> None:
    encoder = DialogueEncoder.from_pretrained(tiny_folder, role_embeddings=True)
    encoder.network.freeze_bottom(0.5)
    assert frozen_layers(encoder.train().backbone) == 2
    found = gradients(encoder, [conversation])
    assert encoder.network._packed is None
    assert found["network.role_table.weight"].abs().sum() > 0


def test_a_layer_is_frozen_only_above_frozen_ones_and_without_dropout(tiny_folder: str) -> None:
    backbone = DialogueEncoder.from_pretrained(tiny_folder).backbone
    assert frozen_layers(backbone.eval().requires_grad_(False)) == 4
    backbone.encoder.layer[2].train()
    assert frozen_layers(backbone) == 2
    backbone.embeddings.word_embeddings.requires_grad_(True)
    assert frozen_layers(backbone) == 0
    # A bias of positions is a weight of every layer.
    assert frozen_layers(MPNetModel(MPNetConfig(**SIZES)).eval().requires_grad_(False)) == 0


@packs
def test_other_layers_are_not_packed(tiny_folder: str) -> None:
    backbone = DialogueEncoder.from_pretrained(tiny_folder).backbone
    assert can_pack(backbone)
    for name, value in (("hidden_act", "relu"), ("model_type", "deberta"), ("is_decoder", True)):
        before = getattr(backbone.config, name)
        setattr(backbone.config, name, value)
        assert not can_pack(backbone)
        setattr(backbone.config, name, before)


def test_commands_read_in_the_precision_of_the_machine(tiny_folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = load_encoder(tiny_folder)
    assert isinstance(encoder, DialogueEncoder)
    assert encoder.network.precision == "auto"
    assert DialogueEncoder.from_pretrained(tiny_folder).network.precision == "fp32"
    marks = []
    for has in (True, False):
        monkeypatch.setattr(network, "has_bf16", lambda device, has=has: has)
        marks.append(encoder_fingerprint(encoder))
    # Vectors of the two are not mixed; those in fp32 are the same as ever.
    assert marks[0] != marks[1] == encoder_fingerprint(DialogueEncoder.from_pretrained(Path(tiny_folder)))


def test_a_processor_without_bf16_reads_as_before(
    tiny_folder: str, conversation: Dialogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    with torch.autocast("cpu", torch.bfloat16):
        found = encoder.encode([conversation])
    assert encoder.network._packed is None
    assert cosines(found, encoder.encode([conversation])).min() > 0.999


def plain_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, bias: torch.Tensor | None, mask: torch.Tensor
) -> torch.Tensor:
    """Softmax over the tokens that are no padding, in double precision."""
    scores = queries.double() @ keys.double().transpose(2, 3)
    if bias is not None:
        scores += bias.double()
    weights = scores.masked_fill(mask.transpose(2, 3) == 0, float("-inf")).softmax(-1)
    return (weights @ values.double()).transpose(1, 2)


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("scores_at_once", [1, 200, 10**6])
def test_attention_is_that_of_softmax(with_bias: bool, scores_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dial2vec.encoder.cpu.packed.SCORES", scores_at_once)
    queries, keys, values = torch.randn(3, 5, 2, 7, 8, generator=torch.Generator().manual_seed(1)).bfloat16()
    mask = torch.ones(5, 1, 7, 1).bfloat16()
    mask[1, :, 4:] = mask[3, :, 1:] = 0
    bias = torch.linspace(-3, 3, 2 * 7 * 7).view(1, 2, 7, 7).bfloat16() if with_bias else None
    found = attention_output(queries, keys, values, bias, mask)
    expected = plain_attention(queries, keys, values, bias, mask)
    assert (found.shape, found.dtype) == ((5, 7, 2, 8), torch.bfloat16)
    torch.testing.assert_close(found.double(), expected, atol=0.04, rtol=0.02)


def test_sums_of_values_do_not_leave_the_range_of_their_type() -> None:
    # Exponentials of 81 are in range, and their sums with values of 2,000 are not.
    queries, keys = torch.full((1, 1, 4, 8), 1.0).bfloat16(), torch.full((1, 1, 4, 8), 81 / 8).bfloat16()
    values, mask = torch.full((1, 1, 4, 8), 2000.0).bfloat16(), torch.ones(1, 1, 4, 1).bfloat16()
    assert (attention_output(queries, keys, values, None, mask) == values.transpose(1, 2)).all()


@pytest.mark.parametrize("scale", [-1, 1])
@pytest.mark.parametrize("with_bias", [False, True])
def test_a_head_whose_exponentials_leave_the_range_is_computed_as_usual(scale: int, with_bias: bool) -> None:
    queries, keys, values = torch.randn(3, 4, 3, 6, 8, generator=torch.Generator().manual_seed(2)).bfloat16()
    # Scores near 150 or -150, whose exponentials are infinite or 0 in bf16.
    keys[:, 1] += 150 * scale * queries[:, 1].mean(1, keepdim=True)
    queries[:, 1] = queries[:, 1] * 0.01 + queries[:, 1].mean(1, keepdim=True)
    mask = torch.ones(4, 1, 6, 1).bfloat16()
    mask[2, :, 3:] = 0
    bias = torch.full((1, 3, 6, 6), 0.5).bfloat16() if with_bias else None
    found = attention_output(queries, keys, values, bias, mask)
    assert (queries[:, 1] @ keys[:, 1].transpose(1, 2)).abs().max() > 100
    # Scores of 100 to 400 have steps of 1 or 2 in bf16.
    expected = plain_attention(queries, keys, values, bias, mask)
    torch.testing.assert_close(found[:, :, [0, 2]].double(), expected[:, :, [0, 2]], atol=0.04, rtol=0.02)
    rounded = queries @ keys.transpose(2, 3)
    rounded = (rounded if bias is None else rounded + bias).double()
    weights = rounded.masked_fill(mask.transpose(2, 3) == 0, float("-inf")).softmax(-1)
    usual = (weights @ values.double()).transpose(1, 2)
    assert torch.isfinite(found).all()
    torch.testing.assert_close(found.double(), usual, atol=0.04, rtol=0.02)
