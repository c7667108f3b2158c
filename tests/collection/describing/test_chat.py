from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from dial2vec.collection.describing import chat
from dial2vec.collection.describing.chat import Answer, AnswerError, RefusedError, ask
from tests.collection.describing.conftest import GOOD, Reply

MESSAGES = ({"role": "user", "content": "Grüße"},)


def test_a_question_is_sent_as_openai_describes_it_with_the_key_of_the_variable(server):
    assert ask(server.settings(), MESSAGES) == Answer(GOOD, 100, 10)
    [(path, headers, body)] = server.got
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer secret-key-1"
    assert body == {"model": "small", "messages": [{"role": "user", "content": "Grüße"}]}


def test_a_server_without_keys_gets_none_and_a_full_address_is_used_unchanged(server, monkeypatch):
    monkeypatch.delenv("A_KEY")
    ask(server.settings(address=f"{server.address}/chat/completions"), MESSAGES)
    [(path, headers, _)] = server.got
    assert path == "/v1/chat/completions"
    assert "Authorization" not in headers


@pytest.mark.parametrize("first", [Reply(status=500), Reply(status=503), Reply(status=429)])
def test_a_busy_or_failing_server_is_asked_again(server, first):
    server.replies = [first]
    assert ask(server.settings(), MESSAGES).text == GOOD
    assert len(server.got) == 2


def test_the_wait_of_retry_after_is_kept(server):
    server.replies = [Reply(status=429, headers={"Retry-After": "1"})]
    begin = time.monotonic()
    ask(server.settings(), MESSAGES)
    assert time.monotonic() - begin >= 1


def test_a_wait_that_is_too_long_ends_the_question(server):
    server.always = Reply(status=429, raw=b"quota", headers={"Retry-After": "3600"})
    with pytest.raises(AnswerError, match=r"gave no answer \(status 429: quota\) in 1 try; expected one within 60"):
        ask(server.settings(), MESSAGES)


def test_retry_after_holds_seconds_or_a_date():
    assert chat._retry_after("7") == 7
    assert chat._retry_after(None) is None
    assert chat._retry_after("soon") is None
    later = datetime.now(UTC) + timedelta(seconds=30)
    assert chat._retry_after(format_datetime(later)) == pytest.approx(30, abs=2)


def test_a_slow_server_is_left_after_the_timeout(server):
    server.always = Reply(seconds=0.5)
    with pytest.raises(AnswerError, match=r"\(too slow\) in 3 tries; expected one within 0\.1 seconds"):
        ask(server.settings(timeout=0.1), MESSAGES)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_said_once_and_never_shown(server, status):
    server.always = Reply(status=status, raw=b"bad key secret-key-1")
    with pytest.raises(RefusedError, match=r"refused the key in A_KEY \(status \d+: bad key \*\*\*\)") as error:
        ask(server.settings(), MESSAGES)
    assert "secret" not in str(error.value)
    assert len(server.got) == 1


def test_a_missing_key_names_the_variable(server, monkeypatch):
    monkeypatch.delenv("A_KEY")
    server.always = Reply(status=401, raw=b"")
    with pytest.raises(RefusedError, match=r"refused a question without key: A_KEY is not set \(status 401: no reason"):
        ask(server.settings(), MESSAGES)


def test_a_key_with_strange_characters_is_not_sent(server, monkeypatch):
    monkeypatch.setenv("A_KEY", "kéy")
    with pytest.raises(RefusedError, match="A_KEY holds characters that no key has"):
        ask(server.settings(), MESSAGES)
    assert server.got == []


def test_a_redirection_is_not_followed_because_the_key_would_go_along(server):
    server.replies = [Reply(status=302, headers={"Location": f"{server.address}/elsewhere"})]
    with pytest.raises(RefusedError, match="has no chat completions for model 'small'"):
        ask(server.settings(), MESSAGES)
    assert [path for path, _, _ in server.got] == ["/v1/chat/completions"]


@pytest.mark.parametrize(
    "raw", [b"<html>", b"[]", b'{"choices": []}', json.dumps({"choices": [{"message": {"content": None}}]}).encode()]
)
def test_an_answer_in_another_form_is_refused_in_a_sentence(server, raw):
    server.always = Reply(raw=raw)
    with pytest.raises(AnswerError, match=r"expected JSON with choices\[0\]\.message\.content"):
        ask(server.settings(), MESSAGES)


def test_an_endless_answer_is_not_read_to_its_end(server, monkeypatch):
    monkeypatch.setattr(chat, "LARGEST", 10)
    with pytest.raises(AnswerError, match="sent more than 10 bytes"):
        ask(server.settings(), MESSAGES)


def test_a_server_that_is_not_there_is_said(server):
    with pytest.raises(AnswerError, match=r"127\.0\.0\.1:9/v1 gave no answer \(.*refused.*\) in 3 tries"):
        ask(server.settings(address="http://127.0.0.1:9/v1"), MESSAGES)
