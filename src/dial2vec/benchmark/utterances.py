"""The tasks for utterances as part of a cell: intents, out of scope, retrieval, response selection, robustness."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dial2vec.artifacts import Artifacts
from dial2vec.errors import CorpusError
from dial2vec.tasks.encoding import Encode

# To be raised when the code of the tasks gives other figures, so that they are computed anew.
TASKS_VERSION = 1
UTTERANCE_TASKS = ("intents", "out_of_scope", "retrieval", "response_selection", "robustness")


@dataclass(frozen=True, slots=True)
class TaskData:
    """What the tasks are run on beside the test split of a cell's corpus.

    :param intents: folder or zip of the intent sets; None leaves their tasks out.
    :param limit: queries of retrieval and response selection at most.
    """

    intents: Path | None = None
    limit: int = 1000

    def key(self) -> str:
        """Identify the data and the code of the tasks.

        :raises CorpusError: when the intent sets are not there.
        """
        digest = hashlib.sha256(json.dumps([TASKS_VERSION, UTTERANCE_TASKS, self.limit]).encode())
        for path in self._files():
            digest.update(f"{path.name} ".encode())
            with path.open("rb") as handle:
                digest.update(hashlib.file_digest(handle, "sha256").digest())
        return digest.hexdigest()[:16]

    def _files(self) -> list[Path]:
        if self.intents is None:
            return []
        if not self.intents.exists():
            raise CorpusError(
                f"{self.intents} does not exist; expected a folder or a zip of intent sets. Check --intents."
            )
        if self.intents.is_file():
            return [self.intents]
        return sorted(path for path in self.intents.rglob("*") if path.is_file())


def score_utterances(
    encode: Encode, separator: str, artifacts: Artifacts, data: TaskData, *, seed: int
) -> list[dict[str, Any]]:
    """Return the records of `tasks.records.TaskResult` of every task.

    :param encode: texts to vectors [n, d].
    :param separator: stands between the turns of a context.
    """
    from dial2vec.tasks.run import Sources, run_tasks

    sources = Sources(
        intents=data.intents,
        dialogues=((artifacts.corpus, artifacts.split("test")),),
        limit=data.limit,
        separator=separator,
    )
    return [result.to_record() for result in run_tasks(encode, UTTERANCE_TASKS, sources, seed=seed)]
