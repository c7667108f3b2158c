from __future__ import annotations

import asyncio
import json
import threading

import httpx
import numpy as np
import pytest

from conversations.dialogue import dialogue_from_record
from dial2vec.config import Serve
from dial2vec.encoder.loading import load_encoder
from dial2vec.operation.serving.gate import Gate
from dial2vec.operation.serving.readers import EncoderReader
from tests.operation.serving.stub_worker import StubReader

HELLO = {"turns": [{"speaker": "a", "text": "w1 w2"}, {"speaker": "b", "text": "w3"}]}
THREE = {"dialogue_id": "d2", "turns": [{"speaker": s, "text": f"w{n}"} for n, s in enumerate("abcab")]}
LONG = {"turns": [{"speaker": "a", "text": "w1 " * 100}]}


def inputs(*dialogues: object) -> bytes:
    return json.dumps({"inputs": dialogues}).encode()


def text(value: object) -> dict[str, object]:
    return {"dialogue_id": "d7", "turns": [{"speaker": "a", "text": value}]}


def test_the_answer_holds_the_vectors_of_the_encoder_in_input_order(gate, ask, encoders):
    done = ask(gate(), inputs(HELLO, THREE, LONG))
    assert done.status_code == 200
    dialogues = [dialogue_from_record({"dialogue_id": "d", "turns": one["turns"]}) for one in (HELLO, THREE, LONG)]
    expected = load_encoder(encoders / "start").encode(dialogues)
    np.testing.assert_allclose(done.json()["predictions"], expected, atol=1e-5)


def test_a_batch_gives_what_its_dialogues_give_alone(gate, ask):
    together = ask(gate(), inputs(HELLO, THREE)).json()["predictions"]
    alone = [ask(gate(), inputs(one)).json()["predictions"][0] for one in (HELLO, THREE)]
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_renaming_the_speakers_changes_no_vector(gate, ask):
    renamed = {"turns": [{"speaker": f"{turn['speaker']}!", "text": turn["text"]} for turn in THREE["turns"]]}
    assert ask(gate(), inputs(renamed)).json() == ask(gate(), inputs(THREE)).json()


def test_speakers_may_be_numbered_and_other_keys_make_no_difference(gate, ask):
    numbered = {"labels": ["x"], "turns": [turn | {"speaker": "ab".index(turn["speaker"])} for turn in HELLO["turns"]]}
    assert ask(gate(), inputs(numbered)).json() == ask(gate(), inputs(HELLO)).json()


def test_the_answer_says_how_many_dialogues_were_cut(gate, ask):
    assert ask(gate(), inputs(LONG, HELLO, LONG)).headers["x-dialogues-long"] == "2"
    assert "x-dialogues-long" not in ask(gate(), inputs(HELLO)).headers


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the body is not JSON"),
        (b'{"inputs": [', "the body is not JSON"),
        (b'{"inputs": "\xff"}', "not UTF-8 (byte 12)"),
        (b"[" * 200_000, "nesting without end"),
        (b'{"inputs": [%s]}' % (b"9" * 5000), "thousands of digits"),
        (b"[]", "expected {"),
        (b"null", "expected {"),
        (b'{"inputs": null}', "expected {"),
        (b'{"instances": []}', "expected {"),
        (b'{"inputs": [], "params": {}}', "no other keys"),
        (inputs(), "found 0 dialogues; expected 1 to 2048"),
        (inputs(*[HELLO] * 2049), "found 2049 dialogues"),
        (inputs(HELLO, "hello"), "dialogue 2: expected an object"),
        (inputs({"dialogue_id": "d7"}), "dialogue 1 ('d7'): the key 'turns' is missing"),
        (inputs({"turns": []}), "dialogue 1: it has no turns"),
        (inputs(text(" \n")), "dialogue 1 ('d7'): every turn is blank"),
        (inputs(text(None)), "'text' must be a string, found null"),
        (inputs(text(float("nan"))), "found a number (NaN)"),
        (inputs(text("\ud83d")), "half of a character"),
        (inputs({"turns": [{"speaker": " ", "text": "w1"}]}), "'speaker' is blank"),
    ],
)
def test_a_body_that_is_no_dialogues_is_a_400_with_a_reason(gate, ask, content, said):
    done = ask(gate(), content)
    assert done.status_code == 400
    assert done.json()["error_code"] == "BAD_REQUEST"
    assert said in done.json()["message"]
    assert len(done.content) < 300
    assert set(done.json()) == {"error_code", "message"}


