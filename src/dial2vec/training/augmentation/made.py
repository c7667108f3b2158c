"""What an augmentation of one dialogue gives back."""

from __future__ import annotations

from typing import NamedTuple

from dial2vec.dialogue import Dialogue


class Made(NamedTuple):
    """A changed dialogue, or the same one with the reason.

    :param dialogue: with other turns; the original where nothing could be changed.
    :param note: why nothing was changed, or what was left out, a clause; empty otherwise.
    """

    dialogue: Dialogue
    note: str = ""
