"""Doc2dial: questions and answers about official documents, 4 domains, official splits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conversations.dialogue import Origin, Quarantined, RecordError
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.file_corpus import ArchiveCorpus, CorpusFiles, Placed, expect, id_below, known_id
from dial2vec_papers.corpora.source_files import SourceFile, entries_of

# Domain that occurs only in the final test of the shared task.
UNSEEN_DOMAIN = "cdccov19"
# Test files of the shared task.
SHARED_TASK = ("testdev", "finaltest")
# Key above the domains; the file `testdev` lacks it.
WRAPPER = "dial_data"


class Doc2dial(ArchiveCorpus):
    """Reader of the upstream archive (Feng et al. 2020; CC BY 3.0).

    The label is the domain of the document. Consecutive turns of one role stay separate turns. By default dev and test
    are both the validation file, as the equal rows of Liu et al. 2022 suggest. `read.doc2dial_test` selects instead the
    archive's own test file, if it has one, or a test file of the shared task DialDoc 2021, whose dialogues end before
    the answer; its domain `cdccov19` is quarantined.
    """

    url = "https://doc2dial.github.io/file/doc2dial_v1.0.1.zip"

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the dialogues of train, dev and test, one domain of one file in memory at a time."""
        if absent := self.absent(sources):
            raise self._lack(sources, absent[0])
        present = sources.by_name()
        for split, name in self._names.items():
            for origin, domain, content in _dialogues(present[name]):
                yield origin, (split, domain, content)

    def absent(self, sources: CorpusFiles) -> list[str]:
        """Return the missing ones of the files that are read, such as `doc2dial_dial_train.json`."""
        present = sources.by_name()
        return [name for name in dict.fromkeys(self._names.values()) if name not in present]

    def name(self, record: Any) -> str:
        """Return the id of a record."""
        split, _, content = record
        return known_id(split, content, "dial_id")

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a dialogue."""
        split, domain, content = record
        if domain == UNSEEN_DOMAIN:
            raise RecordError(f"of the domain {UNSEEN_DOMAIN}, which the shared task added and no other split has")
        content = expect(content, dict, "the dialogue")
        turns = [expect(turn, dict, "a turn") for turn in expect(content["turns"], list, "'turns'")]
        return {
            "dialogue_id": id_below(split, content["dial_id"], "'dial_id'"),
            "turns": [{"speaker": turn["role"], "text": turn["utterance"]} for turn in turns],
            "labels": [domain],
            "split": split,
        }

    @property
    def _names(self) -> dict[str, str]:
        """Split -> file name."""
        parts = {"train": "train", "dev": "validation", "test": self.options.doc2dial_test}
        return {split: f"doc2dial_dial_{part}.json" for split, part in parts.items()}

    def _lack(self, sources: CorpusFiles, name: str) -> CorpusError:
        if "test" not in name:
            return sources.lack(name)
        advice = "not every copy of the corpus has it. Set"
        if self.options.doc2dial_test in SHARED_TASK:
            advice = "the shared task DialDoc 2021 gave it out apart from the corpus. Add it to the archive, or set"
        return CorpusError(f"{sources.folder} holds no {name}; {advice} read.doc2dial_test to validation.")


def _dialogues(file: SourceFile) -> Iterator[tuple[Origin, str, object]]:
    """Yield domains and dialogues; a value of another type than expected counts as a dialogue."""
    number = 0
    for domain, documents in _domains(file):
        for dialogues in documents.values() if isinstance(documents, dict) else [documents]:
            for dialogue in dialogues if isinstance(dialogues, list) else [dialogues]:
                number += 1
                yield Origin(file.address, number), domain, dialogue
    if not number:
        raise CorpusError(f"{file.address} holds no dialogues by domain and document. {file.again}")


def _domains(file: SourceFile) -> Iterator[tuple[str, Any]]:
    wrapped = False
    for entry in entries_of(file, below=WRAPPER):
        wrapped = True
        yield entry
    if not wrapped:
        yield from ((domain, documents) for domain, documents in entries_of(file) if domain != WRAPPER)
