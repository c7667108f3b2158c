from __future__ import annotations

import numpy as np
import pytest
import torch
from tokenizers import normalizers

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.vector_cache import kept_vectors
from tests.conftest import make_dialogue

DIALOGUES = [make_dialogue(f"d{i}", f"a: w{i} w{i + 1}", f"b: w{2 * i}") for i in range(10)]


@pytest.fixture
def encoder(tiny_folder):
    return DialogueEncoder.from_pretrained(tiny_folder)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr("dial2vec.encoder.vector_cache.PART", 4)


@pytest.fixture
def encoded(monkeypatch):
    """Numbers of dialogues that were encoded, call by call."""
    calls = []
    encode = DialogueEncoder.encode_tokens

    def counting(self, sequences, **options):
        calls.append(len(sequences))
        return encode(self, sequences, **options)

    monkeypatch.setattr(DialogueEncoder, "encode_tokens", counting)
    return calls


def kept(encoder, folder, dialogues=DIALOGUES):
    return kept_vectors(encoder, dialogues, folder=folder, precision="fp32")


def test_they_are_the_encoders_own(encoder, tmp_path):
    vectors = kept(encoder, tmp_path / "v")
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, encoder.encode(DIALOGUES), atol=1e-6)


def test_no_dialogues_give_an_empty_matrix(encoder, tmp_path):
    assert kept(encoder, tmp_path / "v", []).shape == (0, 16)


def test_a_second_call_encodes_nothing(encoder, tmp_path, encoded):
    first = kept(encoder, tmp_path / "v")
    assert encoded == [4, 4, 2]
    again = kept(encoder, tmp_path / "v")
    assert encoded == [4, 4, 2]
    np.testing.assert_array_equal(first, again)


def test_only_the_part_that_is_missing_is_encoded(encoder, tmp_path, encoded):
    first = kept(encoder, tmp_path / "v")
    (tmp_path / "v" / "00000008.npy").unlink()
    np.testing.assert_array_equal(kept(encoder, tmp_path / "v"), first)
    assert encoded == [4, 4, 2, 2]


def test_a_killed_run_goes_on_with_the_part_at_which_it_stopped(encoder, tmp_path, monkeypatch, encoded):
    encode = DialogueEncoder.encode_tokens

    def killed(self, sequences, **options):
        if len(encoded) == 1:
            raise KeyboardInterrupt
        return encode(self, sequences, **options)

    with monkeypatch.context() as patch:
        patch.setattr(DialogueEncoder, "encode_tokens", killed)
        with pytest.raises(KeyboardInterrupt):
            kept(encoder, tmp_path / "v")
    assert sorted(path.name for path in (tmp_path / "v").iterdir()) == ["00000000.npy", "fingerprint.json"]
    kept(encoder, tmp_path / "v")
    assert encoded == [4, 4, 2]


@pytest.mark.parametrize(
    "change",
    [
        "weights",
        "pooling",
        "max_length",
        "tokenizer",
        "code",
        "head",
        "text",
        "speaker",
        "order",
        "fewer",
        "damaged owner",
    ],
)
def test_vectors_of_another_encoder_or_other_dialogues_are_thrown_away(
    tiny_folder, tmp_path, encoded, change, monkeypatch
):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    kept(encoder, tmp_path / "v")
    encoded.clear()
    dialogues = DIALOGUES
    if change == "weights":
        torch.nn.init.zeros_(encoder.backbone.encoder.layer[3].output.dense.bias)
        encoder.backbone.encoder.layer[3].output.dense.bias.data += 1
    elif change in ("pooling", "max_length"):
        options = {"pooling": {"pooling": "mean"}, "max_length": {"max_length": 32}}[change]
        encoder = DialogueEncoder.from_pretrained(tiny_folder, **options)
    elif change == "tokenizer":
        encoder.tokens.tokenizer.backend_tokenizer.normalizer = normalizers.Replace("w", "v")
    elif change == "code":
        monkeypatch.setattr("dial2vec.encoder.vector_cache.code_hash", lambda: "new")
    elif change == "head":
        from dial2vec.encoder.head import Head

        encoder.head = Head(torch.zeros(16), torch.eye(16))
    elif change == "damaged owner":
        (tmp_path / "v" / "fingerprint.json").write_text('"')
    else:
        dialogues = {
            "text": [make_dialogue("d0", "a: w9", "b: w9"), *DIALOGUES[1:]],
            "speaker": [make_dialogue("d0", "a: w0 w1", "a: w0"), *DIALOGUES[1:]],
            "order": DIALOGUES[::-1],
            "fewer": DIALOGUES[:9],
        }[change]
    vectors = kept(encoder, tmp_path / "v", dialogues)
    assert sum(encoded) == len(dialogues)
    np.testing.assert_allclose(vectors, encoder.encode(dialogues), atol=1e-6)


def test_names_and_labels_of_dialogues_change_no_vector(encoder, tmp_path, encoded):
    kept(encoder, tmp_path / "v")
    encoded.clear()
    renamed = [make_dialogue("x", *(f"{t.speaker}: {t.text}" for t in d.turns), labels=("food",)) for d in DIALOGUES]
    kept(encoder, tmp_path / "v", renamed)
    assert encoded == []


def test_an_encoder_whose_tokenizer_is_python_code_has_the_fingerprint_of_its_copy(tmp_path):
    from transformers import CanineConfig, CanineModel, CanineTokenizer

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    CanineModel(CanineConfig(**sizes, num_hash_buckets=64)).save_pretrained(tmp_path / "canine")
    CanineTokenizer().save_pretrained(tmp_path / "canine")
    encoder = DialogueEncoder.from_pretrained(tmp_path / "canine", device="cpu")
    encoder.save_pretrained(tmp_path / "copy")
    copy = DialogueEncoder.from_pretrained(tmp_path / "copy", device="cpu")
    assert encoder.fingerprint() == copy.fingerprint()
    np.testing.assert_array_equal(kept(encoder, tmp_path / "v", DIALOGUES[:2]), copy.encode(DIALOGUES[:2]))