@pytest.mark.parametrize("kind", ["text/plain", "text/csv", "application/json; charset=latin-1", " "])
def test_another_content_type_is_a_415(gate, ask, kind):
    done = ask(gate(), inputs(HELLO), kind=kind)
    assert (done.status_code, done.json()["error_code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert "expected application/json" in done.json()["message"]


def test_json_may_say_that_it_is_utf_8(gate, ask):
    assert ask(gate(), inputs(HELLO), kind='application/json; charset="UTF-8"').status_code == 200


def test_other_methods_and_paths_are_refused(gate, ask):
    wrong = ask(gate(), method="GET")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    for path in ("/docs", "/v1/chat/completions", "/../etc/passwd"):
        assert ask(gate(), path=path, method="GET").status_code == 404


@pytest.mark.parametrize("chunked", [True, False])
def test_a_body_over_the_limit_is_refused(gate, ask, chunked):
    async def chunks():
        for _ in range(3):
            yield inputs(HELLO)

    done = ask(gate(max_body_bytes=150), chunks() if chunked else inputs(HELLO, HELLO, HELLO))
    assert done.status_code == 413
    assert done.json()["message"] == "the body is over the limit of 150 bytes; send fewer dialogues at a time."


def test_health_and_version_answer(gate, ask):
    assert ask(gate(), path="/health", method="GET").status_code == 200
    assert ask(gate(), path="/ping", method="GET").status_code == 200
    about = ask(gate(), path="/version", method="GET").json()
    assert about.items() >= {"model": "dial2vec-demo", "version": "1", "alias": "champion", "dimension": 16}.items()
    assert about["max_tokens"] == 64


def test_a_failing_encoder_is_a_500_without_a_path_or_a_trace(gate, ask, monkeypatch, caplog):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(EncoderReader, "encode", broken)
    done = ask(gate(), inputs(HELLO))
    assert done.status_code == 500
    assert done.json()["message"] == "the encoding failed; the server's log says why."
    assert "/secret/path" in caplog.text


class Waiting(StubReader):
    """Stands in for an encoder: it goes on when it is told to."""

    def __init__(self) -> None:
        super().__init__("1")
        self.go_on, self.calls = threading.Event(), 0

    def encode(self, pieces):
        self.calls += 1
        self.go_on.wait(30)
        return super().encode(pieces)


def test_while_one_is_encoded_health_answers_others_wait_and_too_many_are_refused():
    reader = Waiting()
    gate = Gate(reader, about={}, settings=Serve(max_waiting=2))
    body = inputs(text("0"))

    async def scenario() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=gate), base_url="http://localhost") as client:

            def post():
                return client.post("/invocations", content=body, headers={"content-type": "application/json"})

            under_way = [asyncio.create_task(post()) for _ in range(2)]
            while not reader.calls:
                await asyncio.sleep(0.01)
            assert (await client.get("/health")).status_code == 200
            assert (await client.get("/livez")).status_code == 200
            refused = await post()
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert (await client.get("/readyz")).status_code == 503
            assert reader.calls == 1
            reader.go_on.set()
            assert [done.status_code for done in await asyncio.gather(*under_way)] == [200, 200]
            assert (await client.get("/readyz")).status_code == 200
            assert (await post()).status_code == 200

    asyncio.run(scenario())


def test_a_leaving_server_answers_and_asks_to_connect_anew(gate, ask):
    leaving = gate()
    leaving.leaving = True
    for done in (ask(leaving, inputs(HELLO)), ask(leaving, b"?"), ask(leaving, path="/health", method="GET")):
        assert done.headers["connection"] == "close"
