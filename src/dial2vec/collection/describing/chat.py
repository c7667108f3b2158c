"""Asking a language model at any address that speaks OpenAI's interface of chat completions.

Only `model` and `messages` are sent: some servers refuse a temperature, others a limit of tokens under one of its two
names. Redirections are not followed, because the key would go to the new address, too.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal

from conversations.words import printable
from dial2vec.config import LanguageModel
from dial2vec.errors import Dial2vecError

if TYPE_CHECKING:
    import httpx

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
class ModelAnswer:
    """An answer of a language model.

    :param text: text of the answer.
    :param tokens_in: tokens that the server counted in the question; 0 if it does not say.
    :param tokens_out: tokens that it counted in the answer; 0 if it does not say.
    """

    text: str
    tokens_in: int = 0
    tokens_out: int = 0


class _AgainError(Exception):
    """The question may be tried again after some seconds; None means the usual wait."""

    def __init__(self, reason: str, seconds: float | None = None) -> None:
        super().__init__(reason)
        self.seconds = seconds


def ask(settings: LanguageModel, messages: Sequence[Mapping[str, str]]) -> ModelAnswer:
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
    wait = FIRST_WAIT
    for last in range(TRIES - 1, -1, -1):
        try:
            return _answer_of(_sent(body, headers, settings, key), settings)
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


def _sent(question: bytes, headers: Mapping[str, str], settings: LanguageModel, key: str) -> bytes:
    """Send the question, and return the answer's body; `timeout` counts for the whole answer, not for each byte."""
    import httpx

    body, end = bytearray(), time.monotonic() + settings.timeout
    try:
        with httpx.stream(
            "POST", _endpoint(settings), content=question, headers=headers, timeout=settings.timeout
        ) as response:
            for part in response.iter_bytes():
                body += part
                if len(body) > LARGEST:
                    raise AnswerError(
                        f"{settings.address} sent more than {LARGEST:,} bytes; expected a short answer. Check address "
                        "and model in operation.yaml."
                    )
                if time.monotonic() > end:
                    raise _AgainError("too slow")
    except httpx.TimeoutException as error:
        raise _AgainError("too slow") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _AgainError(printable(str(error)) or type(error).__name__) from error
    if not response.is_success:
        raise _of_status(response, body.decode(errors="replace"), settings, key)
    return bytes(body)


def _of_status(response: httpx.Response, reason: str, settings: LanguageModel, key: str) -> Exception:
    """Return the exception for a status; a server that repeats the key in its message does not show it."""
    reason = printable(reason.replace(key, "***") if key else reason, SHOWN) or "no reason"
    status, where, variable = response.status_code, settings.address, settings.key_variable
    if status in (401, 403):
        refused = f"the key in {variable}" if key else f"a question without key: {variable} is not set"
        return RefusedError(f"{where} refused {refused} (status {status}: {reason}). Set the variable to a valid key.")
    if status in (404, 405) or status // 100 == 3:
        return RefusedError(
            f"{where} has no chat completions for model {settings.model!r} (status {status}: {reason}). Check address "
            "and model in operation.yaml; most addresses end in /v1."
        )
    if status == TOO_MANY or status >= SERVER_ERROR:
        return _AgainError(f"status {status}: {reason}", _retry_after(response.headers.get("Retry-After")))
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


def _answer_of(body: bytes, settings: LanguageModel) -> ModelAnswer:
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
    return ModelAnswer(text, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))


def _count(usage: Any, key: Literal["prompt_tokens", "completion_tokens"]) -> int:
    number = usage.get(key) if isinstance(usage, dict) else None
    return number if isinstance(number, int) and number > 0 else 0
