"""Interface of corpus readers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Protocol, runtime_checkable

from conversations.dialogue import Dialogue, Quarantined
from dial2vec.config import Read

Splitting = Literal["official", "shuffled", "hashed", "joint"]
# Environment variable with the mirror of public corpora.
MIRROR = "DIAL2VEC_MIRROR"


class Corpus(Protocol):
    """Reader of one corpus.

    :param options: Block `read` of params.yaml; each reader uses its own keys.
    :param splitting: "official" (dialogues name their split), "shuffled" (seeded shuffle of sorted ids, exact shares,
        for corpora that never change), "hashed" (a hash of the id decides, so dialogues keep their split when others
        arrive, for growing corpora) or "joint" (several corpora, each divided as alone).
    """

    splitting: ClassVar[Splitting]

    def __init__(self, options: Read) -> None: ...

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues in `folder` (`data/<corpus>`); unusable records go to `quarantine`.

        :raises CorpusError: if the files are missing or damaged.
        """
        ...


@dataclass(frozen=True, slots=True)
class Fetched:
    """Result of `Fetchable.fetch`.

    :param path: Path of the archive, or folder of the demo.
    :param bytes: Size on disk.
    :param source: "already there", "written" (the demo), URL, or path of the mirror's archive.
    :param missing: Upstream names of files that the archive lacks.
    """

    path: Path
    bytes: int
    source: str
    missing: list[str]


@runtime_checkable
class Fetchable(Protocol):
    """A reader that can bring the files of its corpus."""

    def fetch(self, folder: Path, *, mirror: Path | str | None) -> Fetched:
        """Get the files into `folder` (`data/<corpus>`); undamaged files stay.

        :param mirror: Folder or URL of a mirror; None downloads from upstream.
        :raises CorpusError: if that fails.
        """
        ...
