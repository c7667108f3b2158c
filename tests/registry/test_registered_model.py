from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from mlflow.exceptions import MlflowException

from dial2vec.encoder import StudentEncoder
from dial2vec.encoder.loading import load_encoder
from dial2vec.registry.registered_model import DialogueRecord, DialogueVectors

ROOM = {"dialogue_id": "d1", "turns": [{"speaker": "guest", "text": "w1 w2"}, {"speaker": "desk", "text": "w3 w4"}]}


@pytest.fixture(scope="module")
def model(tiny_folder: str) -> DialogueVectors:
    model = DialogueVectors()
    model.load_context(SimpleNamespace(artifacts={"encoder": tiny_folder}))
    return model


def refused(model: DialogueVectors, dialogues: list[object]) -> str:
    with pytest.raises(MlflowException) as caught:
        model.predict(None, dialogues)
    assert caught.value.error_code in ("INVALID_PARAMETER_VALUE", "BAD_REQUEST")
    return str(caught.value)


def test_it_returns_the_vectors_of_the_encoder_in_input_order(model, tiny_folder, dialogue):
    other = {"turns": [{"speaker": "a", "text": "w9"}]}
    vectors = model.predict(None, [ROOM, other])
    encoder = load_encoder(tiny_folder)
    expected = encoder.encode([dialogue("d1", "guest: w1 w2", "desk: w3 w4"), dialogue("d2", "a: w9")])
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert isinstance(vectors[0][0], float)


def test_records_may_be_objects_as_well(model):
    assert model.predict(None, [DialogueRecord(**ROOM)]) == model.predict(None, [ROOM])


def test_no_dialogues_at_all_are_refused(model):
    assert "send at least one" in refused(model, [])


def test_a_dialogue_without_turns_is_named(model):
    assert refused(model, [ROOM, {"dialogue_id": "d7", "turns": []}]) == ("dialogue 2 ('d7'): it has no turns")


def test_blank_text_only_is_refused(model):
    blank = {"turns": [{"speaker": "a", "text": "  "}, {"speaker": "b", "text": "\n"}]}
    assert refused(model, [blank]).endswith("dialogue 1: every turn is blank")


@pytest.mark.parametrize("wrong", ["hello", {"turns": "hello"}, {"turns": [{"speaker": "a"}]}, {"dialogue_id": "d1"}])
def test_what_is_no_dialogue_is_refused_by_its_type(model, wrong):
    assert "Failed to validate data against type hint" in refused(model, [wrong])


def test_a_failing_encoder_shows_no_more_than_its_kind_of_error():
    class Broken:
        def encode(self, dialogues):
            raise RuntimeError("/secret/path")

    model = DialogueVectors()
    model.encoder = Broken()
    with pytest.raises(MlflowException, match="encoding failed") as caught:
        model.predict(None, [ROOM])
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_student_is_served_as_well(student_folder, dialogue):
    model = DialogueVectors()
    model.load_context(SimpleNamespace(artifacts={"encoder": student_folder}))
    expected = StudentEncoder.from_pretrained(student_folder).encode([dialogue("d1", "guest: w1 w2", "desk: w3 w4")])
    np.testing.assert_allclose(model.predict(None, [ROOM]), expected, atol=1e-6)
