"""The two forms of requests and answers: MLflow's (`/invocations`) and OpenAI's (`/v1/embeddings`)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, RecordError, dialogue_from_record
from dial2vec.errors import CorpusError, described, did_you_mean
from dial2vec.operation.serving.refusals import RefusedRequestError

SHAPE = '{"inputs": [{"turns": [{"speaker": "...", "text": "..."}]}]}'
# Keys of OpenAI's form; "user" is the client's own note.
KEYS = ("model", "input", "messages", "encoding_format", "dimensions", "user")
FORMATS = ("float", "base64")
MESSAGES = '"messages", a list of {"role", "content"}, or a list of such lists'
# Speaker of a text that is a dialogue of one turn.
SPEAKER = "user"


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """A request in OpenAI's form.

    :param dialogues: Dialogues in the order of the request.
    :param base64: Whether vectors are wanted as base64 of float32, little-endian, instead of numbers.
    """

    dialogues: list[Dialogue]
    base64: bool


def read_invocation(request: object, *, max_dialogues: int) -> list[Dialogue]:
    """Return the dialogues of a request in MLflow's form, 1 to `max_dialogues`, in its order.

    :param request: Decoded JSON.
    :raises RefusedRequestError: if it holds anything else; the message names a dialogue by its number (from 1) and id.
    """
    if not isinstance(request, dict) or list(request) != ["inputs"] or not isinstance(request["inputs"], list):
        raise RefusedRequestError(400, "form", f"expected {SHAPE} and no other keys beside 'inputs'.")
    records = request["inputs"]
    _check_number(records, max_dialogues)
    return [_dialogue(record, number) for number, record in enumerate(records, start=1)]


def read_embeddings(request: object, *, model: str, dimension: int, max_dialogues: int) -> EmbeddingRequest:
    """Return the dialogues of a request in OpenAI's form.

    :param request: Decoded JSON with `input`, a text or a list of texts, each a dialogue of one turn; or with
        `messages`, one conversation or a list of conversations.
    :param model: Name of the model that is served.
    :param dimension: Length of its vectors.
    :raises RefusedRequestError: if it holds anything else.
    """
    if not isinstance(request, dict):
        raise RefusedRequestError(
            400, "form", f'expected an object with "input", a text or a list of texts, or {MESSAGES}.'
        )
    if unknown := [key for key in request if key not in KEYS]:
        name = unknown[0][:40]
        raise RefusedRequestError(
            400, "form", f"found the key '{name}'.{did_you_mean(name, KEYS)} Valid: {', '.join(KEYS)}."
        )
    if request.get("model") not in (None, model):
        given = described(request["model"])[:100]
        raise RefusedRequestError(404, "model_not_found", f"expected the model '{model}', found {given}.")
    form = request.get("encoding_format") or "float"
    if form not in FORMATS:
        raise RefusedRequestError(
            400, "form", f"'encoding_format' must be float or base64, found {described(form)[:100]}."
        )
    if request.get("dimensions") not in (None, dimension):
        given = described(request["dimensions"])[:100]
        raise RefusedRequestError(
            400, "dimensions", f"vectors of this model have {dimension} dimensions; found {given}. Leave it out."
        )
    texts, messages = request.get("input"), request.get("messages")
    if (texts is None) == (messages is None):
        raise RefusedRequestError(400, "form", f'expected either "input", a text or a list of texts, or {MESSAGES}.')
    dialogues = _of_texts(texts, max_dialogues) if messages is None else _of_messages(messages, max_dialogues)
    return EmbeddingRequest(dialogues, form == "base64")


def embeddings(vectors: NDArray[np.float32], *, model: str, tokens: int, as_base64: bool) -> dict[str, Any]:
    """Return the answer in OpenAI's form."""
    values = [_base64(vector) for vector in vectors] if as_base64 else vectors.tolist()
    return {
        "object": "list",
        "data": [{"object": "embedding", "index": index, "embedding": value} for index, value in enumerate(values)],
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _base64(vector: NDArray[np.float32]) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")


def _check_number(dialogues: Sequence[object], most: int) -> None:
    if not 1 <= len(dialogues) <= most:
        raise RefusedRequestError(
            400, "number", f"found {len(dialogues)} dialogues; expected 1 to {most} in a request."
        )


def _dialogue(record: object, number: int) -> Dialogue:
    name = f"dialogue {number}"
    if isinstance(record, dict):
        # The registered model names dialogues in the same way. Other keys of a record do not change its vector.
        name += f" ({str(record['dialogue_id'])[:40]!r})" if record.get("dialogue_id") else ""
        record = {"dialogue_id": name} | {key: record[key] for key in record if key == "turns"}
    try:
        return dialogue_from_record(record)
    except RecordError as error:
        raise RefusedRequestError(400, "dialogue", f"{name}: {error}.") from None


def _of_texts(given: object, most: int) -> list[Dialogue]:
    texts = [given] if isinstance(given, str) else given
    if isinstance(texts, list):
        _check_number(texts, most)
        if any(isinstance(text, int) or (isinstance(text, list) and text) for text in texts):
            raise RefusedRequestError(
                400, "form", '"input" holds token numbers, which mean nothing to this model; expected texts.'
            )
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise RefusedRequestError(
            400, "form", f'"input" must be a text or a list of texts, found {described(given)[:100]}.'
        )
    return [
        _dialogue({"turns": [{"speaker": SPEAKER, "text": text}]}, number) for number, text in enumerate(texts, start=1)
    ]


def _of_messages(given: object, most: int) -> list[Dialogue]:
    conversations = [given] if isinstance(given, list) and given and isinstance(given[0], dict) else given
    if not isinstance(conversations, list) or not all(isinstance(talk, list) for talk in conversations):
        raise RefusedRequestError(400, "form", f"expected {MESSAGES}, found {described(given)[:100]}.")
    _check_number(conversations, most)
    try:
        return [Dialogue.from_messages(talk, dialogue_id=str(number)) for number, talk in enumerate(conversations, 1)]
    except CorpusError as error:
        raise RefusedRequestError(400, "dialogue", str(error)) from None
