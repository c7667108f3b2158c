"""Results of a retraining: for the page of its run, for `schedule.notify`, and for the next retraining."""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from conversations.files import read_json, write_json
from dial2vec.errors import ArtifactError, Dial2vecError
from dial2vec.evaluation import ENCODERS, TASKS
from dial2vec.files import code_hash
from dial2vec.operation.schedule.collections import CollectionResult
from dial2vec.operation.schedule.inbox import Arrival
from dial2vec.operation.schedule.rehearsal import without_quotes
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.dvc_records import data_hash
from dial2vec.registry.promotion import Verdict, verdict_sentence
from dial2vec.registry.receipts import standing_champion
from dial2vec.registry.records import local_minute


@dataclass
class CorpusResult:
    """Result of a retraining for one corpus.

    :param why: Reason why the corpus was trained, or not trained.
    :param promoted: True if it has a new champion.
    :param small_promoted: True if its student's model has a new champion.
    :param small_verdict: Verdict of the gate on the student; "" if there is no student.
    :param failed: Reason of a failure; "" if there was none.
    """

    corpus: str
    why: str = ""
    trained: bool = False
    promoted: bool = False
    verdict: str = ""
    small_promoted: bool = False
    small_verdict: str = ""
    failed: str = ""

    def judged(self, verdict: Verdict, *, small: bool = False) -> None:
        """Note the verdict of the gate.

        :param small: True for the verdict on the student.
        """
        outcome = "Promoted" if verdict.promoted else "Champion stays"
        sentence = f"{outcome}: {verdict_sentence(verdict).rstrip('.')}."
        if small:
            self.small_promoted, self.small_verdict = verdict.promoted, f"Student: {sentence}"
        else:
            self.promoted, self.verdict = verdict.promoted, sentence

    def __str__(self) -> str:
        if self.failed:
            return f"failed: {self.failed}"
        words = f"{'trained' if self.trained else 'not trained'}: {self.why}. {self.verdict} {self.small_verdict}"
        return words.strip()


