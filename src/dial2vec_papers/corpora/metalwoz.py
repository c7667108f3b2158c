"""MetalWOZ (MetaLWOz): goal-oriented dialogues of 47 domains between two people, one as a bot; no official splits."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from conversations.dialogue import Dialogue, Origin, Quarantined, RecordError
from dial2vec.config import Read
from dial2vec.data.corpora.archive import (
    address,
    files,
    files_by_name,
    open_archive,
    open_nested,
    read_member,
    wrong_archive,
)
from dial2vec.data.corpora.corpus import Splitting, at_least_one, expect, id_below, usable

# Upstream's archive has no top folder; a packed copy has one.
DIALOGUE_FILE = re.compile(r"(?:.*/)?dialogues/[^/]+\.txt")
# Zip within the later archive, which also has zips of another corpus.
NESTED = re.compile(r"(?:.*/)?[^/]*metalwoz[^/]*\.zip", re.IGNORECASE)
TASK_FILE = "tasks.txt"


@dataclass(frozen=True, slots=True)
class Metalwoz:
    """Reader of the upstream archive (Lee et al. 2019; Microsoft Research Data License, not to be passed on).

    A line of `dialogues/<DOMAIN>.txt` is a dialogue with the domain as label and the id `<domain>/<id>`. Turns name no
    speaker: the bot speaks first, and speakers alternate. The later test set, `metalwoz-test-v1.zip`, can be read
    instead; its dialogues are in a zip within the zip.
    """

    url: ClassVar[str | None] = (
        "https://download.microsoft.com/download/E/B/8/EB84CB1A-D57D-455F-B905-3ABDE80404E5/metalwoz-v1.zip"
    )
    splitting: ClassVar[Splitting] = "shuffled"
    options: Read = field(default_factory=Read)

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues, one domain in memory at a time, domains in the order of their names.

        :raises CorpusError: if the archive is missing or damaged, or has no usable dialogue.
        """
        with open_archive(folder) as archive:
            records = (record for place, info in _dialogue_files(archive) for record in _records(place, info))
            error = wrong_archive(archive, "usable dialogues/<DOMAIN>.txt", self.url)
            yield from at_least_one(usable(records, _dialogue, name=_id, quarantine=quarantine), error)

    def missing(self, folder: Path) -> list[str]:
        """Return `tasks.txt` if it is missing, else the missing dialogue files of its domains.

        :raises CorpusError: if there is no archive, or `tasks.txt` is damaged.
        """
        with open_archive(folder) as archive:
            present = files_by_name(archive)
            if TASK_FILE not in present:
                return [TASK_FILE]
            tasks = [_decoded(line) for line in read_member(archive, present[TASK_FILE]).splitlines()]
        domains = {task["domain"] for task in tasks if isinstance(task, dict) and isinstance(task.get("domain"), str)}
        return [f"dialogues/{domain}.txt" for domain in sorted(domains) if f"{domain}.txt" not in present]


def _dialogue_files(archive: zipfile.ZipFile) -> Iterator[tuple[zipfile.ZipFile, zipfile.ZipInfo]]:
    """Yield each dialogue file with its archive: this archive, or a zip within it."""
    for path, info in files(archive).items():
        if DIALOGUE_FILE.fullmatch(path):
            yield archive, info
        elif NESTED.fullmatch(path):
            with open_nested(archive, info) as nested:
                yield from ((nested, inner) for name, inner in files(nested).items() if DIALOGUE_FILE.fullmatch(name))


def _records(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[tuple[Origin, object]]:
    for number, line in enumerate(read_member(archive, info).splitlines(), start=1):
        if line.strip():
            yield Origin(address(archive, info), number), _decoded(line)


def _decoded(line: bytes) -> object:
    """Return the JSON value of a line, or the error if it is no JSON, so that the line is quarantined later."""
    try:
        return json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return error


def _dialogue(record: object) -> dict[str, Any]:
    if isinstance(record, Exception):
        raise RecordError(f"not valid JSON ({record})")
    record = expect(record, dict, "the dialogue")
    domain = expect(record["domain"], str, "'domain'")
    turns = expect(record["turns"], list, "'turns'")
    return {
        "dialogue_id": id_below(domain, record["id"], "'id'"),
        "turns": [{"speaker": ("bot", "user")[position % 2], "text": text} for position, text in enumerate(turns)],
        "labels": [domain],
    }


def _id(record: object) -> str:
    if isinstance(record, dict) and {"domain", "id"} <= record.keys():
        return f"{record['domain']}/{record['id']}"
    return ""
