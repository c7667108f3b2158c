"""Masks addresses and numbers in spans and bodies of webhooks before they are stored."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

from conversations.redaction import Redactor


class Masking:
    """Masks e-mail addresses, phone and card numbers in decoded JSON, also in JSON inside its texts.

    An address or a number alone, which may be the id of a session, gets digits that are the same each time: sessions
    stay apart. Names stay: one message does not tell who else speaks, as the import knows.

    :param secret: Key of the digits; who does not know it cannot try addresses.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret, self._redactor = secret, Redactor(())

    def __call__(self, value: Any) -> Any:
        """Return a value with masks."""
        if isinstance(value, dict):
            return {name: self(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self(item) for item in value]
        return self._masked(value) if isinstance(value, str) else value

    def _masked(self, text: str) -> str:
        if text[:1] in ("{", "["):
            try:
                return json.dumps(self(json.loads(text)), ensure_ascii=False)
            except (ValueError, RecursionError):
                pass
        masked = self._redactor.text(text)
        if masked == text or text.split() != [text]:
            return masked
        return masked.replace("]", f" {hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()[:12]}]", 1)
