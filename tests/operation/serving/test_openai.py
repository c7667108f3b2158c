"""OpenAI's form, and what is refused in its form; its clients are in test_clients.py."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from conversations.dialogue import Dialogue
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.protocol import Encoder

TALK = [{"role": "assistant", "content": "w1 w2"}, {"role": "user", "content": [{"type": "text", "text": "w3"}]}]
OTHER = [{"role": "user", "content": "w9"}]
PATH = {"path": "/v1/embeddings"}


def body(**values: object) -> bytes:
    return json.dumps(values).encode()


@pytest.fixture(scope="module")
def encoder(encoders) -> Encoder:
    return load_encoder(encoders / "start")


def values(done) -> list[list[float]]:
    return [item["embedding"] for item in done.json()["data"]]


def test_a_text_is_a_dialogue_of_one_turn(gate, ask, encoder):
    done = ask(gate(), body(model="dial2vec-demo", input=["w1 w2", "w3"]), **PATH)
    expected = encoder.encode([Dialogue.from_messages([{"role": "user", "content": text}]) for text in ("w1 w2", "w3")])
    np.testing.assert_allclose(values(done), expected, atol=1e-5)
    assert values(ask(gate(), body(input="w3"), **PATH))[0] == pytest.approx(expected[1].tolist(), abs=1e-5)


def test_messages_are_conversations(gate, ask, encoder):
    expected = encoder.encode([Dialogue.from_messages(TALK), Dialogue.from_messages(OTHER)])
    for key in ("messages", "input"):
        np.testing.assert_allclose(values(ask(gate(), body(**{key: TALK}), **PATH)), expected[:1], atol=1e-5)
        np.testing.assert_allclose(values(ask(gate(), body(**{key: [TALK, OTHER]}), **PATH)), expected, atol=1e-5)
    # A text is a dialogue of one turn, beside conversations too.
    np.testing.assert_allclose(values(ask(gate(), body(input=[TALK, "w9"]), **PATH)), expected, atol=1e-5)


def test_the_answer_has_openais_form_and_counts_tokens(gate, ask):
    answer = ask(gate(), body(input=["w1 w2", "w3"]), **PATH).json()
    assert {key: answer[key] for key in ("object", "model")} == {"object": "list", "model": "dial2vec-demo"}
    assert [(item["object"], item["index"]) for item in answer["data"]] == [("embedding", 0), ("embedding", 1)]
    alone = [ask(gate(), body(input=text), **PATH).json()["usage"]["prompt_tokens"] for text in ("w1 w2", "w3")]
    assert answer["usage"] == {"prompt_tokens": sum(alone), "total_tokens": sum(alone)}


def test_base64_holds_the_same_numbers_as_float32(gate, ask):
    packed = values(ask(gate(), body(input="w1", encoding_format="base64"), **PATH))[0]
    plain = values(ask(gate(), body(input="w1"), **PATH))[0]
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(packed), "<f4"), np.float32(plain))


@pytest.mark.parametrize(
    ("sent", "status", "code", "said"),
    [
        ({"input": [1, 2]}, 400, "form", "check_embedding_ctx_length=False"),
        ({"input": [[1, 2], [3]]}, 400, "form", "token numbers"),
        ({"input": [["w1"]]}, 400, "dialogue", "conversation '1'"),
        ({"input": [[]]}, 400, "dialogue", "conversation '1'"),
        ({"input": [OTHER, 1.5]}, 400, "form", "found a number (1.5)"),
        ({"input": "w1", "truncate_prompt_tokens": 8}, 400, "form", "set it to -1"),
        ({"input": []}, 400, "number", "found 0 dialogues"),
        ({"input": ["w1"] * 2049}, 400, "number", "found 2049 dialogues; expected 1 to 2048"),
        ({"input": ["w1", " "]}, 400, "dialogue", "dialogue 2: every turn is blank"),
        ({"input": {"a": 1}}, 400, "form", "expected a text, a conversation"),
        ({}, 400, "form", 'either "input"'),
        ({"input": "w1", "messages": TALK}, 400, "form", 'either "input"'),
        ({"messages": []}, 400, "number", "found 0 dialogues"),
        ({"messages": [{"role": "user"}]}, 400, "dialogue", "conversation '1'"),
        ({"messages": [TALK, [{"content": "w1"}]]}, 400, "dialogue", "conversation '2'"),
        ({"input": "w1", "model": "gpt-4"}, 404, "model_not_found", "expected the model 'dial2vec-demo'"),
        ({"input": "w1", "dimensions": 8}, 400, "dimensions", "have 16 dimensions"),
        ({"input": "w1", "encoding_format": "hex"}, 400, "form", "float or base64"),
        ({"input": "w1", "imput": 1}, 400, "form", "Did you mean 'input'?"),
        ({"input": "w1", "\ud83d": 1}, 400, "form", "found the key '?'"),
        ([], 400, "form", "expected an object"),
    ],
)
def test_what_is_refused_is_an_error_of_openais_form(gate, ask, sent, status, code, said):
    done = ask(gate(), json.dumps(sent).encode(), **PATH)
    assert done.status_code == status
    error = done.json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", code, None)
    assert said in error["message"]


def test_the_served_model_is_listed(gate, ask):
    [model] = ask(gate(), path="/v1/models", method="GET").json()["data"]
    assert (model["id"], model["object"], model["owned_by"]) == ("dial2vec-demo", "model", "dial2vec")
    assert ask(gate(), path="/v1/models/dial2vec-demo", method="GET").json()["id"] == "dial2vec-demo"
    assert ask(gate(), path="/v1/models/gpt-4", method="GET").json()["error"]["code"] == "model_not_found"
