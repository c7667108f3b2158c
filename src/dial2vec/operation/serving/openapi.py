"""The description of the server's interface, `api.yaml`, and a page that is made from it and needs no network."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import yaml

from dial2vec.config import Serve
from dial2vec.html import rendered
from dial2vec.operation.serving.refusals import OPENAI


@cache
def description(settings: Serve) -> dict[str, Any]:
    """Return the description (OpenAPI 3.1), with the limits of this server."""
    text = files("dial2vec.operation.serving").joinpath("api.yaml").read_text(encoding="utf-8")
    api: dict[str, Any] = yaml.safe_load(text.replace("MAX_DIALOGUES", str(settings.max_dialogues)))
    api["info"]["version"] = version("dial2vec")
    refusals = api.pop("refusals")
    for path, item in api["paths"].items():
        for operation in item.values():
            if operation.get("security") != []:
                schema = {"$ref": f"#/components/schemas/{'OpenAIError' if path.startswith(OPENAI) else 'Refusal'}"}
                meanings = refusals["every"] | (refusals["body"] if "requestBody" in operation else {})
                for status, answer in meanings.items():
                    operation["responses"][status] = answer | {"content": {"application/json": {"schema": schema}}}
    return api


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
        "conversations in a request": f"{settings.max_dialogues:,}",
        "tokens in a request": f"{settings.max_request_tokens:,}",
        "size of a request": f"{settings.max_body_bytes / 1e6:g} MB",
        "time to the answer": f"{settings.request_seconds:g} s",
        "requests that wait": f"{settings.max_waiting:,}",
    }
    return rendered("dial2vec.operation.serving", "api.html", api=api, operations=operations, limits=limits)


def _curl(address: str, operation: dict[str, Any]) -> str:
    line = f"curl {address}"
    if "requestBody" not in operation:
        return line
    body = json.dumps(operation["requestBody"]["content"]["application/json"]["example"])
    return f"{line} -H 'Content-Type: application/json' -d '{body}'"
