"""OpenAI's form: clients that people use against a running server, the ranking, and what is refused."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from conversations.dialogue import Dialogue
from dial2vec.addresses import listen
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.protocol import Encoder
from dial2vec.operation.serving.server import serve
from dial2vec.operation.serving.tokens import AccessTokens

TOKEN, MODEL = "a-token-of-this-test", "dial2vec-demo"
TEXTS = ["w1 w2", "w3"]
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
    expected = vectors(encoder, *TEXTS)
    np.testing.assert_allclose(values(done), expected, atol=1e-5)
    assert values(ask(gate(), body(input="w3"), **PATH))[0] == pytest.approx(expected[1].tolist(), abs=1e-5)


def test_messages_are_conversations(gate, ask, encoder):
    expected = vectors(encoder, TALK, OTHER)
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
        ({"query": " ", "documents": ["w1"]}, 400, "form", 'expected "query"'),
        ({"query": "w1", "documents": TALK}, 400, "form", 'expected "query"'),
        ({"query": "w1", "documents": []}, 400, "number", "found 0 dialogues"),
        ({"query": "w1", "documents": ["w1"], "top_n": 0}, 400, "form", "must be a number from 1"),
        ({"query": "w1", "document": ["w1"]}, 400, "form", "Did you mean 'documents'?"),
    ],
)
def test_what_is_refused_is_an_error_of_openais_form(gate, ask, sent, status, code, said):
    done = ask(gate(), json.dumps(sent).encode(), path="/v1/rerank" if "query" in sent else "/v1/embeddings")
    assert done.status_code == status
    error = done.json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", code, None)
    assert said in error["message"]


def test_the_served_model_is_listed(gate, ask):
    [model] = ask(gate(), path="/v1/models", method="GET").json()["data"]
    assert (model["id"], model["object"], model["owned_by"]) == ("dial2vec-demo", "model", "dial2vec")
    assert ask(gate(), path="/v1/models/dial2vec-demo", method="GET").json()["id"] == "dial2vec-demo"
    assert ask(gate(), path="/v1/models/gpt-4", method="GET").json()["error"]["code"] == "model_not_found"


@pytest.fixture
def address(gate, tmp_path) -> Iterator[str]:
    """Address of a running server that asks for a token."""
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{TOKEN}\n")
    tokens.chmod(0o600)
    made = gate(tokens=AccessTokens(tokens))
    control, theirs = socket.socketpair()
    with listen("127.0.0.1", 0) as listening, control:
        work = serve(made, listening.dup(), theirs, made.settings)
        thread = threading.Thread(target=asyncio.run, args=(work,), daemon=True)
        thread.start()
        assert b"ready" in control.recv(1000)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        control.close()
        thread.join(20)


def vectors(encoder: Encoder, *talks: object) -> np.ndarray:
    """Return what `encode` gives for texts and conversations."""
    messages = [[{"role": "user", "content": talk}] if isinstance(talk, str) else talk for talk in talks]
    return encoder.encode([Dialogue.from_messages(each) for each in messages])


def test_openais_client_works(address, encoder):
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=address, api_key=TOKEN, max_retries=0) as client:
        [model] = client.models.list()
        answer = client.embeddings.create(model=model.id, input=TEXTS, user="u", extra_body={"input_type": "query"})
        talks = client.embeddings.create(model=model.id, input=[TALK, OTHER])
        with pytest.raises(openai.NotFoundError, match=r"found the string 'gpt-4'"):
            client.embeddings.create(model="gpt-4", input="w1")
        with pytest.raises(openai.BadRequestError, match=r"Did you mean 'dimensions'\?"):
            client.embeddings.create(model=model.id, input="w1", extra_body={"dimension": 16})
        many = [f"w{n % 40} w{n // 40 % 40} w{n * 7 % 40}" for n in range(2048)]
        all_of_them = client.embeddings.create(model=model.id, input=many)
    with openai.OpenAI(base_url=address, api_key="wrong") as wrong, pytest.raises(openai.AuthenticationError):
        wrong.models.list()
    assert answer.usage.total_tokens > 3
    for done, talk in ((answer, TEXTS), (talks, (TALK, OTHER)), (all_of_them, many)):
        np.testing.assert_allclose([item.embedding for item in done.data], vectors(encoder, *talk), atol=1e-5)


def test_openais_async_client_gets_each_of_many_requests_its_own_answer(address, encoder):
    openai = pytest.importorskip("openai")

    async def ask_all() -> list[list[float]]:
        async with openai.AsyncOpenAI(base_url=address, api_key=TOKEN, max_retries=0) as client:
            asked = [client.embeddings.create(model=MODEL, input=f"w{n}") for n in range(30)]
            return [answer.data[0].embedding for answer in await asyncio.gather(*asked)]

    np.testing.assert_allclose(asyncio.run(ask_all()), vectors(encoder, *(f"w{n}" for n in range(30))), atol=1e-5)


def test_langchain_and_llamaindex_work_and_token_numbers_are_refused_with_what_to_set(address, encoder, monkeypatch):
    openai, langchain = pytest.importorskip("openai"), pytest.importorskip("langchain_openai")
    llamaindex = pytest.importorskip("llama_index.embeddings.openai")
    options = {"base_url": address, "api_key": TOKEN, "model": MODEL, "max_retries": 0}
    made = langchain.OpenAIEmbeddings(**options, check_embedding_ctx_length=False)
    np.testing.assert_allclose(made.embed_documents(TEXTS), vectors(encoder, *TEXTS), atol=1e-5)
    np.testing.assert_allclose(asyncio.run(made.aembed_query("w3")), vectors(encoder, "w3")[0], atol=1e-5)
    made = llamaindex.OpenAIEmbedding(model_name=MODEL, api_base=address, api_key=TOKEN, max_retries=0)
    np.testing.assert_allclose(made.get_text_embedding_batch(TEXTS), vectors(encoder, *TEXTS), atol=1e-5)
    np.testing.assert_allclose(asyncio.run(made.aget_query_embedding("w3")), vectors(encoder, "w3")[0], atol=1e-5)
    # By default LangChain sends the numbers of tiktoken, whose vocabulary comes with LlamaIndex.
    cache = Path(find_spec("llama_index.core").origin).parent / "_static" / "tiktoken_cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
    with pytest.raises(openai.BadRequestError, match="check_embedding_ctx_length=False"):
        langchain.OpenAIEmbeddings(**options).embed_query("w3")


def test_a_ranking_is_by_the_mean_of_the_cosines_of_the_whole_and_of_the_nearest_turn(gate, ask, encoder):
    documents = [TALK, "w9", [*OTHER, *TALK], [{"role": "user", "content": f"w{n}"} for n in range(9)]]
    sent = {"model": MODEL, "query": "w3", "documents": documents, "top_n": 3, "return_documents": True}
    answer = ask(gate(), body(**sent), path="/v1/rerank").json()

    def cosine(talk: object) -> float:
        a, b = vectors(encoder, "w3", talk)
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    turns = [[talk] if isinstance(talk, str) else [[message] for message in talk] for talk in documents]
    scores = [(cosine(talk) + max(map(cosine, turns[at]))) / 2 for at, talk in enumerate(documents)]
    order = sorted(range(4), key=lambda at: -scores[at])[:3]
    assert [result["index"] for result in answer["results"]] == order
    assert [result["document"] for result in answer["results"]] == [documents[at] for at in order]
    found = [result["relevance_score"] for result in answer["results"]]
    np.testing.assert_allclose(found, [scores[at] for at in order], atol=1e-5)
