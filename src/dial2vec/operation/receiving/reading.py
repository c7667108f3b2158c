"""Bodies of requests, as lines of JSON with the conversation to which each belongs."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as otlp

from conversations.by_recipe.known import known_recipes
from conversations.by_recipe.recipe import Recipe
from conversations.by_recipe.recognising import recipe_of_records, record_recipes
from conversations.formats.records import Record
from conversations.formats.spans import unfolded
from conversations.values.cells import as_name
from conversations.words import without_halves
from dial2vec.operation.serving.refusals import RefusedRequestError

JSON, PROTOBUF = "application/json", "application/x-protobuf"
# A trace's id and a span's, of which none has zeros only.
IDS = re.compile("(?!0+/)[0-9a-fA-F]{32}/(?!0+$)[0-9a-fA-F]{16}")
UNUSABLE = "spans without a trace id of 16 bytes and a span id of 8 cannot be used"
# By the header of a signature: the header of the time, and what stands before the body and before the digits.
# https://www.chatwoot.com/hc/user-guide/articles/1677693021-how-to-use-webhooks
# https://docs.slack.dev/authentication/verifying-requests-from-slack
SIGNATURES = {
    b"x-chatwoot-signature": (b"x-chatwoot-timestamp", b"%b.", "sha256="),
    b"x-slack-signature": (b"x-slack-request-timestamp", b"v0:%b:", "v0="),
}
# An older request with a signature may have been recorded and sent again.
VALID_S = 300
Mask = Callable[[Any], Any]
Items = list[tuple[str, str, str, str]]


def read_traces(body: bytes, form: str, mask: Mask) -> tuple[Items, bytes]:
    """Return the spans of a request as lines of OTLP/JSON, and the answer in the form of the request.

    https://opentelemetry.io/docs/specs/otlp/#otlphttp

    :raises RefusedRequestError: if the body is no request of OTLP.
    """
    try:
        content = _decoded(body, form)
    except (DecodeError, json_format.ParseError, RecursionError, UnicodeDecodeError) as error:
        raise RefusedRequestError(400, "otlp", f"the body is no ExportTraceServiceRequest ({error}).") from error
    items, answer = [], otlp.ExportTraceServiceResponse()
    around = (
        (resource, scope) for resource in content.get("resourceSpans", ()) for scope in resource.get("scopeSpans", ())
    )
    for resource, scope, span in ((*outer, span) for outer in around for span in outer[1].get("spans", ())):
        key, trace = f"{span.get('traceId')}/{span.get('spanId')}", f"otlp/{span.get('traceId')}"
        if not IDS.fullmatch(key):
            answer.partial_success.rejected_spans += 1
            answer.partial_success.error_message = UNUSABLE
            continue
        line = mask({"resourceSpans": [resource | {"scopeSpans": [scope | {"spans": [span]}]}]})
        values = next(unfolded(iter([Record(1, line)]))).values
        recipe = recipe_of_records([values], map(known_recipes().__getitem__, ("mlflow", "otel_genai")))
        session = _id(recipe, values)
        items.append((key, trace, f"otlp/{session}" if session else trace, _line(line)))
    return items, json_format.MessageToJson(answer).encode() if form == JSON else answer.SerializeToString()


def _decoded(body: bytes, form: str) -> dict[str, Any]:
    """Return OTLP/JSON, in which ids have hexadecimal digits where other JSON of Protobuf has base64."""
    request = otlp.ExportTraceServiceRequest()
    if form == JSON:
        # Digits come out of base64 as they went in.
        json_format.Parse(body, request, ignore_unknown_fields=True)
    else:
        request.ParseFromString(body)
        for span in (span for resource in request.resource_spans for s in resource.scope_spans for span in s.spans):
            for name in ("trace_id", "span_id", "parent_span_id"):
                setattr(span, name, base64.b64decode(getattr(span, name).hex() + "=="))
    content: dict[str, Any] = json_format.MessageToDict(request, use_integers_for_enums=True)
    return content


def failure(reason: str, form: str) -> bytes:
    """Return the body of a refusal: google.rpc.Status, whose message has the number of an error_message here."""
    status = otlp.ExportTracePartialSuccess(error_message=reason)
    return status.SerializeToString() if form == PROTOBUF else json.dumps({"message": reason}).encode()


def read_webhook(content: Any, mask: Mask) -> Items:
    """Return the body of a webhook, or each object of a list, with the id that the recipe for it finds.

    :raises RefusedRequestError: if it has no objects.
    """
    items = []
    for values in content if isinstance(content, list) else [content]:
        if not isinstance(values, dict):
            raise RefusedRequestError(400, "webhook", "expected a JSON object, or a list of objects.")
        masked = mask(values)
        recipe = recipe_of_records([masked], record_recipes())
        key = hashlib.sha256(line := _line(masked).encode()).hexdigest()
        conversation = f"{recipe.name if recipe else 'webhook'}/{_id(recipe, masked) or key}"
        items.append((key, conversation, conversation, line.decode()))
    return items


def is_signed(headers: dict[bytes, bytes], body: bytes, secret: bytes) -> bool:
    """Return whether a body has a valid signature, which is an HMAC with SHA-256, and is not old."""
    for name, (clock, before, mark) in SIGNATURES.items():
        at = headers.get(clock, b"")
        if name in headers and at.isdigit() and abs(time.time() - int(at)) <= VALID_S:
            expected = mark + hmac.new(secret, before % at + body, hashlib.sha256).hexdigest()
            return hmac.compare_digest(headers[name], expected.encode())
    return False


def _id(recipe: Recipe | None, values: dict[str, Any]) -> str:
    return as_name(recipe.id(values)) if recipe and recipe.id else ""


def _line(values: Any) -> str:
    return without_halves(json.dumps(values, ensure_ascii=False, separators=(",", ":")))
