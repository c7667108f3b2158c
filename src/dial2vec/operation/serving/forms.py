"""Forms of requests and answers: MLflow's (`/invocations`), OpenAI's (`/v1/embeddings`), Cohere's (`/v1/rerank`)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, RecordError, dialogue_from_record
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import CorpusError, described, did_you_mean
from dial2vec.operation.serving.refusals import RefusedRequestError

SHAPE = '{"inputs": [{"turns": [{"speaker": "...", "text": "..."}]}]}'
KEYS = ("model", "input", "messages", "encoding_format", "dimensions", "truncate_prompt_tokens")
RERANK_KEYS = ("model", "query", "documents", "top_n", "return_documents")
# Keys of other servers that change nothing here: dialogues are read whole, and questions as dialogues are.
IGNORED = ("user", "input_type", "truncate", "priority", "request_id")
INPUT = 'a text, a conversation of {"role", "content"}, or a list of texts or conversations'
# Clients number tokens by their own vocabularies, and most of these numbers are in that of the encoder, too.
TOKENS = (
    "found token numbers, which do not tell their vocabulary; expected texts. In LangChain set "
    "check_embedding_ctx_length=False."
)
# Speaker of a text that is a dialogue of one turn.
SPEAKER = "user"

unfit = partial(RefusedRequestError, 400, "form")


@dataclass(frozen=True, slots=True)
class EncodingRequest:
    """A request that is read.

    :param answer: Function that returns the answer from their vectors, float32 [n, d], and the number of their tokens.
    """

    dialogues: list[Dialogue]
    answer: Callable[[NDArray[np.float32], int], dict[str, Any]]


def read_invocation(request: object, about: dict[str, Any], most: int) -> EncodingRequest:
    """Return the dialogues of a request in MLflow's form, in its order.

    :param request: Decoded JSON.
    :param about: Name of the model, and dimension of its vectors.
    :param most: Number of dialogues at most.
    :raises RefusedRequestError: if it holds anything else; the message names a dialogue by its number (from 1) and id.
    """
    if not isinstance(request, dict) or list(request) != ["inputs"] or not isinstance(request["inputs"], list):
        raise unfit(f"expected {SHAPE} and no other keys beside 'inputs'.")
    _check_number(request["inputs"], most)
    dialogues = [_dialogue(record, number) for number, record in enumerate(request["inputs"], start=1)]
    return EncodingRequest(dialogues, lambda vectors, tokens: {"predictions": vectors.tolist()})


def read_embeddings(request: Any, about: dict[str, Any], most: int) -> EncodingRequest:
    """Return the dialogues of a request in OpenAI's form; parameters and errors are those of `read_invocation`.

    :param request: Decoded JSON with `input` or `messages`, which mean the same: a text, which is a dialogue of one
        turn, a conversation of messages, or a list of either.
    """
    _check_keys(request, KEYS, about["model"])
    form = request.get("encoding_format") or "float"
    if form not in ("float", "base64"):
        raise unfit(f"'encoding_format' must be float or base64, found {described(form)[:100]}.")
    if request.get("dimensions") not in (None, dimension := about["dimension"]):
        given = described(request["dimensions"])[:100]
        reason = f"vectors of this model have {dimension} dimensions; found {given}. Leave it out."
        raise RefusedRequestError(400, "dimensions", reason)
    if request.get("truncate_prompt_tokens") not in (None, -1):
        raise unfit("'truncate_prompt_tokens' cuts texts, which are read whole here. Leave it out, or set it to -1.")
    sources = [request[key] for key in ("input", "messages") if request.get(key) is not None]
    if len(sources) != 1:
        raise unfit(f'expected either "input" or "messages", {INPUT}.')
    answer = partial(_embeddings, model=about["model"], as_base64=form == "base64")
    return EncodingRequest(_dialogues(sources[0], most), answer)


def read_rerank(request: Any, about: dict[str, Any], most: int) -> EncodingRequest:
    """Return a question and dialogues in Cohere's form; parameters and errors are those of `read_invocation`.

    The question, the dialogues and each of their turns alone are encoded. A dialogue's score is the mean of two cosines
    to the question: its own, and that of its nearest turn.

    :param request: Decoded JSON with `query`, a text, and `documents`, a list of texts or conversations.
    """
    _check_keys(request, RERANK_KEYS, about["model"])
    query, documents, top = (request.get(key) for key in ("query", "documents", "top_n"))
    if not (isinstance(query, str) and query.strip() and isinstance(documents, list)) or dict in map(type, documents):
        raise unfit('expected "query", a text, and "documents", a list of texts or conversations.')
    if top is not None and (type(top) is not int or top < 1):
        raise unfit(f"'top_n' must be a number from 1, found {described(top)[:100]}.")
    dialogues = _dialogues(documents, most)
    turns = [Dialogue(dialogue.dialogue_id, (turn,)) for dialogue in dialogues for turn in dialogue.turns]
    first = np.cumsum([0, *(len(dialogue.turns) for dialogue in dialogues[:-1])])

    def answer(vectors: NDArray[np.float32], tokens: int) -> dict[str, Any]:
        whole, nearest = np.split((unit := unit_rows(vectors))[1:] @ unit[0], [len(first)])
        scores = (whole + np.maximum.reduceat(nearest, first)) / 2
        order = np.argsort(-scores, kind="stable")[:top].tolist()
        results = [{"index": at, "relevance_score": float(scores[at])} for at in order]
        if request.get("return_documents"):
            results = [result | {"document": documents[result["index"]]} for result in results]
        return {"model": about["model"], "results": results, "usage": {"total_tokens": tokens}}

    return EncodingRequest([_of_item(query, 0), *dialogues, *turns], answer)


def _embeddings(vectors: NDArray[np.float32], tokens: int, *, model: str, as_base64: bool) -> dict[str, Any]:
    values = vectors.tolist()
    if as_base64:
        values = [base64.b64encode(vector.tobytes()).decode("ascii") for vector in vectors.astype("<f4")]
    return {
        "object": "list",
        "data": [{"object": "embedding", "index": index, "embedding": value} for index, value in enumerate(values)],
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _check_number(dialogues: Sequence[object], most: int) -> None:
    if not 1 <= len(dialogues) <= most:
        reason = f"found {len(dialogues)} dialogues; expected 1 to {most} in a request."
        raise RefusedRequestError(400, "number", reason)


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


def _check_keys(request: object, keys: Sequence[str], model: str) -> None:
    if not isinstance(request, dict):
        raise unfit(f"expected an object with some of the keys {', '.join(keys)}.")
    if unknown := [key for key in request if key not in (*keys, *IGNORED)]:
        name = unknown[0][:40]
        raise unfit(f"found the key '{name}'.{did_you_mean(name, keys)} Valid: {', '.join((*keys, *IGNORED))}.")
    if request.get("model") not in (None, model):
        given = described(request["model"])[:100]
        raise RefusedRequestError(404, "model_not_found", f"expected the model '{model}', found {given}.")


def _dialogues(given: object, most: int) -> list[Dialogue]:
    items = given if isinstance(given, list) and not (given and isinstance(given[0], dict)) else [given]
    _check_number(items, most)
    return [_of_item(item, number) for number, item in enumerate(items, start=1)]


def _of_item(item: object, number: int) -> Dialogue:
    if isinstance(item, str):
        return _dialogue({"turns": [{"speaker": SPEAKER, "text": item}]}, number)
    if isinstance(item[0] if isinstance(item, list) and item else item, int):
        raise unfit(TOKENS)
    if not isinstance(item, list):
        raise unfit(f"expected {INPUT}, found {described(item)[:100]}.")
    try:
        return Dialogue.from_messages(item, dialogue_id=str(number))
    except CorpusError as error:
        raise RefusedRequestError(400, "dialogue", str(error)) from None
