"""Your own transcripts: JSON Lines files put into `data/<name>/`."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from dial2vec.corpora.corpus import Splitting
from dial2vec.dialogue import Dialogue, SetAside, read_dialogues
from dial2vec.errors import CorpusError

ENDINGS = (".jsonl", ".jsonl.gz")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Transcripts:
    """Reader of every `*.jsonl` and `*.jsonl.gz` in a folder; new exports are added as further files."""

    url: str | None = None
    splitting: Splitting = "hashed"

    def read(self, folder: Path, *, set_aside: list[SetAside]) -> Iterator[Dialogue]:
        """Stream the dialogues of all files, sorted by name; of dialogues that share an id the first one counts.

        An empty file among others is set aside whole. A damaged one stops the reading, because what it lost is unknown.

        :raises CorpusError: when a file is damaged, there is none, or no line of any is usable.
        """
        found_in: dict[str, str] = {}
        earlier_problems = len(set_aside)
        files = transcript_files(folder)
        for path in files:
            if _is_empty(path):
                set_aside.append(SetAside(str(path), 0, "", "the file is empty"))
                continue
            for dialogue in read_dialogues(path, set_aside=set_aside):
                earlier = found_in.setdefault(dialogue.dialogue_id, path.name)
                if earlier != path.name:
                    reason = f"the id came before in {earlier}"
                    set_aside.append(SetAside(str(path), 0, dialogue.dialogue_id, reason))
                else:
                    yield dialogue
        if not found_in:
            problems = set_aside[earlier_problems:]
            first = f"; the first problem is {problems[0]}" if problems else ""
            raise CorpusError(
                f"no usable dialogue in the {len(files)} *.jsonl and *.jsonl.gz files of {folder}{first}. "
                'Expected lines like {"dialogue_id": "...", "turns": [{"speaker": "...", "text": "..."}]}. '
                "Put your transcripts there."
            )

    def missing(self, folder: Path) -> list[str]:
        """Return nothing: own transcripts have no upstream to be compared with."""
        return []


def transcript_files(folder: Path) -> list[Path]:
    """Return the transcripts in `folder`, sorted by name; hidden files and folders are no transcripts."""
    return sorted(
        path
        for path in folder.glob("*")
        if path.name.endswith(ENDINGS) and not path.name.startswith(".") and path.is_file()
    )


def _is_empty(path: Path) -> bool:
    """Whether there is no line to read; of a damaged file `read_dialogues` says what is wrong with it."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            return not any(line.removeprefix(BYTE_ORDER_MARK).strip() for line in lines)
    except (EOFError, OSError, zlib.error):
        return False
