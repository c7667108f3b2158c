"""Result of augmenting one dialogue."""

from __future__ import annotations

from typing import NamedTuple

from conversations.dialogue import Dialogue


class Made(NamedTuple):
    """A changed dialogue, or the original one with the reason.

    :param dialogue: Dialogue with changed turns, or the original if nothing could be changed.
    :param note: Clause that says why nothing was changed, else "".
    """

    dialogue: Dialogue
    note: str = ""
