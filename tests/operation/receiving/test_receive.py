"""The command takes what a real exporter and a chat service send, and loses nothing when it is killed."""

from __future__ import annotations

import gzip
import hashlib
import hmac
import json
import signal
import time
from pathlib import Path

import httpx
import pytest

from conversations.reading import read
from tests.operation.receiving.conftest import SECRET, TOKEN, Command, messages, otlp, said

BEARER = {"Authorization": f"Bearer {TOKEN}"}
JSON = {"Content-Type": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf"}


def turns(inbox: Path) -> dict[str, list[tuple[str, str]]]:
    """The dialogues in the files of an inbox; no id comes twice."""
    dialogues = read(inbox)
    assert len({dialogue.dialogue_id for dialogue in dialogues}) == len(dialogues)
    return {dialogue.dialogue_id: [(turn.speaker, turn.text) for turn in dialogue.turns] for dialogue in dialogues}


def test_sessions_of_the_real_exporter_are_whole_though_the_command_is_killed(command):
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    exporter = OTLPSpanExporter(f"{command.url}/v1/traces", headers=BEARER, compression=Compression.Gzip, timeout=60)
    provider = trace.TracerProvider()
    # Small requests: the span that names a session comes in another one than many of its messages.
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=50, max_export_batch_size=5))
    sessions = [f"session-{number}" for number in range(8)]
    command.options = ("--quiet", "1")
    for number in range(4):
        command.start()
        tracer = provider.get_tracer("app")
        for session in sessions:
            with tracer.start_as_current_span("request", attributes={"session.id": session}):
                tracer.start_span("chat", attributes=messages(session, number)).end()
        # In the middle of requests, at another moment each time; the exporter sends again what was not answered.
        time.sleep(0.03 * number)
        command.end(signal.SIGKILL)
    command.start()
    provider.shutdown()
    assert command.end().startswith("Ended; ")
    assert turns(command.inbox) == {
        session: [turn for number in range(4) for turn in said(session, number)] for session in sessions
    }


