"""The description of the server's interface (OpenAPI 3.1), and a page that is made from it and needs no network."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any

from dial2vec.config import Serve
from dial2vec.html import templates
from dial2vec.operation.serving.job import EXAMPLE

Json = dict[str, Any]

STRING: Json = {"type": "string"}
INTEGER: Json = {"type": "integer"}
TEXT: Json = {"description": "OK.", "content": {"text/plain": {"schema": STRING}}}
MESSAGES = [{"role": "assistant", "content": "Hello?"}, {"role": "user", "content": "My card is lost."}]
LONG = {"X-Dialogues-Long": {"description": "Number of long dialogues, if there are any.", "schema": INTEGER}}
RETRY = {"Retry-After": {"description": "Seconds after which to try again.", "schema": INTEGER}}
# Status of a refusal -> what it means: of every request, and of one with a body.
REFUSALS = {
    "401": "The token is missing or wrong; only with --token-file.",
    "403": "A page of another server asks.",
    "421": "The request is for another host name.",
}
BODY_REFUSALS = {
    "400": "The body cannot be used; the message gives the reason.",
    "408": "The body was not complete in time.",
    "413": "The body has too many bytes, or the texts too many tokens.",
    "415": "The body has another content type or encoding.",
    "500": "The encoding failed.",
    "503": "Too many requests wait.",
    "504": "The vectors were not complete in time.",
}


@cache
def description(settings: Serve) -> Json:
    """Return the description, with the limits of this server."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "dial2vec", "description": "Vectors of whole conversations.", "version": version("dial2vec")},
        "security": [{}, {"token": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _request_schemas(settings.max_dialogues) | _answer_schemas(),
        },
    }


@lru_cache(maxsize=8)
def page(settings: Serve, address: str) -> str:
    """Return the page: each path with its answers, and a curl line to try.

    :param address: Address at which the page was found, such as "http://127.0.0.1:5601".
    """
    api = description(settings)
    operations = [
        {"path": path, "method": method.upper(), "curl": _curl(f"{address}{path}", about), "description": ""} | about
        for path, item in api["paths"].items()
        for method, about in item.items()
    ]
    limits = {
        "dialogues": settings.max_dialogues,
        "tokens": settings.max_request_tokens,
        "bytes": settings.max_body_bytes,
        "seconds to the answer": f"{settings.request_seconds:g}",
        "requests that wait": settings.max_waiting,
    }
    template = templates("dial2vec.operation.serving").get_template("api.html")
    return template.render(api=api, operations=operations, limits=limits)


def _curl(address: str, operation: Json) -> str:
    line = f"curl {address}"
    if "requestBody" not in operation:
        return line
    body = json.dumps(operation["requestBody"]["content"]["application/json"]["example"])
    return f"{line} -H 'Content-Type: application/json' -d '{body}'"


def _paths() -> Json:
    embeddings = _posted("EmbeddingRequest", {"messages": MESSAGES}, "Embeddings", "OpenAIError")
    embeddings["description"] = (
        "Give either input, texts that are dialogues of one turn, or messages, one conversation or a list of them."
    )
    invocations = _posted("Invocation", {"inputs": [EXAMPLE]}, "Predictions", "Refusal")
    models, version_, metrics = _json(_schema("Models")), _json({"type": "object"}), TEXT
    ready = {"200": TEXT, "503": _json(_schema("Refusal"), "The server ends, or too many wait.") | {"headers": RETRY}}
    return {
        "/v1/embeddings": {"post": {"summary": "Vectors, in OpenAI's form", **embeddings}},
        "/v1/models": {"get": {"summary": "The served model, in OpenAI's form"} | _read(models, "OpenAIError")},
        "/invocations": {"post": {"summary": "Vectors, in MLflow's form", **invocations}},
        "/version": {"get": {"summary": "Model, version and length of vectors"} | _read(version_, "Refusal")},
        "/metrics": {"get": {"summary": "Figures for Prometheus"} | _read(metrics, "Refusal")},
        "/livez": {"get": _open("Whether the process answers")},
        "/readyz": {"get": _open("Whether a request would be taken now") | {"responses": ready}},
        "/health": {"get": _open("The same as /livez, under MLflow's name")},
        "/ping": {"get": _open("The same as /livez, under another name of MLflow's")},
        "/openapi.json": {"get": _open("This description")},
    }


