from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.pooling import pool, separator_means
from dial2vec.errors import Dial2vecError, ModelError
from tests.conftest import make_dialogue

THREE = make_dialogue("x", "a: w1 w2", "b: w3", "a: w4 w5 w6")
TWO = make_dialogue("y", "b: w7", "a: w8 w9")


def test_separator_means_are_those_of_the_separators_that_are_no_padding():
    ids = torch.tensor([[1, 5, 3, 6, 3, 0], [1, 5, 6, 3, 3, 3], [1, 5, 0, 3, 0, 0], [3, 3, 3, 3, 3, 3]])
    roles = torch.tensor([[0, 0, 0, 1, 1, -1], [0, 0, 0, 0, -1, -1], [0, 0, -1, -1, -1, -1], [-1] * 6])
    hidden = torch.randn(4, 6, 8, generator=torch.Generator().manual_seed(0))
    expected = torch.stack(
        [
            (hidden[0, 2] + hidden[0, 4]) / 2,
            hidden[1, 3],
            (hidden[2, 0] + hidden[2, 1]) / 2,  # No separator: the mean of all tokens.
            torch.zeros(8),  # No token at all.
        ]
    )
    hidden[roles < 0] = math.nan
    torch.testing.assert_close(separator_means(hidden, ids == 3, roles), expected)
    found = pool(hidden, roles, torch.zeros_like(roles), how="separators", separators=ids == 3)
    torch.testing.assert_close(found, expected)


def test_pooling_by_separators_asks_which_they_are():
    with pytest.raises(Dial2vecError, match="but found no mask"):
        pool(torch.zeros(1, 2, 4), torch.zeros(1, 2), torch.zeros(1, 2), how="separators")


def test_the_mean_of_the_turns_means_equals_the_definition():
    generator = torch.Generator().manual_seed(0)
    turns = torch.tensor([[0, 0, 0, 1, 2, 2, 0, 0], [3, 3, 2, 1, 1, 1, 1, 1], [7] * 8, [1, 1, 2, 2, 0, 0, 0, 0]])
    roles = torch.tensor([[0, 0, 0, 1, 0, 0, -1, -1], [0, 0, 1, 0, 0, 0, 0, 0], [2] * 8, [-1] * 8])
    hidden = torch.randn(4, 8, 5, generator=generator)
    found = pool(hidden, roles, turns, how="turns")
    for row in range(3):
        numbers = {int(turn) for turn, role in zip(turns[row], roles[row], strict=True) if role >= 0}
        means = [hidden[row][(turns[row] == number) & (roles[row] >= 0)].mean(0) for number in numbers]
        torch.testing.assert_close(found[row], torch.stack(means).mean(0))
    assert not found[3].any()


def test_separators_of_an_input_without_any_are_refused_and_a_dialogue_of_one_turn_is_not(tiny_folder):
    for input in ("text", "auto"):
        with pytest.raises(
            ModelError, match=r"encoder\.pooling is separators, but input text puts none .* Set encoder"
        ):
            DialogueEncoder.from_pretrained(tiny_folder, input=input, pooling="separators")
    one = make_dialogue("z", "a: w1 w2")
    encoder = DialogueEncoder.from_pretrained(tiny_folder, input="separators", pooling="separators")
    mean = DialogueEncoder.from_pretrained(tiny_folder, input="separators", pooling="mean")
    np.testing.assert_allclose(encoder.encode(one), mean.encode(one), atol=1e-6)


@pytest.mark.parametrize(
    ("input", "places"),
    [
        ("closed", [3, 5, 9]),  # [CLS] w1 w2 [SEP] w3 [SEP] w4 w5 w6 [SEP]
        ("separators", [3, 5]),
        ("turns", [3, 6, 11]),  # [CLS] w1 w2 [SEP] [CLS] w3 [SEP] [CLS] w4 w5 w6 [SEP]
    ],
)
def test_an_encoder_pools_its_separators(tiny_folder, input, places):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, input=input, pooling="separators")
    given = encoder.tokens.pad(encoder.tokens.dialogues([THREE]))
    with torch.no_grad():
        hidden = encoder.hidden_states(given)
    found = encoder.pooled(hidden.bfloat16(), given)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found[0], hidden.bfloat16()[0, places].float().mean(0))
    np.testing.assert_allclose(encoder.encode([TWO, THREE])[1], hidden[0, places].mean(0), atol=1e-5)


def test_utterances_and_speakers_are_means_of_tokens_also_where_dialogues_are_means_of_separators(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, input="closed", pooling="separators")
    mean = DialogueEncoder.from_pretrained(tiny_folder, input="closed", pooling="mean")
    texts = ["w1 w2 w3", "w4"]
    np.testing.assert_array_equal(encoder.encode_utterances(texts), mean.encode_utterances(texts))
    np.testing.assert_array_equal(encoder.encode(THREE, output="speakers"), mean.encode(THREE, output="speakers"))


def test_the_pooling_is_saved_and_an_encoder_without_separators_is_refused(tiny_folder, tmp_path):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, pooling="separators", input="closed")
    encoder.save_pretrained(tmp_path / "saved")
    again = DialogueEncoder.from_pretrained(tmp_path / "saved")
    assert again.pooling == "separators"
    np.testing.assert_array_equal(again.encode(THREE), encoder.encode(THREE))
    encoder.tokens.tokenizer.sep_token = None
    with pytest.raises(ModelError, match=r"tokenizer of BertModel has no separator; expected .* Set encoder\.pooling"):
        DialogueEncoder(encoder.backbone, encoder.tokens.tokenizer, encoder.options)
