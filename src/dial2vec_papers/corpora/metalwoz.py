"""MetalWOZ (MetaLWOz): goal-oriented dialogues of 47 domains between two people, one as a bot; no official splits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from conversations.dialogue import Origin, Quarantined, RecordError
from dial2vec.data.corpora.corpus import Splitting
from dial2vec_papers.corpora.archive import open_nested
from dial2vec_papers.corpora.file_corpus import ArchiveCorpus, CorpusFiles, Placed, expect, id_below
from dial2vec_papers.corpora.source_files import SourceFile, bytes_of

# Upstream's archive has no top folder; a packed copy has one.
DIALOGUE_FILE = re.compile(r"(?:.*/)?dialogues/[^/]+\.txt")
# Zip within the later archive, which also has zips of another corpus.
NESTED = re.compile(r"(?:.*/)?[^/]*metalwoz[^/]*\.zip", re.IGNORECASE)
TASK_FILE = "tasks.txt"


class Metalwoz(ArchiveCorpus):
    """Reader of the upstream archive (Lee et al. 2019; Microsoft Research Data License, not to be passed on).

    A line of `dialogues/<DOMAIN>.txt` is a dialogue with the domain as label and the id `<domain>/<id>`. Turns name no
    speaker: the bot speaks first, and speakers alternate. The later test set, `metalwoz-test-v1.zip`, can be read
    instead; its dialogues are in a zip within the zip.
    """

    url = "https://download.microsoft.com/download/E/B/8/EB84CB1A-D57D-455F-B905-3ABDE80404E5/metalwoz-v1.zip"
    splitting: ClassVar[Splitting] = "shuffled"
    content = "dialogues/<DOMAIN>.txt"

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the dialogues, one domain in memory at a time, domains in the order of their names."""
        for file in _dialogue_files(sources):
            for number, line in enumerate(bytes_of(file).splitlines(), start=1):
                if line.strip():
                    yield Origin(file.address, number), _decoded(line)

    def absent(self, sources: CorpusFiles) -> list[str]:
        """Return `tasks.txt` if it is missing, else the missing dialogue files of its domains."""
        present = sources.by_name()
        if TASK_FILE not in present:
            return [TASK_FILE]
        tasks = [_decoded(line) for line in bytes_of(present[TASK_FILE]).splitlines()]
        domains = {task["domain"] for task in tasks if isinstance(task, dict) and isinstance(task.get("domain"), str)}
        return [f"dialogues/{domain}.txt" for domain in sorted(domains) if f"{domain}.txt" not in present]

    def name(self, record: Any) -> str:
        """Return the id of a record."""
        known = isinstance(record, dict) and {"domain", "id"} <= record.keys()
        return f"{record['domain']}/{record['id']}" if known else ""

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a dialogue: the bot speaks first."""
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


def _dialogue_files(sources: CorpusFiles) -> Iterator[SourceFile]:
    """Yield the dialogue files of the archive and of the zips within it."""
    # By whole paths: upstream's only folder is `dialogues`.
    for file in sorted(sources.files.values(), key=lambda file: file.path):
        if DIALOGUE_FILE.fullmatch(file.path):
            yield file
        elif NESTED.fullmatch(file.path):
            with open_nested(file) as nested:
                yield from (inner for path, inner in nested.items() if DIALOGUE_FILE.fullmatch(path))


def _decoded(line: bytes) -> object:
    """Return the JSON value of a line, or the error if it is no JSON, so that the line is quarantined later."""
    try:
        return json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return error
