"""The tasks for utterances as part of a cell."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conversations.files import sha256_of
from dial2vec.data.splits import SPLITS
from dial2vec.errors import CorpusError
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec_papers.tasks.encoding import Reader
from dial2vec_papers.tasks.sources import OPTIONS, TRAINING, Sources, check_sources, tasks_with_data

# Raise it when the code of the tasks changes their figures: they are then computed again.
TASKS_VERSION = 3
UTTERANCE_TASKS = ("intents", "out_of_scope", "retrieval", "response_selection", "robustness")
BY_DEFAULT = (*UTTERANCE_TASKS, "sentence_pairs", "inference")
# Key of the task data -> records of `tasks.records.TaskResult`.
Records = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class TaskData(Sources):
    """Data of the tasks besides the splits of a cell's corpus, and the settings of the tasks.

    :param names: keys of `tasks.run.RUNNERS`; empty means all that have data, but single utterances and the tasks that
        train.
    """

    names: tuple[str, ...] = ()

    def key(self) -> str:
        """Return the version of the tasks' code, a hyphen, and a hash of their data and settings.

        :raises CorpusError: if a file does not exist.
        """
        # Other tasks and settings have no part in the key of cells that were computed without them.
        digest = hashlib.sha256(json.dumps([UTTERANCE_TASKS, self.limit]).encode())
        if any(more := (self.names, self.shots, self.draws, self.loss != "simclr")):
            digest.update(json.dumps(more).encode())
        for path in self._files():
            digest.update(f"{path.name} ".encode())
            digest.update(sha256_of(path))
        return f"{TASKS_VERSION}-{digest.hexdigest()[:16]}"

    def check(self) -> None:
        """Raise a Dial2vecError if a named task is unknown or has no data, or a file does not exist."""
        self._files()
        tasks_with_data(self.names, replace(self, dialogues=(("", Path()),)))

    def check_split(self, artifacts: Artifacts, *, seed: int) -> None:
        """Raise a CorpusError if data cannot be read, or the splits of a corpus have too few answers for the tasks."""
        own = self.with_splits(artifacts)
        check_sources(self._named(own), own, seed=seed)

    def with_splits(self, artifacts: Artifacts) -> Sources:
        """Return the data with the splits of a corpus."""
        name, (train, dev, test) = artifacts.corpus, map(artifacts.split, SPLITS)
        return replace(self, dialogues=((name, test),), training={name: (train, dev)})

    def results(self, reader: Reader, artifacts: Artifacts, *, seed: int) -> list[dict[str, Any]]:
        """Run the tasks, and return their records of `tasks.records.TaskResult`.

        Those that train are left out for a reader that cannot be trained, such as a baseline.
        """
        from dial2vec_papers.tasks.run import run_tasks

        own = self.with_splits(artifacts)
        names = [name for name in self._named(own) if reader.encoder is not None or name not in TRAINING]
        return [result.to_record() for result in run_tasks(reader, names, own, seed=seed)] if names else []

    def _named(self, sources: Sources) -> list[str]:
        return [name for name in self.names or BY_DEFAULT if set(OPTIONS[name]) & sources.given()]

    def _files(self) -> list[Path]:
        files: list[Path] = []
        for name in ("intents", "pairs", "candidates", "queries", "inferences", "actions"):
            path = getattr(self, name)
            if path is not None and not path.exists():
                what = "a folder or a zip" if name in ("intents", "actions") else "a file"
                raise CorpusError(f"{path} does not exist; expected {what}. Check --{name}.")
            if path is not None:
                files += [path] if path.is_file() else sorted(below for below in path.rglob("*") if below.is_file())
        return files


def key_of_most(records_of_cells: Iterable[Records]) -> str:
    """Return the key under which most cells have records of today's tasks; "" if there are none."""
    counts = Counter(key for records in records_of_cells for key in records if key.startswith(f"{TASKS_VERSION}-"))
    return min(counts, key=lambda key: (-counts[key], key), default="")
