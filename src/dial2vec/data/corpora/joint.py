"""Several corpora as one, named `a+b+c`: trained together, each with its own reader and splits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from conversations.dialogue import Dialogue, Quarantined
from conversations.files import read_json, write_json
from dial2vec.config import Read
from dial2vec.data.corpora.corpus import Corpus, Splitting
from dial2vec.errors import CorpusError

# File of `data/a+b`, with a digest of each corpus's data, so that DVC sees when one of them changes.
DIGESTS = "corpora.json"
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Joint:
    """Reader of several corpora, one after the other; ids are `<corpus>/<id>`, labels stay as they are.

    :param parts: Name -> reader of each corpus.
    """

    splitting: ClassVar[Splitting] = "joint"
    options: Read = field(default_factory=Read)
    parts: Mapping[str, Corpus] = field(default_factory=dict)

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues of all corpora, from the folders beside `folder`.

        :raises CorpusError: if a corpus is missing or damaged, or has no usable dialogue.
        """
        for name, corpus in self.parts.items():
            own: list[Quarantined] = []
            n_dialogues = 0
            for dialogue in corpus.read(folder.parent / name, quarantine=own):
                n_dialogues += 1
                yield replace(dialogue, dialogue_id=f"{name}/{dialogue.dialogue_id}")
            quarantine += [replace(record, dialogue_id=f"{name}/{record.dialogue_id}") for record in own]
            if not n_dialogues:
                raise CorpusError(f"{folder.parent / name} has no usable dialogue; expected some of each corpus.")

    @property
    def splittings(self) -> dict[str, Splitting]:
        """Name -> splitting of each corpus."""
        return {name: part.splitting for name, part in self.parts.items()}


def write_digests(folder: Path, names: Sequence[str]) -> bool:
    """Write a digest of each corpus's data to `folder` (`data/a+b`) if they changed, and return whether they did.

    :param names: Corpora, each with a folder beside `folder`.
    """
    digests = {name: _digest(folder.parent / name) for name in names}
    path = folder / DIGESTS
    if path.is_file() and read_json(path) == digests:
        return False
    write_json(path, digests)
    return True


def _digest(folder: Path) -> str:
    """Return a SHA-256 over the paths and contents of the files in a folder."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")):
        digest.update(f"{path.relative_to(folder).as_posix()}\n{path.stat().st_size}\n".encode())
        with path.open("rb") as content:
            while block := content.read(BLOCK):
                digest.update(block)
    return digest.hexdigest()
