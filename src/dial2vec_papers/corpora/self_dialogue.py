"""The Self-dialogue corpus: open-domain chat about 23 topics, 24,164 dialogues, no official splits."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from conversations.dialogue import Origin, Quarantined, RecordError
from dial2vec.data.corpora.corpus import Splitting
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.archive import fetch_again
from dial2vec_papers.corpora.file_corpus import ArchiveCorpus, CorpusFiles, Placed
from dial2vec_papers.corpora.source_files import SourceFile, bytes_of

TOPICS = (
    "action", "baseball", "basketball", "beatles", "comedy", "disney", "fashion", "fast_furious", "harry_potter",
    "horror", "icehockey", "lady_gaga", "movies", "music", "music_and_movies", "nfl_football", "pop", "rap_hiphop",
    "rock", "star_wars", "superhero", "thriller", "transition_music_movies",
)  # fmt: skip
BLOCKED_WORKERS = "blocked_workers.txt"
BATCH_FILE = re.compile(r"corpus/([^/]+)/[^/]+\.csv")
SENTENCE = re.compile(r"Answer\.sentence(\d+)")
# Mechanical Turk's value for an empty field.
NO_ANSWER = "{}"

Row = dict[str, str | None]


class SelfDialogue(ArchiveCorpus):
    """Reader of the upstream archive (Fainberg et al. 2018; BSD 3-Clause).

    A row of a Mechanical Turk batch is a dialogue with the topic folder as label. One worker wrote both sides, so
    speakers alternate: "user" begins, "system" answers (the names of the task-oriented corpora). As upstream, a row is
    used if `Reject` is empty and its worker is not blocked; `AssignmentStatus` is ignored.
    """

    url = "https://github.com/jfainberg/self_dialogue_corpus/archive/refs/heads/main.zip"
    splitting: ClassVar[Splitting] = "shuffled"
    content = "<top folder>/corpus/<topic>/*.csv"

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the rows, one batch in memory at a time, topics and batches sorted by name; note if they are blocked.

        :raises CorpusError: if the list of blocked workers is missing, or a batch is not a table of answers.
        """
        if BLOCKED_WORKERS not in sources.files:
            raise CorpusError(
                f"{sources.folder} holds no <top folder>/{BLOCKED_WORKERS}, without which rejected work would be read. "
                f"{fetch_again(sources.folder.name)}"
            )
        blocked = frozenset(_text(sources.files[BLOCKED_WORKERS]).split())
        for path, file in sources.files.items():
            if batch := BATCH_FILE.fullmatch(path):
                for number, (row, answers) in enumerate(_rows(file), start=1):
                    yield Origin(file.address, number), (row, answers, batch[1], row["WorkerId"] in blocked)

    def absent(self, sources: CorpusFiles) -> list[str]:
        """Return the missing ones of 23 topic folders (`corpus/action`, ...) and `blocked_workers.txt`."""
        topics = {batch[1] for batch in map(BATCH_FILE.fullmatch, sources.files) if batch}
        absent = [f"corpus/{topic}" for topic in TOPICS if topic not in topics]
        return absent + ([] if BLOCKED_WORKERS in sources.files else [BLOCKED_WORKERS])

    def name(self, record: Any) -> str:
        """Return the id of a row."""
        return record[0]["AssignmentId"] or ""

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a row that upstream uses, too."""
        row, answers, label, blocked = record
        if row["Reject"]:
            raise RecordError("rejected upstream (its column 'Reject' is filled)")
        if blocked:
            raise RecordError(f"written by a worker listed in {BLOCKED_WORKERS}")
        texts = [text for text in map(str.strip, answers) if text and text != NO_ANSWER]
        turns = [{"speaker": ("user", "system")[position % 2], "text": text} for position, text in enumerate(texts)]
        return {"dialogue_id": row["AssignmentId"], "turns": turns, "labels": [label]}


def _rows(file: SourceFile) -> Iterator[tuple[Row, list[str]]]:
    """Yield each row with its answers in numerical order (the columns are 1, 10, 11, ..., 2, 20, 3)."""
    reader = csv.DictReader(io.StringIO(_text(file), newline=""))
    try:
        names = list(reader.fieldnames or ())
        columns = sorted(filter(SENTENCE.fullmatch, names), key=lambda name: int(name.removeprefix("Answer.sentence")))
        missing = [name for name in ("AssignmentId", "WorkerId", "Reject") if name not in names]
        if missing or not columns:
            raise CorpusError(
                f"{file.address} has no column {(missing or ['Answer.sentence1'])[0]}; "
                f"expected the header of a Mechanical Turk batch. {file.again}"
            )
        for row in reader:
            yield row, [row[column] or "" for column in columns]
    except csv.Error as error:
        raise CorpusError(f"{file.address}:{reader.line_num}: not a CSV table ({error}). {file.again}") from error


def _text(file: SourceFile) -> str:
    try:
        return bytes_of(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{file.address} is not UTF-8 (byte {error.start}). {file.again}") from error