def test_what_cannot_be_used_is_refused_in_the_form_of_the_request(command):
    from google.rpc.status_pb2 import Status
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    command.start()
    url, session = f"{command.url}/v1/traces", {"session.id": "s"} | messages("s", 0)
    good = json.dumps(otlp(1, session) | {"unknown": 1}).encode()
    with httpx.Client(headers=BEARER) as client:
        answer = client.post(url, content=gzip.compress(good), headers=JSON | {"Content-Encoding": "gzip"})
        assert (answer.status_code, answer.json(), answer.headers["content-type"]) == (200, {}, "application/json")
        # Sent again because the answer was lost.
        assert client.post(url, content=good, headers=JSON).status_code == 200
        answer = client.post(url, content=json.dumps(otlp(0, session)), headers=JSON)
        assert answer.json()["partialSuccess"]["rejectedSpans"] == "1"
        answer = client.post(url, content=b"", headers=PROTOBUF)
        assert (answer.status_code, ExportTraceServiceResponse.FromString(answer.content).ByteSize()) == (200, 0)
        answer = client.post(url, content=b"no message", headers=PROTOBUF)
        assert (answer.status_code, answer.headers["content-type"]) == (400, "application/x-protobuf")
        assert "ExportTraceServiceRequest" in Status.FromString(answer.content).message
        answer = client.post(url, content=b'{"resourceSpans": 3}', headers=JSON)
        assert (answer.status_code, list(answer.json())) == (400, ["message"])
        assert client.post(url, content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415
        assert client.post(url, content=bytes(20_000_001), headers=PROTOBUF).status_code == 413
        assert client.get(url).status_code == 405
        assert client.post(f"{command.url}/v1/logs", json={}).status_code == 404
        assert client.post(url, content=good, headers=JSON | {"Host": "evil.example"}).status_code == 421
        wrong = client.post(url, content=good, headers=JSON | {"Authorization": "Bearer another-long-token"})
        assert (wrong.status_code, wrong.headers["www-authenticate"]) == (401, 'Bearer realm="dial2vec"')
    command.end()
    assert turns(command.inbox) == {"s": said("s", 0)}


def test_a_full_disk_is_said_so_that_exporters_send_again(command):
    project = command.inbox.parents[1]
    for name, text in (("params.yaml", "corpora: [sales, calls]"), ("dvc.yaml", "")):
        (project / name).write_text(text)
    (project / "operation.yaml").write_text("schedule: {min_free_gb: 1e9}")
    command.place = ("--corpus", "calls")
    command.start()
    answer = httpx.post(f"{command.url}/v1/traces", json=otlp(1, messages("s", 0)), headers=BEARER)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
    assert (command.inbox / ".receive" / "received.db").exists()
    other = Command(command.inbox)
    other.place = ("--corpus", "cals")
    with pytest.raises(AssertionError, match=r"--corpus cals is not in params.yaml; expected one of sales, calls"):
        other.start()


def test_both_signals_end_it_with_one_line_and_its_inbox_is_its_own(command):
    command.start()
    second = Command(command.inbox)
    with pytest.raises(AssertionError, match=r"another process receives into .*Wait until it ends"):
        second.start()
    for how in (signal.SIGINT, signal.SIGTERM):
        assert command.end(how) == f"Ended; conversations handed over to {command.inbox}: 0\n"
        assert command.process.returncode == 0
        command.start()
    assert (command.inbox / ".receive" / "token").stat().st_mode & 0o777 == 0o600


def chatwoot(number: int, *, conversation: int = 10) -> bytes:
    """The body of `message_created`: https://github.com/chatwoot/docs, docs/product/others/webhook-events.md."""
    customer = {"id": 14, "name": "Maria Lopez", "avatar": "", "type": "contact", "email": "maria@example.com"}
    agent = {"id": 1, "name": "Kim Berg", "email": "kim@example.com", "type": "user"}
    body = {
        "id": 118 + number,
        "content": ("Call me at +1 415 555 0199", "I do, Maria")[number % 2],
        "created_at": f"2021-07-23T18:02:{40 + number}.000Z",
        "message_type": ("incoming", "outgoing")[number % 2],
        "content_type": "text",
        "private": False,
        "content_attributes": {},
        "source_id": None,
        "sender": (customer, agent)[number % 2],
        "inbox": {"id": 1, "name": "Acme Support"},
        "conversation": {
            "additional_attributes": {"referer": "http://localhost:3000/widget_tests"},
            "can_reply": True,
            "channel": "Channel::WebWidget",
            "id": conversation,
            "inbox_id": 1,
            "messages": [{"id": 118 + number, "conversation_id": conversation, "message_type": 0, "content": "hi"}],
            "meta": {"sender": customer, "assignee": agent},
            "status": "open",
            "timestamp": 1627063369,
        },
        "account": {"id": 1, "name": "Acme Inc"},
        "event": "message_created",
    }
    return json.dumps(body).encode()


def signed(body: bytes, *, at: float, secret: str = SECRET) -> dict[str, str]:
    """The headers of a signed webhook, as the schema of `secret` in Chatwoot's interface describes them."""
    digits = hmac.new(secret.encode(), f"{at:.0f}.".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Chatwoot-Timestamp": f"{at:.0f}", "X-Chatwoot-Signature": f"sha256={digits}"} | JSON


def test_webhooks_of_chatwoot_become_one_conversation_each(command):
    command.start()
    url = f"{command.url}/webhook"
    for number in range(4):
        for conversation in (10, 11):
            body = chatwoot(number, conversation=conversation)
            for _ in range(2):  # a service sends again what it thinks was lost
                assert httpx.post(url, content=body, headers=signed(body, at=time.time())).status_code == 200
    body = chatwoot(5)
    for headers in (JSON, signed(body, at=time.time() - 400), signed(body, at=time.time(), secret="another")):
        assert httpx.post(url, content=body, headers=headers).status_code == 401
    assert httpx.post(f"{url}/{TOKEN}", content=chatwoot(4), headers=JSON).status_code == 200
    assert httpx.post(f"{url}/no-token-of-this-server", content=body, headers=JSON).status_code == 401
    assert httpx.post(f"{url}/{TOKEN}", json=[1]).status_code == 400
    assert httpx.post(f"{url}/{TOKEN}", content=b'{"half": "\\ud83d"}', headers=JSON).status_code == 200
    challenge = {"type": "url_verification", "challenge": "3eZbrw1aBm2rZgRN"}
    assert httpx.post(f"{url}/{TOKEN}", json=challenge).text == "3eZbrw1aBm2rZgRN"
    command.end()
    customer, agent = ("Maria Lopez", "Call me at +1 415 555 0199"), ("Kim Berg", "I do, Maria")
    for path in command.inbox.glob("webhook-*"):
        path.unlink()  # no conversation
    assert turns(command.inbox) == {"10": [customer, agent] * 2 + [customer], "11": [customer, agent] * 2}


def test_no_address_and_no_number_touches_the_disk_with_redact(command):
    command.options = ("--quiet", "0", "--redact")
    command.start()
    session = {"session.id": "maria@example.com", "user.email": "maria@example.com"}
    for number in range(2):
        attributes = session | messages("4111 1111 1111 1111", number)
        url, other = f"{command.url}/v1/traces", attributes | {"session.id": "kim@example.com"}
        for place, each in enumerate((attributes, other), start=1):
            assert httpx.post(url, json=otlp(2 * number + place, each), headers=BEARER).status_code == 200
        answer = httpx.post(f"{command.url}/webhook", content=chatwoot(number), headers=BEARER | JSON)
        assert answer.status_code == 200
    on_disk = b"".join(path.read_bytes() for path in command.inbox.rglob("*") if path.is_file())
    command.end(signal.SIGKILL)
    command.start()
    command.end()
    on_disk += b"".join(path.read_bytes() for path in command.inbox.rglob("*") if path.is_file())
    for secret in (b"maria@", b"kim@", b"4111", b"555"):
        assert secret not in on_disk
    # Two sessions, whose ids were addresses, stay two.
    spans = read(next(command.inbox.glob("otlp-*")))
    assert [[turn.text for turn in dialogue.turns[:2]] for dialogue in spans] == [
        ["Question 0 of [CARD]?", "Answer 0 to [CARD]."]
    ] * 2
    [chat] = read(next(command.inbox.glob("chatwoot-*")))
    assert [turn.text for turn in chat.turns] == ["Call me at [PHONE]", "I do, Maria"]
