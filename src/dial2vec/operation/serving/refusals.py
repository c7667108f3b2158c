"""Refusals of the server: a status, a reason in one sentence, and a word for counting them."""

from __future__ import annotations

from http import HTTPStatus

from starlette.responses import JSONResponse

from conversations.words import without_halves

OPENAI = "/v1/"


class RefusedRequestError(Exception):
    """A request that gets no vectors.

    :param kind: Word for the kind of the reason, such as "queue_full"; a label of the metrics and a code of OpenAI's.
    :param headers: Headers of the answer, with "_" for "-".
    """

    def __init__(self, status: int, kind: str, reason: str, **headers: str) -> None:
        # It may repeat what a client sent, and no answer can hold half of a character.
        super().__init__(without_halves(reason))
        self.status, self.kind = status, kind
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class GoneError(Exception):
    """The client has closed the connection and waits for no answer."""


def refusal_answer(refusal: RefusedRequestError, path: str) -> JSONResponse:
    """Return the answer: in OpenAI's form for its paths, else in MLflow's."""
    if path.startswith(OPENAI):
        kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
        error = {"message": str(refusal), "type": kind, "param": None, "code": refusal.kind}
        return JSONResponse({"error": error}, refusal.status, refusal.headers)
    content = {"error_code": HTTPStatus(refusal.status).name, "message": str(refusal)}
    return JSONResponse(content, refusal.status, refusal.headers)