@dataclass
class Retraining:
    """Result of a whole retraining.

    :param began: Start in seconds since 1970.
    :param imported: Exports imported from the inbox.
    :param refused: Exports of the inbox that could not be used, with the reasons.
    :param corpora: Result of each corpus.
    :param notes: Further sentences for people.
    :param before: End of an earlier retraining, in seconds since 1970, if nothing has changed since; otherwise None.
    :param key: Hash of the work; "" if it is not known yet.
    """

    began: float = field(default_factory=time.time)
    imported: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    corpora: list[CorpusResult] = field(default_factory=list)
    collections: list[CollectionResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    before: float | None = None
    key: str = ""

    def arrived(self, arrivals: Sequence[Arrival]) -> None:
        """Note the exports from the inbox."""
        for arrival in arrivals:
            name = f"{arrival.corpus}/{arrival.name}"
            if arrival.note:
                self.notes.append(f"{name}: {arrival.note}")
                continue
            if arrival.refused:
                self.refused.append(f"{name}: {without_quotes(arrival.refused)}")
                continue
            self.imported.append(name)
            if arrival.set_aside:
                self.notes.append(
                    f"of {name} {arrival.dialogues} dialogues were imported, {arrival.set_aside} set aside: "
                    f"artifacts/{arrival.corpus}/import says why"
                )

    @property
    def failed(self) -> str:
        """All failures of corpora in one line; "" if there are none."""
        return "; ".join(f"{result.corpus}: {result.failed}" for result in self.corpora if result.failed)

    @property
    def failures(self) -> str:
        """All failures in one line, those of collections too; "" if there are none."""
        of_collections = [f"{result.folder}: {result.failed}" for result in self.collections if result.failed]
        return "; ".join([self.failed] * bool(self.failed) + of_collections)

    def stands(self, root: Path, corpora: list[str], *, force: bool) -> bool:
        """Take over the last result and return True if nothing has changed since.

        :param force: True to return False in any case.
        :raises ModelError: if the registry does not answer.
        """
        # Kept until the end: settings that are changed meanwhile are for the next retraining.
        self.key = work_key(root)
        last = None if force or self.imported or self.notes else done_before(root, self.key, corpora)
        if last is not None:
            self.corpora, self.before = last.corpora, last.before
        return last is not None

    def outcome(self) -> dict[str, str]:
        """Return the result of each corpus in words.

        :raises Dial2vecError: if anything failed.
        """
        if self.failures:
            raise Dial2vecError(self.failures)
        return {result.corpus: str(result) for result in self.corpora}

    def to_record(self) -> dict[str, Any]:
        """Return a record for JSON, as `schedule.notify` gets it."""
        record = asdict(self) | {"failed": self.failures, "ended": time.time()}
        del record["key"]
        return record

    def to_text(self, project: str) -> str:
        """Return the result as plain text for a chat.

        :param project: Name of the project, for the first line.
        """
        lines = [str(result) for result in self.collections]
        lines.append(f"{project}: retraining {'failed' if self.failures else 'ended'}")
        for result in self.corpora:
            lines.append(
                f"{result.corpus}: {result}" if result.failed else f"{result.corpus}: {_mark(result)}. {result}"
            )
        lines += [f"Imported from the inbox: {', '.join(self.imported)}"] * bool(self.imported)
        lines += [f"Refused from the inbox: {reason}" for reason in self.refused]
        return "\n".join(lines + [f"Note: {note}" for note in self.notes])

    def to_markdown(self, *, page: str) -> str:
        """Return the result for people.

        :param page: Address of MLflow's page, or the command that opens it.
        """
        lines = []
        if self.before is not None:
            lines.append(f"Nothing has changed since {local_minute(self.before)}: the verdict of then stands.\n")
        for result in self.corpora:
            lines += [f"## {result.corpus}: {_mark(result)}\n", f"{_plain(str(result))}\n"]
        for updated in self.collections:
            lines.append(f"## Collection {_plain(updated.folder)}\n")
            lines += [f"{_plain(line)}\n" for line in str(updated).splitlines()]
        if self.imported:
            lines.append(f"Imported from the inbox: {_plain(', '.join(self.imported))}.\n")
        lines += [f"Refused from the inbox: {_plain(reason)}\n" for reason in self.refused]
        lines += [f"Note: {_plain(note)}\n" for note in self.notes]
        return "\n".join([*lines, f"MLflow: {page}"])


def _mark(result: CorpusResult) -> str:
    mark = "failed" if result.failed else "new champion" if result.promoted else "champion stays"
    return f"{mark}, new small champion" if result.small_promoted else mark


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it is: no HTML, and no link, which could run a script."""
    return re.sub(r"(\\|\](?=[(\[:]))", r"\\\1", escape(" ".join(text.split()), quote=False))


def result_rows(root: Path, corpora: list[CorpusResult]) -> list[dict[str, Any]]:
    """Return the rows of the results table: for each corpus the test scores of start, trained and student."""
    rows = []
    for result in corpora:
        path = Artifacts(root, result.corpus).metrics
        metrics = read_json(path) if path.is_file() else {}
        for which in ENCODERS:
            scores = metrics.get(which) or {}
            if which == "student" and not scores:
                continue
            row = {"corpus": result.corpus, "encoder": which} | {task: scores.get(task) for task in TASKS}
            rows.append(row | {"verdict": str(result) if which == "trained" else ""})
    return rows


def work_key(root: Path) -> str:
    """Return a hash of the data, settings and code; a retraining with a known key can be skipped."""
    digest = hashlib.sha256(f"{data_hash(root)} {code_hash()}".encode())
    for name in ("params.yaml", "operation.yaml", "flows/retrain.py"):
        with contextlib.suppress(FileNotFoundError):
            digest.update((root / name).read_bytes())
    return digest.hexdigest()


def done_before(root: Path, key: str, corpora: list[str]) -> Retraining | None:
    """Return the successful retraining with this key, if the registry still has its champions; otherwise None.

    :raises ModelError: if the registry does not answer.
    """
    with contextlib.suppress(ArtifactError, KeyError, TypeError):
        last = read_json(_last_retraining(root))
        same = last["key"] == key and [record["corpus"] for record in last["corpora"]] == corpora
        if same and all(last["champions"][name] == standing_champion(root, name) != "" for name in corpora):
            past = {"trained": False, "promoted": False, "small_promoted": False}
            results = [CorpusResult(**record | past) for record in last["corpora"]]
            return Retraining(corpora=results, before=last["ended"])
    return None


def remember(root: Path, done: Retraining) -> None:
    """Store a retraining for the next one with the same work; a failed one is not stored, and so tried again."""
    if done.key and not done.failed:
        corpora = [asdict(result) for result in done.corpora]
        champions = {result.corpus: standing_champion(root, result.corpus) for result in done.corpora}
        record = {"key": done.key, "ended": time.time(), "corpora": corpora, "champions": champions}
        write_json(_last_retraining(root), record)


def _last_retraining(root: Path) -> Path:
    return root / "artifacts" / "retrained.json"
