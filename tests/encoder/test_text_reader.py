"""Texts read by numpy have the vectors that torch gives them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from conversations.dialogue import Dialogue, Turn
from dial2vec.encoder import text_reader
from dial2vec.encoder.loading import load_encoder
from tests.students import save_student

TEXTS = ["w1 w2 w3", "w4", "w5 W6! w7 w8"]


@pytest.fixture
def saved(tiny_folder, tmp_path, monkeypatch) -> Path:
    """Folder of a saved encoder of 64 positions, which is enough here."""
    monkeypatch.setattr(text_reader, "LONGEST", 50)
    load_encoder(tiny_folder, device="cpu").save_pretrained(tmp_path / "saved")
    return tmp_path / "saved"


def test_numpy_gives_the_vectors_of_torch(saved):
    encoder, reader = load_encoder(saved, device="cpu", precision="fp32"), text_reader.text_reader(saved)
    np.testing.assert_allclose(reader.encode_utterances(TEXTS), encoder.encode_utterances(TEXTS), atol=2e-6)
    for text in TEXTS:
        whole = encoder.encode(Dialogue("", (Turn("query", text),)))
        np.testing.assert_allclose(reader.encode_dialogue(text), whole, atol=2e-6)


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("dialogue_encoder.json", {"head": True}),
        ("dialogue_encoder.json", {"pooling": "cls"}),
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"max_position_embeddings": 40}),
    ],
)
def test_an_encoder_that_numpy_cannot_compute_has_no_reader(saved, file, change):
    assert text_reader.text_reader(saved) is not None
    (saved / "checksums.json").unlink()
    content = json.loads((saved / file).read_text())
    (saved / file).write_text(json.dumps(content | change))
    assert text_reader.text_reader(saved) is None


def test_a_student_has_no_reader(tmp_path):
    assert text_reader.text_reader(Path(save_student(tmp_path / "student"))) is None
