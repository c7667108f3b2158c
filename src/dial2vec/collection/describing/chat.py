"""Asking a language model at any address that speaks OpenAI's interface of chat completions.

Only `model` and `messages` are sent: some servers refuse a temperature, others a limit of tokens under one of its two
names. Redirections are not followed, because urllib would send the key to the new address, too.
"""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import IO, Any, Literal
from urllib.error import HTTPError, URLError

from conversations.words import printable
from dial2vec.config import LanguageModel
from dial2vec.errors import Dial2vecError

# Tries of one question, seconds before the second try (doubled for each further one), and longest wait.
TRIES, FIRST_WAIT, LONGEST_WAIT = 3, 1.0, 60.0
# Largest answer that is read, in bytes, and characters of a server's message that an error shows.
LARGEST, SHOWN = 1_000_000, 160
TOO_MANY, SERVER_ERROR = 429, 500


class AnswerError(Dial2vecError):
    """A question got no usable answer; another question may get one."""


class RefusedError(AnswerError):
    """No question will get an answer, for example because the key is refused."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a language model.

    :param text: text of the answer.
    :param tokens_in: tokens that the server counted in the question; 0 if it does not say.
    :param tokens_out: tokens that it counted in the answer; 0 if it does not say.
    """

    text: str
    tokens_in: int = 0
    tokens_out: int = 0


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


class _AgainError(Exception):
    """The question may be tried again after some seconds; None means the usual wait."""

    def __init__(self, reason: str, seconds: float | None = None) -> None:
        super().__init__(reason)
        self.seconds = seconds


def ask(settings: LanguageModel, messages: Sequence[Mapping[str, str]]) -> Answer:
    """Ask a language model, and try again if the server is busy, fails or is too slow.

    :param settings: block `language_model` of operation.yaml; its address must be set.
    :param messages: messages with `role` and `content`.
    :raises RefusedError: if the server refuses the key, the model or the address, or redirects.
    :raises AnswerError: if there is no answer after `TRIES` tries, or one in another form.
    """
    key = _key(settings)
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    headers |= {"Authorization": f"Bearer {key}"} if key else {}
    body = json.dumps({"model": settings.model, "messages": list(messages)}).encode()
    request = urllib.request.Request(_endpoint(settings), data=body, headers=headers, method="POST")
    wait = FIRST_WAIT
    for last in range(TRIES - 1, -1, -1):
        try:
            return _answer_of(_sent(request, settings, key), settings)
        except _AgainError as again:
            seconds = wait if again.seconds is None else again.seconds
            if not last or seconds > LONGEST_WAIT:
                raise AnswerError(
                    f"{settings.address} gave no answer ({again}) in {TRIES - last} "
                    f"{'try' if last == TRIES - 1 else 'tries'}; expected one within {settings.timeout:g} seconds. Run "
                    "the command again later: answers so far are kept."
                ) from again
            time.sleep(seconds)
            wait *= 2
    raise AssertionError("unreachable")


def _endpoint(settings: LanguageModel) -> str:
    base = str(settings.address).rstrip("/")
    return base if base.endswith("/chat/completions") else f"{base}/chat/completions"


def _key(settings: LanguageModel) -> str:
    key = os.environ.get(settings.key_variable, "").strip()
    if not key.isascii() or not key.isprintable():
        raise RefusedError(
            f"the variable {settings.key_variable} holds characters that no key has; expected printable ASCII. Set it "
            "to the key again."
        )
    return key


def _sent(request: urllib.request.Request, settings: LanguageModel, key: str) -> bytes:
    """Send the request, and return the answer's body; `timeout` counts for the whole answer, not for each byte."""
    opener = urllib.request.build_opener(_NoRedirection)
    end = time.monotonic() + settings.timeout
    parts, size = [], 0
    try:
        with opener.open(request, timeout=settings.timeout) as response:
            while part := response.read1(65_536):
                parts.append(part)
                size += len(part)
                if size > LARGEST:
                    raise AnswerError(
                        f"{settings.address} sent more than {LARGEST:,} bytes; expected a short answer. Check address "
                        "and model in operation.yaml."
                    )
                if time.monotonic() > end:
                    raise _AgainError("too slow")
    except HTTPError as error:
        raise _of_status(error, settings, key) from error
    except TimeoutError as error:
        raise _AgainError("too slow") from error
    except URLError as error:
        raise _AgainError(
            "too slow" if isinstance(error.reason, TimeoutError) else printable(str(error.reason))
        ) from error
    except (OSError, HTTPException) as error:
        raise _AgainError(printable(str(error)) or type(error).__name__) from error
    return b"".join(parts)


def _of_status(error: HTTPError, settings: LanguageModel, key: str) -> Exception:
    """Return the exception for an HTTP status; a server that repeats the key in its message does not show it."""
    try:
        reason = error.read(10_000).decode(errors="replace")
    except (OSError, HTTPException):
        reason = ""
    reason = printable(reason.replace(key, "***") if key else reason, SHOWN) or "no reason"
    status, where = error.code, settings.address
    if status in (401, 403):
        refused = (
            f"the key in {settings.key_variable}" if key else f"a question without key: {settings.key_variable} is"
        )
        refused += "" if key else " not set"
        return RefusedError(f"{where} refused {refused} (status {status}: {reason}). Set the variable to a valid key.")
    if status in (404, 405) or status // 100 == 3:
        return RefusedError(
            f"{where} has no chat completions for model {settings.model!r} (status {status}: {reason}). Check address "
            "and model in operation.yaml; most addresses end in /v1."
        )
    if status == TOO_MANY or status >= SERVER_ERROR:
        return _AgainError(f"status {status}: {reason}", _retry_after(error.headers.get("Retry-After")))
    return AnswerError(f"{where} did not take the question (status {status}: {reason}). Check model in operation.yaml.")


def _retry_after(value: str | None) -> float | None:
    """Return the seconds of a header Retry-After, which holds seconds or a date."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _answer_of(body: bytes, settings: LanguageModel) -> Answer:
    try:
        record = json.loads(body)
        text = record["choices"][0]["message"]["content"]
        if not isinstance(text, str):
            raise TypeError("content is no text")
    except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
        raise AnswerError(
            f"{settings.address} answered {printable(body[:200].decode(errors='replace'), 60)!r}; expected JSON with "
            "choices[0].message.content. Check address in operation.yaml; most addresses end in /v1."
        ) from error
    usage = record.get("usage")
    return Answer(text, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))


def _count(usage: Any, key: Literal["prompt_tokens", "completion_tokens"]) -> int:
    number = usage.get(key) if isinstance(usage, dict) else None
    return number if isinstance(number, int) and number > 0 else 0
