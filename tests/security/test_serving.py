"""The server against strangers: pages of other origins, other host names, missing tokens, huge and packed bodies."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import socket
import threading
import time

import httpx
import pytest

from dial2vec.addresses import Hosts
from dial2vec.errors import Dial2vecError
from dial2vec.operation.serving.gate import Gate
from dial2vec.operation.serving.server import serve
from dial2vec.operation.serving.tokens import AccessTokens, secret_file
from tests.operation.serving.conftest import ask as ask
from tests.operation.serving.conftest import gate as gate
from tests.operation.serving.conftest import served as served
from tests.registry.conftest import encoders as encoders
from tests.registry.conftest import record as record
from tests.registry.conftest import registered_store as registered_store

TOKEN = "0123456789abcdef"
HELLO = {"turns": [{"speaker": "a", "text": "w1 w2"}]}
# Every path that an answer exists for.
OPEN = ("/", "/openapi.json", "/livez", "/readyz", "/health", "/ping")
PATHS = (*OPEN, "/version", "/metrics", "/v1/models", "/v1/models/dial2vec-demo")


def inputs(*dialogues: object) -> bytes:
    return json.dumps({"inputs": dialogues}).encode()


def huge(megabytes: float) -> dict[str, object]:
    """Return a dialogue of many turns of 80 words."""
    turn = {"speaker": "a", "text": "w1 " * 80}
    return {"turns": [turn] * int(megabytes * 1e6 / len(json.dumps(turn)))}


@pytest.fixture
def tokens(tmp_path) -> AccessTokens:
    path = tmp_path / "tokens"
    path.write_text(f"# of the nightly job\n{TOKEN}\n\nanother-token-of-16\n")
    path.chmod(0o600)
    return AccessTokens(path)


def client_of(gate: Gate) -> httpx.AsyncClient:
    headers = {"content-type": "application/json"}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=gate), base_url="http://localhost", headers=headers)


def test_a_dialogue_of_megabytes_is_refused_at_once(gate, ask):
    done = ask(gate(max_request_tokens=65_536), inputs(huge(3.84)))
    assert done.status_code == 413
    assert "a request may have 65536 tokens" in done.json()["message"]


def test_a_dialogue_of_megabytes_that_is_allowed_holds_nobody(gate):
    served = gate(max_request_tokens=3_000_000, request_seconds=600)

    async def scenario() -> tuple[list[int], bool]:
        async with client_of(served) as client:
            long = asyncio.create_task(client.post("/invocations", content=inputs(huge(3.84))))
            while not served.scheduler.batcher.busy:
                await asyncio.sleep(0.01)
            others = [(await client.post("/invocations", content=inputs(HELLO))).status_code for _ in range(3)]
            done = long.done()
            long.cancel()
            return others, done

    assert asyncio.run(scenario()) == ([200] * 3, False)


def test_the_time_limit_ends_the_work_and_says_when_to_try_again(gate):
    served = gate(max_request_tokens=3_000_000, request_seconds=0.5)

    async def scenario() -> httpx.Response:
        async with client_of(served) as client:
            return await client.post("/invocations", content=inputs(huge(3.84)))

    refused = asyncio.run(scenario())
    assert (refused.status_code, "not complete after 0.5 seconds" in refused.json()["message"]) == (504, True)
    assert int(refused.headers["retry-after"]) >= 1
    served.scheduler.batcher.step()
    assert not served.scheduler.batcher.busy


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:5601", "localhost.evil", ""])
def test_other_host_names_get_nothing(gate, ask, path, host):
    done = ask(gate(), path=path, method="GET", host=host)
    assert done.status_code == 421
    assert "is not called" in done.text


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1:5601", "[::1]:5601", "[::1]", "LOCALHOST.", "vectors.example"]
)
def test_own_names_are_answered(gate, ask, host):
    assert ask(gate(hosts=Hosts.of("Vectors.example")), path="/version", method="GET", host=host).status_code == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://here:5602", "http://here"])
def test_pages_of_other_origins_get_nothing(gate, ask, path, origin):
    done = ask(gate(), path=path, method="GET", origin=origin)
    assert (done.status_code, "access-control-allow-origin" in done.headers) == (403, False)


def test_pages_of_other_origins_cannot_have_dialogues_encoded(gate, ask):
    for path, body in (("/invocations", inputs(HELLO)), ("/v1/embeddings", b'{"input": "w1"}')):
        assert ask(gate(), body, path=path).status_code == 200
        assert ask(gate(), body, path=path, origin="http://here:5601").status_code == 200
        assert ask(gate(), body, path=path, origin="https://here:5601").status_code == 200
        assert ask(gate(), body, path=path, origin="http://evil.example").status_code == 403
        assert ask(gate(), body, path=path, sec_fetch_site="same-site").status_code == 403
        assert ask(gate(), path=path, method="OPTIONS", origin="http://evil.example").status_code == 403


def test_a_link_of_another_page_leads_to_the_page_only(gate, ask):
    assert ask(gate(), path="/", method="GET", sec_fetch_site="cross-site").status_code == 200
    assert ask(gate(), path="/version", method="GET", sec_fetch_site="cross-site").status_code == 403


@pytest.mark.parametrize("header", ["", TOKEN, f"Basic {TOKEN}", "Bearer", "Bearer ", f"Bearer {TOKEN}0", "Bearer #"])
def test_without_a_token_only_the_health_checks_and_the_page_answer(gate, ask, tokens, header):
    made, headers = gate(tokens=tokens), {"authorization": header} if header else {}
    for path in ("/invocations", "/v1/embeddings", "/v1/models", "/version", "/metrics", "/elsewhere"):
        done = ask(made, inputs(HELLO), path=path, method="POST" if "v" in path else "GET", **headers)
        assert (done.status_code, done.headers["www-authenticate"]) == (401, 'Bearer realm="dial2vec"')
        assert TOKEN not in done.text
    for path in OPEN:
        assert ask(made, path=path, method="GET", **headers).status_code == 200


@pytest.mark.parametrize("header", [f"Bearer {TOKEN}", f"bearer {TOKEN}", "Bearer another-token-of-16"])
def test_each_token_of_the_file_opens_the_server(gate, ask, tokens, header):
    assert ask(gate(tokens=tokens), inputs(HELLO), authorization=header).status_code == 200


def test_tokens_are_read_again_and_stay_if_the_file_cannot_be_used(tokens):
    tokens.path.write_text("a-third-token-of-16")
    tokens.reload()
    assert tokens.accept(b"Bearer a-third-token-of-16")
    assert not tokens.accept(f"Bearer {TOKEN}".encode())
    tokens.path.write_text("")
    with pytest.raises(Dial2vecError, match="found no token"):
        tokens.reload()
    assert tokens.accept(b"Bearer a-third-token-of-16")


@pytest.mark.parametrize(
    ("mode", "text", "said"),
    [
        (0o644, TOKEN, r"others can read or change it \(mode 644\)"),
        (0o620, TOKEN, r"others can read or change it \(mode 620\)"),
        (0o600, "# none\n\n", "found no token"),
        (0o600, "secret", "a token with a blank or under 16 characters"),
        (0o600, "two words that are long", "a token with a blank or under 16 characters"),
    ],
)
def test_a_token_file_that_others_can_read_or_without_tokens_is_refused(tmp_path, mode, text, said):
    path = tmp_path / "tokens"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(Dial2vecError, match=said):
        AccessTokens(path)


def test_a_secret_that_could_be_guessed_leaves_the_file_as_it_was(tmp_path):
    path = secret_file(tmp_path / "own" / "token")
    known = path.read_text()
    for given in ("short", "two words of enough letters"):
        with pytest.raises(Dial2vecError, match="found a token with a blank or under 16 characters"):
            secret_file(path, given)
    assert path.read_text() == known
    assert secret_file(path) == path


def test_a_missing_token_file_is_refused(tmp_path):
    with pytest.raises(Dial2vecError, match="the tokens cannot be read"):
        AccessTokens(tmp_path / "tokens")


def test_a_byte_on_the_control_socket_reads_the_tokens_again(gate, tokens, caplog):
    made = gate(tokens=tokens)
    listening = socket.create_server(("127.0.0.1", 0))
    control, theirs = socket.socketpair()
    thread = threading.Thread(target=asyncio.run, args=(serve(made, listening, theirs, made.settings),), daemon=True)
    thread.start()
    assert b"ready" in control.recv(1000)
    with caplog.at_level(logging.ERROR):
        tokens.path.write_text("a-third-token-of-16")
        control.send(b"t")
        deadline = time.monotonic() + 20
        while not tokens.accept(b"Bearer a-third-token-of-16") and time.monotonic() < deadline:
            time.sleep(0.01)
        tokens.path.chmod(0o644)
        control.send(b"t")
        while not caplog.records and time.monotonic() < deadline:
            time.sleep(0.01)
    control.close()
    thread.join(20)
    assert tokens.accept(b"Bearer a-third-token-of-16")
    assert "The tokens stay as they are" in caplog.text


def test_a_packed_body_is_unpacked_up_to_the_limit_only(gate, ask):
    packed = {"content_encoding": "gzip"}
    assert ask(gate(), gzip.compress(inputs(HELLO)), **packed).status_code == 200
    bomb = gzip.compress(b" " * 50_000_000)
    assert len(bomb) < 100_000
    assert ask(gate(), bomb, **packed).status_code == 413
    for broken in (b"not gzip", gzip.compress(inputs(HELLO))[:-9], gzip.compress(inputs(HELLO)) + b"x"):
        assert ask(gate(), broken, **packed).status_code == 400
    refused = ask(gate(), b"", content_encoding="br")
    assert (refused.status_code, refused.headers["accept-encoding"]) == (415, "gzip")


def test_the_page_loads_nothing_from_elsewhere(gate, ask):
    page = ask(gate(), path="/", method="GET")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert not {"<script", "<link", "<img", "@import", "url("} & set(page.text.split())
    assert "<script" not in page.text


def test_nothing_of_a_dialogue_or_a_token_is_in_the_metrics_or_the_log(gate, ask, tokens, caplog):
    made = gate(tokens=tokens)
    with caplog.at_level(logging.DEBUG, logger="dial2vec"):
        ask(
            made, inputs({"dialogue_id": "w31", "turns": [{"speaker": "w32", "text": "w33"}]}), authorization="Bearer x"
        )
        ask(made, inputs({"dialogue_id": "w31", "turns": [{"speaker": "w32", "text": "w33"}]}),
            authorization=f"Bearer {TOKEN}")  # fmt: skip
        ask(made, path="/w34", method="GET", authorization=f"Bearer {TOKEN}")
    logged = " ".join(record.getMessage() for record in caplog.records if record.name.startswith("dial2vec"))
    told = ask(made, path="/metrics", method="GET", authorization=f"Bearer {TOKEN}").text + logged
    assert not [word for word in ("w31", "w32", "w33", "w34", TOKEN) if word in told]
