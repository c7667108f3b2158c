"""Exports of conversations as `Dialogue`s: `read("calls.csv")` reads any of some 350 kinds, and needs no numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conversations.dialogue import Dialogue, Turn

if TYPE_CHECKING:
    from conversations.options import Options
    from conversations.reading import read

__all__ = ["Dialogue", "Options", "Turn", "read"]


def __getattr__(name: str) -> Any:
    # The formats are imported when a file is read, so that `Dialogue` alone costs nothing.
    if name == "read":
        from conversations.reading import read

        return read
    if name == "Options":
        from conversations.options import Options

        return Options
    raise AttributeError(f"module 'conversations' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
