"""The dialogues of a file as a sequence that reads each from disk when it is asked for."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import overload

import numpy as np

from conversations.dialogue import Dialogue, dialogues_of_lines, read_dialogues
from conversations.files import reading_errors


class DialogueFile(Sequence[Dialogue]):
    """The dialogues of a JSON Lines file; memory holds 8 bytes for each.

    A stage that draws some thousands of a million dialogues needs no more than these. Items are read at every access;
    iteration reads the file once, from its beginning.

    :param path: File in UTF-8, not packed, such as a split. It must not change while it is used.
    :raises CorpusError: if the file is missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        starts, place = array("q"), 0
        with reading_errors(path), path.open("rb") as lines:
            for line in lines:
                if line.strip():
                    starts.append(place)
                place += len(line)
        self._starts = np.array(starts, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, place: int) -> Dialogue: ...

    @overload
    def __getitem__(self, place: slice) -> list[Dialogue]: ...

    def __getitem__(self, place: int | slice) -> Dialogue | list[Dialogue]:
        """Return a dialogue, or those of a slice.

        :raises IndexError: if there is no such dialogue.
        :raises CorpusError: if its line is not a dialogue.
        """
        if isinstance(place, slice):
            return [self[number] for number in range(len(self))[place]]
        number = range(len(self))[place]
        with reading_errors(self.path), self.path.open("rb") as lines:
            lines.seek(self._starts[number])
            line = lines.readline().decode("utf-8-sig")
        # The number of the line is that of the dialogue: files written here have no blank lines.
        return next(dialogues_of_lines([(number + 1, line)], self.path))

    def __iter__(self) -> Iterator[Dialogue]:
        return islice(read_dialogues(self.path, may_be_empty=True), len(self))
