"""Clients that people use, against a running server: openai's, LangChain's, LlamaIndex's, and plain HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from base64 import b64decode
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import httpx
import numpy as np
import pytest

from conversations.dialogue import Dialogue
from dial2vec.addresses import listen
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.protocol import Encoder
from dial2vec.operation.serving.server import serve
from dial2vec.operation.serving.tokens import AccessTokens

TOKEN, MODEL = "a-token-of-this-test", "dial2vec-demo"
TALK = [{"role": "assistant", "content": "w1 w2"}, {"role": "user", "content": [{"type": "text", "text": "w3"}]}]
OTHER = [{"role": "user", "content": "w9"}]
TEXTS = ["w1 w2", "w3"]
RERANK = {"path": "/v1/rerank"}


@pytest.fixture(scope="module")
def encoder(encoders) -> Encoder:
    return load_encoder(encoders / "start")


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
        talks = client.embeddings.create(model=model.id, input=[TALK, OTHER], encoding_format="float")
        with pytest.raises(openai.NotFoundError, match=r"found the string 'gpt-4'"):
            client.embeddings.create(model="gpt-4", input="w1")
        with pytest.raises(openai.BadRequestError, match=r"Did you mean 'dimensions'\?"):
            client.embeddings.create(model=model.id, input="w1", extra_body={"dimension": 16})
    wrong = openai.OpenAI(base_url=address, api_key="wrong", max_retries=0)
    with wrong, pytest.raises(openai.AuthenticationError):
        wrong.models.list()
    np.testing.assert_allclose([item.embedding for item in answer.data], vectors(encoder, *TEXTS), atol=1e-5)
    np.testing.assert_allclose([item.embedding for item in talks.data], vectors(encoder, TALK, OTHER), atol=1e-5)
    assert answer.usage.total_tokens > 3


@pytest.mark.parametrize("form", ["float", "base64"])
def test_2048_texts_in_one_request_have_their_own_vectors_in_their_order(address, encoder, form):
    openai = pytest.importorskip("openai")
    texts = [f"w{n % 40} w{n // 40 % 40} w{n * 7 % 40}" for n in range(2048)]
    with openai.OpenAI(base_url=address, api_key=TOKEN, max_retries=0) as client:
        answer = client.embeddings.create(model=MODEL, input=texts, encoding_format=form)
    assert [item.index for item in answer.data] == list(range(2048))
    got = [item.embedding for item in answer.data]
    if form == "base64":
        got = [np.frombuffer(b64decode(text), "<f4") for text in got]
    np.testing.assert_allclose(got, vectors(encoder, *texts), atol=1e-5)


def test_openais_async_client_gets_each_of_many_requests_its_own_answer(address, encoder):
    openai = pytest.importorskip("openai")

    async def ask_all() -> list[list[float]]:
        async with openai.AsyncOpenAI(base_url=address, api_key=TOKEN, max_retries=0) as client:
            asked = [client.embeddings.create(model=MODEL, input=f"w{n}") for n in range(30)]
            return [answer.data[0].embedding for answer in await asyncio.gather(*asked)]

    np.testing.assert_allclose(asyncio.run(ask_all()), vectors(encoder, *(f"w{n}" for n in range(30))), atol=1e-5)


def test_langchains_embeddings_work_and_its_token_numbers_are_refused_with_what_to_set(address, encoder, monkeypatch):
    openai, langchain = pytest.importorskip("openai"), pytest.importorskip("langchain_openai")
    options = {"base_url": address, "api_key": TOKEN, "model": MODEL, "max_retries": 0}
    made = langchain.OpenAIEmbeddings(**options, check_embedding_ctx_length=False)
    np.testing.assert_allclose(made.embed_documents(TEXTS), vectors(encoder, *TEXTS), atol=1e-5)
    np.testing.assert_allclose(asyncio.run(made.aembed_query("w3")), vectors(encoder, "w3")[0], atol=1e-5)
    # By default it sends token numbers of tiktoken, whose vocabulary comes with LlamaIndex.
    pytest.importorskip("llama_index.core")
    cache = Path(find_spec("llama_index.core").origin).parent / "_static" / "tiktoken_cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
    with pytest.raises(openai.BadRequestError, match="check_embedding_ctx_length=False"):
        langchain.OpenAIEmbeddings(**options).embed_query("w3")


def test_llamaindexs_embeddings_work(address, encoder):
    llamaindex = pytest.importorskip("llama_index.embeddings.openai")
    made = llamaindex.OpenAIEmbedding(model_name=MODEL, api_base=address, api_key=TOKEN, max_retries=0)
    np.testing.assert_allclose(made.get_text_embedding_batch(TEXTS), vectors(encoder, *TEXTS), atol=1e-5)
    np.testing.assert_allclose(asyncio.run(made.aget_query_embedding("w3")), vectors(encoder, "w3")[0], atol=1e-5)


def body(**values: object) -> bytes:
    return json.dumps(values).encode()


def test_a_ranking_is_the_mean_of_the_cosines_of_the_whole_and_of_the_nearest_turn(address, encoder):
    documents = [TALK, "w9", [*OTHER, *TALK], [{"role": "user", "content": f"w{n}"} for n in range(9)]]
    sent = {"model": MODEL, "query": "w3", "documents": documents, "top_n": 3, "return_documents": True}
    headers = {"authorization": f"Bearer {TOKEN}"}
    answer = httpx.post(f"{address}/rerank", json=sent, headers=headers).json()

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    [asked], scores = vectors(encoder, "w3"), []
    for talk in documents:
        turns = [talk] if isinstance(talk, str) else [[message] for message in talk]
        nearest = max(cosine(asked, vectors(encoder, turn)[0]) for turn in turns)
        scores.append((cosine(asked, vectors(encoder, talk)[0]) + nearest) / 2)
    order = sorted(range(4), key=lambda at: -scores[at])[:3]
    assert [result["index"] for result in answer["results"]] == order
    expected = pytest.approx([scores[at] for at in order], abs=1e-5)
    assert [result["relevance_score"] for result in answer["results"]] == expected
    assert [result["document"] for result in answer["results"]] == [documents[at] for at in order]
    assert (answer["model"], answer["usage"]["total_tokens"] > 20) == (MODEL, True)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ({"documents": ["w1"]}, 'expected \\"query\\"'),
        ({"query": "w1", "documents": TALK}, 'expected \\"query\\"'),
        ({"query": "w1", "documents": []}, "found 0 dialogues"),
        ({"query": " ", "documents": ["w1"]}, 'expected \\"query\\"'),
        ({"query": "w1", "documents": ["w1"], "top_n": 0}, "must be a number from 1"),
        ({"query": "w1", "documents": [[1, 2]]}, "token numbers"),
        ({"query": "w1", "document": ["w1"]}, "Did you mean 'documents'?"),
    ],
)
def test_a_ranking_without_a_question_or_dialogues_is_refused(gate, ask, sent, reason):
    done = ask(gate(), body(**sent), **RERANK)
    assert (done.status_code, reason in done.text) == (400, True), done.text
