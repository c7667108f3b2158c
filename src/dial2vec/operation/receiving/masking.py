"""Masks personal data in spans and bodies of webhooks before they are stored."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

from conversations.guessing.names import is_role, plain
from conversations.redaction import Redactor, personal_kind

Mask = Callable[[Any], Any]
# A longer value of a key such as `user` is what the user said.
NAME_WORDS = 4


def without_personal(content: Any, secret: bytes) -> Any:
    """Return decoded JSON with masks, also in JSON inside its texts.

    A person's name in a field of its own, and an id with an address, become digits that are the same each time, so that
    a conversation keeps one id, and its speakers one name each.

    :param secret: Key of the digits: who does not know it cannot try names.
    """
    names: set[str] = set()
    _changed(content, "", lambda key, text: names.add(text) if _is_name(key, text) else None)
    redactor = Redactor(sorted(names))

    def mask(key: str, text: str) -> str:
        if _is_name(key, text) or (plain(key).endswith("id") and redactor.identifies(text)):
            return f"person {hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()[:12]}"
        kind = personal_kind(key) if key else ""
        return f"[{kind}]" if kind in ("EMAIL", "PHONE") else redactor.text(text)

    return _changed(content, "", mask)


def _is_name(key: str, text: str) -> bool:
    short = 0 < len(text.split()) <= NAME_WORDS and not text.isdecimal()
    return bool(key) and short and personal_kind(key) == "NAME" and not is_role(text)


def _changed(value: Any, key: str, change: Callable[[str, str], Any]) -> Any:
    """Return a value whose texts are changed, each with its key: that of an object, or of an attribute in OTLP."""
    if isinstance(value, str):
        try:
            inner = json.loads(value) if value[:1] in ("{", "[") else None
        except (ValueError, RecursionError):
            inner = None
        return change(key, value) if inner is None else json.dumps(_changed(inner, key, change), ensure_ascii=False)
    if isinstance(value, list):
        return [_changed(item, key, change) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("key"), str) and "value" in value:
        return value | {"value": _changed(value["value"], value["key"], change)}
    # The own name of a span or of an event is no person's.
    keys = dict.fromkeys(("stringValue", "arrayValue", "values"), key)
    keys |= {"name": ""} if {"spanId", "timeUnixNano"} & value.keys() else {}
    return {name: _changed(item, str(keys.get(name, name)), change) for name, item in value.items()}
