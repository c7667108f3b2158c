"""What the tables of the commands share: the width of the terminal, and texts that fit into it."""

from __future__ import annotations

import shutil
import textwrap

from conversations.words import printable


def width() -> int:
    """Return the width of a table, in characters."""
    return min(shutil.get_terminal_size().columns, 140)


def fitted(text: object, room: int, *, least: int = 0) -> str:
    """Return a text on one line that ends after a word.

    :param room: most characters.
    :param least: most characters on narrower terminals.
    """
    return textwrap.shorten(printable(str(text)), max(least, room), placeholder=" ...")
