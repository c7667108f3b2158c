"""What a retraining came to, for the page of its run, for whoever is told, and for the next one."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from dial2vec.errors import ArtifactError
from dial2vec.evaluation import TASKS
from dial2vec.files import code_hash, read_json, write_json
from dial2vec.operation.schedule.inbox import Arrival
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.registry.promotion import Verdict, summary
from dial2vec.registry.receipts import standing_champion


@dataclass
class CorpusResult:
    """What a retraining did with one corpus.

    :param corpus: its name.
    :param why: why it was trained, or was not.
    :param trained: whether it was.
    :param promoted: whether there is a new champion.
    :param verdict: what the gate said, or why it was not asked.
    :param failed: why it failed; empty when it did not.
    """

    corpus: str
    why: str = ""
    trained: bool = False
    promoted: bool = False
    verdict: str = ""
    failed: str = ""

    def judged(self, verdict: Verdict) -> None:
        """Note what the gate said."""
        self.promoted = verdict.promoted
        self.verdict = f"{'Promoted' if verdict.promoted else 'Champion stays'}: {summary(verdict).rstrip('.')}."

    def __str__(self) -> str:
        if self.failed:
            return f"failed: {self.failed}"
        said = "trained" if self.trained else "not trained"
        return f"{said}: {self.why}. {self.verdict}".strip()


@dataclass
class Retraining:
    """A whole retraining.

    :param began: seconds since 1970.
    :param imported: exports that came from the inbox.
    :param refused: exports that could not be used, with the reasons.
    :param corpora: one outcome each.
    :param notes: what else should be known.
    :param before: when nothing has changed since an earlier retraining, when that ended; else None.
    """

    began: float = field(default_factory=time.time)
    imported: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    corpora: list[CorpusResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    before: float | None = None

    def arrived(self, arrivals: Sequence[Arrival]) -> None:
        """Note what came from the inbox."""
        for one in arrivals:
            if one.refused:
                self.refused.append(f"{one.corpus}/{one.name}: {one.refused}")
            else:
                self.imported.append(f"{one.corpus}/{one.name}")
                if one.aside:
                    self.notes.append(
                        f"of {one.corpus}/{one.name} {one.dialogues} dialogues were imported, {one.aside} set aside: "
                        f"artifacts/{one.corpus}/import says why"
                    )

    @property
    def failed(self) -> str:
        """Every failure in a line; empty when there is none."""
        return "; ".join(f"{one.corpus}: {one.failed}" for one in self.corpora if one.failed)

    def to_record(self) -> dict[str, Any]:
        """Return a plain record for JSON: what is told to `schedule.notify`."""
        return asdict(self) | {"failed": self.failed, "ended": time.time()}

    def to_markdown(self, *, page: str) -> str:
        """Return the verdict for people.

        :param page: where MLflow's page is, or how it is opened.
        """
        lines = []
        if self.before is not None:
            lines.append(f"Nothing has changed since {_clock(self.before)}: the verdict of then stands.\n")
        for one in self.corpora:
            mark = "failed" if one.failed else "new champion" if one.promoted else "champion stays"
            lines += [f"## {one.corpus}: {mark}\n", f"{escape(str(one), quote=False)}\n"]
        if self.imported:
            lines.append(f"Imported from the inbox: {escape(', '.join(self.imported), quote=False)}.\n")
        lines += [f"Refused from the inbox: {escape(reason, quote=False)}\n" for reason in self.refused]
        lines += [f"Note: {escape(note, quote=False)}\n" for note in self.notes]
        return "\n".join([*lines, f"MLflow: {page}"])


def result_rows(root: Path, corpora: list[CorpusResult]) -> list[dict[str, Any]]:
    """Return the rows of the table of results: start and trained of each corpus, on the test split."""
    rows = []
    for one in corpora:
        path = Artifacts(root, one.corpus).metrics
        metrics = read_json(path) if path.is_file() else {}
        for which in ("start", "trained"):
            scores = metrics.get(which) or {}
            verdict = str(one) if which == "trained" else ""
            found = {"corpus": one.corpus, "encoder": which} | {task: scores.get(task) for task in TASKS}
            rows.append(found | {"verdict": verdict})
    return rows


def work_key(root: Path, data_hash: str) -> str:
    """Identify what a retraining depends on: data, settings and code. Equal keys need no second one."""
    digest = hashlib.sha256(f"{data_hash} {code_hash()}".encode())
    for name in ("params.yaml", "operation.yaml"):
        with contextlib.suppress(FileNotFoundError):
            digest.update((root / name).read_bytes())
    return digest.hexdigest()


def done_before(root: Path, key: str, corpora: list[str]) -> Retraining | None:
    """Return the retraining with this key that ended well, if the registry still has what it left.

    :raises ModelError: if the registry cannot be asked.
    """
    with contextlib.suppress(ArtifactError, KeyError, TypeError):
        found = read_json(_memory(root))
        same = found["key"] == key and [one["corpus"] for one in found["corpora"]] == corpora
        if same and all(found["champions"][name] == standing_champion(root, name) != "" for name in corpora):
            unchanged = [CorpusResult(**one | {"trained": False, "promoted": False}) for one in found["corpora"]]
            return Retraining(corpora=unchanged, before=found["ended"])
    return None


def remember(root: Path, key: str, done: Retraining) -> None:
    """Keep what a retraining came to, for the next one with the same key; a failed one is tried again."""
    if not done.failed:
        corpora = [asdict(one) for one in done.corpora]
        champions = {one.corpus: standing_champion(root, one.corpus) for one in done.corpora}
        write_json(_memory(root), {"key": key, "ended": time.time(), "corpora": corpora, "champions": champions})


def _memory(root: Path) -> Path:
    return root / "artifacts" / "retrained.json"


def _clock(when: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(when))
