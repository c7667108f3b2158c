"""Records of the registry: a training, its registration, versions, and decisions about the champion."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from conversations.dialogue import Dialogue
from dial2vec.evaluation.intervals import Contributions, Gain, Interval
from dial2vec.registry import promotion

Scores = dict[str, float]
# Aliases of versions.
CANDIDATE, CHAMPION, PREVIOUS = "candidate", "champion", "previous"
# Kinds of decisions; the first two were made in MLflow.
MOVED: Final = "moved by hand"
REMOVED: Final = "removed by hand"
ROLLED_BACK: Final = "rolled back"
PRUNED: Final = "pruned"


def local_minute(when: float) -> str:
    """Return seconds since 1970 as local date and time, such as "2026-11-25 09:00"."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(when))


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of an encoder on dev.

    :param scores: figures in points; None if labels leave nothing to score.
    :param contributions: share of each dialogue in the figures; None without figures.
    """

    scores: Scores | None
    contributions: Contributions | None = None


@dataclass(frozen=True)
class TrainingRecord:
    """One training as the registry keeps it.

    :param corpus: name of the corpus; with `SMALL` at its end for the training of its student.
    :param params: every setting, flat: `{"train.epochs": 1}`.
    :param data_hash: DVC's md5 of the data.
    :param git_commit: commit of the checkout.
    :param history: log entries of the training, each with "step" and any of "loss", "learning_rate", "grad_norm".
    :param scores: test figures in points, of the "start", the "trained" encoder and the "student"; None without labels
        or without a student.
    :param dev_scores: the same figures on dev; the gate reads only these.
    :param intervals: "dev" and "test" -> the same names -> figure -> its 95 % interval; none without labels.
    :param gains: "dev" and "test" -> figure -> gain of the encoder over "start"; none without labels.
    :param dev_hash: hash of the dev split and of the way it is measured; only figures of equal hashes are comparable.
    :param split_sizes: dialogues per split.
    :param model: folder of the encoder.
    :param start_model: folder of the base encoder, in the same format.
    :param start_name: name of the base encoder.
    :param report: file of the evaluation report.
    :param selection: file with all candidates of the training, their criteria and the choice.
    :param choice: the choice, as a sentence.
    :param max_length: tokens that the encoder reads at a time; None for no limit.
    :param dimension: length of a vector.
    :param languages: share of each language (ISO 639-1) in the data.
    :param example: a dialogue for the model's input example.
    :param seconds: wall-clock seconds per stage.
    :param fingerprint: hash of weights, settings and dev split.
    :param kind: name of the encoder in `scores`.
    :param teacher_version: version of a student's teacher in the model of its corpus; "" for another teacher, or none.
    """

    corpus: str
    params: dict[str, object]
    data_hash: str
    git_commit: str
    history: list[dict[str, float]]
    scores: dict[str, Scores | None]
    dev_scores: dict[str, Scores | None]
    intervals: dict[str, dict[str, dict[str, Interval]]]
    gains: dict[str, dict[str, Gain]]
    dev_hash: str
    split_sizes: dict[str, int]
    model: Path
    start_model: Path
    start_name: str
    report: Path
    selection: Path
    choice: str
    max_length: int | None
    dimension: int
    languages: dict[str, float]
    example: Dialogue
    seconds: dict[str, float]
    fingerprint: str
    kind: Literal["trained", "student"] = "trained"
    teacher_version: str = ""


@dataclass(frozen=True)
class Registration:
    """Version and run of a training; `created` is False if they existed already."""

    version: str
    run_id: str
    start_version: str
    champion_version: str
    created: bool


@dataclass(frozen=True)
class RegisteredVersion:
    """One line of the listing; `kind` is "start", "trained" or "student", `created` is in seconds since 1970."""

    version: str
    aliases: tuple[str, ...]
    kind: str
    dev_scores: Scores | None
    created: float

    def __str__(self) -> str:
        aliases = f" ({', '.join(self.aliases)})" if self.aliases else ""
        figures = promotion.figures_sentence(self.dev_scores)
        return f"{self.version:>3}  {local_minute(self.created)}  {self.kind}{aliases}. {figures}"


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision about the champion of a corpus.

    :param kind: kind of the decision; "first" makes the base encoder champion until a better one comes.
    :param version: version that was promoted, refused, rolled back, moved, removed, changed or pruned; "" for the
        whole registry.
    :param before: champion before; "" before the first.
    :param after: champion afterwards; "" for none.
    :param reason: one or more sentences.
    :param when: seconds since 1970.
    """

    kind: Literal[
        "first",
        "promoted",
        "refused",
        "rolled back",
        "pruned",
        "moved by hand",
        "removed by hand",
        "changed by hand",
    ]
    version: str
    before: str
    after: str
    reason: str
    when: float

    @property
    def title(self) -> str:
        """Name of its run on MLflow's page."""
        if self.kind == MOVED:
            return f"champion {self.kind}"
        return f"version {self.version} {self.kind}" if self.version else f"registry {self.kind}"

    def __str__(self) -> str:
        champion = f"champion is version {self.after}" if self.after else "there is no champion"
        if self.before not in ("", self.after):
            champion += f" (before: {self.before})"
        elif self.before:
            champion = f"champion stays version {self.after}"
        return f"{local_minute(self.when)}  {self.title}; {champion}. {self.reason}"


def size_of(folders: Iterable[Path]) -> int:
    """Return the bytes of some folders; hard links of one file count once."""
    files = [path.stat() for folder in folders for path in folder.rglob("*") if path.is_file()]
    return sum({(stat.st_dev, stat.st_ino): stat.st_size for stat in files}.values())
