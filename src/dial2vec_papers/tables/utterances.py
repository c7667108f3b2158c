"""The tasks for utterances as part of a cell: intents, out of scope, retrieval, response selection, robustness."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conversations.files import sha256_of
from dial2vec.errors import CorpusError
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec_papers.tasks.encoding import Reader

if TYPE_CHECKING:
    from dial2vec_papers.tasks.sources import Sources

# Raise it when the code of the tasks changes their figures: they are then computed again.
TASKS_VERSION = 3
UTTERANCE_TASKS = ("intents", "out_of_scope", "retrieval", "response_selection", "robustness")
# Key of the task data -> records of `tasks.records.TaskResult`.
Records = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class TaskData:
    """Data of the tasks besides the test split of a cell's corpus.

    :param intents: folder or zip of the intent sets; None leaves their tasks out.
    :param pairs: file of sentence pairs with scores (D-STS); None leaves it out.
    :param candidates: file of queries with candidates (SR); None leaves it out.
    :param limit: largest number of queries of retrieval and response selection.
    """

    intents: Path | None = None
    pairs: Path | None = None
    candidates: Path | None = None
    limit: int = 1000

    def key(self) -> str:
        """Return the version of the tasks' code, a hyphen, and a hash of their data.

        :raises CorpusError: if a file does not exist.
        """
        # Other tasks have no part in the key of cells that were computed without their data.
        digest = hashlib.sha256(json.dumps([UTTERANCE_TASKS, self.limit]).encode())
        for path in self._files():
            digest.update(f"{path.name} ".encode())
            digest.update(sha256_of(path))
        return f"{TASKS_VERSION}-{digest.hexdigest()[:16]}"

    def check(self) -> None:
        """Raise a Dial2vecError if the intent sets or another file cannot be read."""
        from dial2vec_papers.tasks.sources import check_sources

        self._files()
        sources = self.sources()
        if sources.given():
            check_sources((), sources, seed=0)

    def check_split(self, artifacts: Artifacts, *, seed: int) -> None:
        """Raise a CorpusError if the test split of a corpus has too few answers to draw negatives from."""
        from dial2vec_papers.tasks.sources import check_sources

        check_sources(("response_selection", "robustness"), self.sources(artifacts), seed=seed)

    def sources(self, *artifacts: Artifacts) -> Sources:
        """Return the data with the test splits of corpora."""
        from dial2vec_papers.tasks.sources import Sources

        dialogues = tuple((corpus.corpus, corpus.split("test")) for corpus in artifacts)
        return Sources(self.intents, dialogues, pairs=self.pairs, candidates=self.candidates, limit=self.limit)

    def _files(self) -> list[Path]:
        files: list[Path] = []
        for path in filter(None, (self.intents, self.pairs, self.candidates)):
            if not path.exists():
                what = "a folder or a zip of intent sets" if path == self.intents else "a file"
                option = {self.pairs: "--pairs", self.candidates: "--candidates"}.get(path, "--intents")
                raise CorpusError(f"{path} does not exist; expected {what}. Check {option}.")
            files += [path] if path.is_file() else sorted(below for below in path.rglob("*") if below.is_file())
        return files


def key_of_most(records_of_cells: Iterable[Records]) -> str:
    """Return the key under which most cells have records of today's tasks; "" if there are none."""
    counts = Counter(key for records in records_of_cells for key in records if key.startswith(f"{TASKS_VERSION}-"))
    return min(counts, key=lambda key: (-counts[key], key), default="")


def score_utterances(reader: Reader, artifacts: Artifacts, data: TaskData, *, seed: int) -> list[dict[str, Any]]:
    """Run every task that has data, and return its records of `tasks.records.TaskResult`."""
    from dial2vec_papers.tasks.run import run_tasks
    from dial2vec_papers.tasks.sources import tasks_with_data

    sources = data.sources(artifacts)
    names = [name for name in tasks_with_data((), sources) if name in (*UTTERANCE_TASKS, "sentence_pairs")]
    return [result.to_record() for result in run_tasks(reader, names, sources, seed=seed)]
