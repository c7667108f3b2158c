"""What a corpus reader offers to the stages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Protocol

from dial2vec.dialogue import Dialogue, SetAside

Splitting = Literal["official", "shuffled", "hashed"]


class Corpus(Protocol):
    """One corpus: where it comes from and how its files become dialogues.

    :param url: upstream archive, or None when there is nothing to download.
    :param splitting: "official" (each dialogue carries its split), "shuffled" (seeded shuffle over sorted ids, exact
        shares: for closed benchmark corpora) or "hashed" (each id decides by itself, so a dialogue keeps its split
        when new ones arrive: for corpora that grow).
    """

    url: str | None
    splitting: Splitting

    def read(self, folder: Path, *, set_aside: list[SetAside]) -> Iterator[Dialogue]:
        """Stream the dialogues found in `folder` (`data/<corpus>`); what cannot be used goes to `set_aside`.

        :raises CorpusError: when the files are missing or damaged.
        """
        ...

    def missing(self, folder: Path) -> list[str]:
        """Return the upstream files that are not there, by their upstream names; empty when complete."""
        ...
