"""The Self-dialogue corpus: open-domain chat about 23 topics, 24,164 dialogues, no official splits."""

from __future__ import annotations

import csv
import functools
import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from conversations.dialogue import Dialogue, Origin, Quarantined, RecordError
from dial2vec.config import Read
from dial2vec.data.corpora.archive import address, fetch_again, members, open_archive, read_member, wrong_archive
from dial2vec.data.corpora.corpus import Splitting, at_least_one, usable
from dial2vec.errors import CorpusError

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


@dataclass(frozen=True, slots=True)
class SelfDialogue:
    """Reader of the upstream archive (Fainberg et al. 2018; BSD 3-Clause).

    A row of a Mechanical Turk batch is a dialogue with the topic folder as label. One worker wrote both sides, so
    speakers alternate: "user" begins, "system" answers (the names of the task-oriented corpora). As upstream, a row is
    used if `Reject` is empty and its worker is not blocked; `AssignmentStatus` is ignored.
    """

    url: ClassVar[str | None] = "https://github.com/jfainberg/self_dialogue_corpus/archive/refs/heads/main.zip"
    splitting: ClassVar[Splitting] = "shuffled"
    options: Read = field(default_factory=Read)

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues, one batch in memory at a time, topics and batches sorted by name.

        :raises CorpusError: if the archive is missing or damaged, or a batch is not a table of answers.
        """
        with open_archive(folder) as archive:
            blocked = _blocked_workers(archive)
            records = (
                (Origin(address(archive, info), number), (row, answers, batch[1]))
                for path, info in members(archive).items()
                if (batch := BATCH_FILE.fullmatch(path))
                for number, (row, answers) in enumerate(_rows(archive, info), start=1)
            )
            convert = functools.partial(_dialogue, blocked=blocked)
            dialogues = usable(records, convert, name=lambda raw: raw[0]["AssignmentId"] or "", quarantine=quarantine)
            error = wrong_archive(archive, "usable <top folder>/corpus/<topic>/*.csv", self.url)
            yield from at_least_one(dialogues, error)

    def missing(self, folder: Path) -> list[str]:
        """Return the missing ones of 23 topic folders (`corpus/action`, ...) and `blocked_workers.txt`.

        :raises CorpusError: if there is no archive.
        """
        with open_archive(folder) as archive:
            present = members(archive)
        topics = {batch[1] for batch in map(BATCH_FILE.fullmatch, present) if batch}
        absent = [f"corpus/{topic}" for topic in TOPICS if topic not in topics]
        return absent + ([] if BLOCKED_WORKERS in present else [BLOCKED_WORKERS])


def _blocked_workers(archive: zipfile.ZipFile) -> frozenset[str]:
    info = members(archive).get(BLOCKED_WORKERS)
    if info is None:
        raise CorpusError(
            f"{archive.filename} holds no <top folder>/{BLOCKED_WORKERS}, without which rejected work would be read. "
            f"{fetch_again(archive.filename or '')}"
        )
    return frozenset(_text(archive, info).split())


def _rows(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[tuple[Row, list[str]]]:
    """Yield each row with its answers in numerical order (the columns are 1, 10, 11, ..., 2, 20, 3)."""
    reader = csv.DictReader(io.StringIO(_text(archive, info), newline=""))
    try:
        names = list(reader.fieldnames or ())
        columns = sorted(filter(SENTENCE.fullmatch, names), key=lambda name: int(name.removeprefix("Answer.sentence")))
        missing = [name for name in ("AssignmentId", "WorkerId", "Reject") if name not in names]
        if missing or not columns:
            raise CorpusError(
                f"{address(archive, info)} has no column {(missing or ['Answer.sentence1'])[0]}; "
                f"expected the header of a Mechanical Turk batch. {fetch_again(address(archive, info))}"
            )
        for row in reader:
            yield row, [row[column] or "" for column in columns]
    except csv.Error as error:
        where = f"{address(archive, info)}:{reader.line_num}"
        raise CorpusError(f"{where}: not a CSV table ({error}). {fetch_again(address(archive, info))}") from error


def _text(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    content = read_member(archive, info)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{address(archive, info)} is not UTF-8 (byte {error.start}). {fetch_again(address(archive, info))}"
        ) from error


def _dialogue(raw: tuple[Row, list[str], str], *, blocked: frozenset[str]) -> dict[str, Any]:
    row, answers, label = raw
    if row["Reject"]:
        raise RecordError("rejected upstream (its column 'Reject' is filled)")
    if row["WorkerId"] in blocked:
        raise RecordError(f"written by a worker listed in {BLOCKED_WORKERS}")
    texts = [text for text in map(str.strip, answers) if text and text != NO_ANSWER]
    turns = [{"speaker": ("user", "system")[position % 2], "text": text} for position, text in enumerate(texts)]
    return {"dialogue_id": row["AssignmentId"], "turns": turns, "labels": [label]}
