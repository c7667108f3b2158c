"""Masks for personal data in dialogues; docs/import.md."""

from __future__ import annotations

from conversations.redaction.details import COUNTRIES
from conversations.redaction.redactor import Masks, Redactor, join_and_mask, personal_kind, redact

__all__ = ["COUNTRIES", "Masks", "Redactor", "join_and_mask", "personal_kind", "redact"]