def _posted(request: str, example: object, answer: str, error: str) -> Json:
    refusals = _refusals(REFUSALS | BODY_REFUSALS, error)
    for status in ("503", "504"):
        refusals[status]["headers"] = RETRY
    vectors = _json(_schema(answer), "A vector per dialogue, in their order.") | {"headers": LONG}
    body = {"application/json": {"schema": _schema(request), "example": example}}
    return {"requestBody": {"required": True, "content": body}, "responses": {"200": vectors} | refusals}


def _read(answer: Json, error: str) -> Json:
    return {"responses": {"200": answer} | _refusals(REFUSALS, error)}


def _open(summary: str) -> Json:
    return {"summary": summary, "security": [], "responses": {"200": TEXT}}


def _refusals(meanings: dict[str, str], error: str) -> Json:
    return {status: _json(_schema(error), meaning) for status, meaning in meanings.items()}


def _json(schema: Json, meaning: str = "OK.") -> Json:
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}


def _schema(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: tuple[str, ...] = (), **properties: Json) -> Json:
    return {"type": "object", "required": list(required), "properties": properties}


def _list(items: Json, most: int | None = None) -> Json:
    return {"type": "array", "items": items} | ({"minItems": 1, "maxItems": most} if most else {})


def _request_schemas(most: int) -> Json:
    part = _object(type=STRING, text=STRING)
    content = {
        "anyOf": [STRING, _list(part), {"type": "null"}],
        "description": "A text, or parts with texts; others are left out.",
    }
    conversation = _schema("Conversation")
    embedding = _object(
        model=STRING | {"description": "Name that /v1/models gives."},
        input={"anyOf": [STRING, _list(STRING, most)]},
        messages={"anyOf": [conversation, _list(conversation, most)]},
        encoding_format={"enum": ["float", "base64"], "description": "base64 holds float32, little-endian."},
        dimensions=INTEGER | {"description": "Only the model's own number is accepted."},
        user=STRING | {"description": "Not used."},
    )
    speaker = {"type": ["string", "integer"]}
    dialogue_id = STRING | {"description": "Only used in messages."}
    return {
        "Message": _object(("role", "content"), role=STRING, content=content),
        "Conversation": _list(_schema("Message")),
        "EmbeddingRequest": embedding | {"oneOf": [{"required": ["input"]}, {"required": ["messages"]}]},
        "Turn": _object(("speaker", "text"), speaker=speaker, text=STRING),
        "Dialogue": _object(("turns",), dialogue_id=dialogue_id, turns=_list(_schema("Turn"))),
        "Invocation": _object(("inputs",), inputs=_list(_schema("Dialogue"), most)),
    }


def _answer_schemas() -> Json:
    vector = _list({"type": "number"})
    embedding = _object(object={"const": "embedding"}, index=INTEGER, embedding={"anyOf": [vector, STRING]})
    usage = _object(prompt_tokens=INTEGER, total_tokens=INTEGER)
    model = _object(id=STRING, object={"const": "model"}, created=INTEGER, owned_by=STRING)
    return {
        "Embeddings": _object(object={"const": "list"}, data=_list(embedding), model=STRING, usage=usage),
        "Models": _object(object={"const": "list"}, data=_list(model)),
        "Predictions": _object(predictions=_list(vector)),
        "Refusal": _object(error_code=STRING, message=STRING),
        "OpenAIError": _object(error=_object(message=STRING, type=STRING, param={"type": "null"}, code=STRING)),
    }
