"""What is handed to the registry about a training, and what it says about its versions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from dial2vec.dialogue import Dialogue
from dial2vec.evaluation.intervals import Contributions, Gain, Interval
from dial2vec.registry import promotion

Scores = dict[str, float]
# The versions of a model that have a part to play.
CANDIDATE, CHAMPION, PREVIOUS = "candidate", "champion", "previous"
# Kinds of decisions that somebody took in MLflow.
MOVED: Final = "moved by hand"
REMOVED: Final = "removed by hand"
ROLLED_BACK: Final = "rolled back"


def local_minute(when: float) -> str:
    """Return seconds since 1970 as local date and time, such as "2026-11-25 09:00"."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(when))


@dataclass(frozen=True, slots=True)
class Figures:
    """What an encoder reached on dev.

    :param scores: in points; None where labels leave nothing to score.
    :param contributions: what each dialogue adds to them; None where there are none.
    """

    scores: Scores | None
    contributions: Contributions | None = None


@dataclass(frozen=True)
class TrainingRecord:
    """Everything about one training that the registry keeps.

    :param corpus: name of the corpus.
    :param params: every setting, flat: `{"train.epochs": 1}`.
    :param data_hash: DVC's md5 of the data.
    :param git_commit: commit of the checkout.
    :param history: what training logged, each with "step" and any of "loss", "learning_rate", "grad_norm".
    :param scores: test figures in points, of the "start" and the "trained" encoder; None without labels.
    :param dev_scores: the same on dev: the only figures that the gate looks at.
    :param intervals: "dev" and "test" -> "start" and "trained" -> figure -> its 95 % interval; none without labels.
    :param gains: "dev" and "test" -> figure -> by how much "trained" is above "start"; none without labels.
    :param dev_hash: identifies the dev split and how it is measured; figures are comparable only where it is equal.
    :param split_sizes: dialogues per split.
    :param model: folder of the trained encoder.
    :param start_model: folder of the starting encoder, in the same format.
    :param start_name: what the starting encoder is called.
    :param report: the evaluation report, a file.
    :param selection: every candidate of the training, its criteria and the choice, a file.
    :param choice: the choice in a sentence.
    :param max_length: tokens of a dialogue that the encoder reads.
    :param dimension: length of a vector.
    :param languages: share of each language (ISO 639-1) in the data.
    :param example: a dialogue for the model's input example.
    :param seconds: wall-clock seconds per stage.
    :param fingerprint: equal for two trainings with equal weights, settings and dev split.
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
    max_length: int
    dimension: int
    languages: dict[str, float]
    example: Dialogue
    seconds: dict[str, float]
    fingerprint: str


@dataclass(frozen=True)
class Registration:
    """Where a training ended up in the registry; `created` is False when it was there already."""

    version: str
    run_id: str
    start_version: str
    champion_version: str
    created: bool


@dataclass(frozen=True)
class RegisteredVersion:
    """One line of the listing; `kind` is "start" or "trained", `created` is in seconds since 1970."""

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
    """Something that was decided about the champion of a corpus.

    :param kind: "first" for the starting encoder, which is champion until something is better.
    :param version: the version that it was about.
    :param before: champion until then; "" before the first.
    :param after: champion from then on; "" for nobody.
    :param reason: why, in a sentence or more.
    :param when: seconds since 1970.
    """

    kind: Literal["first", "promoted", "refused", "rolled back", "moved by hand", "removed by hand"]
    version: str
    before: str
    after: str
    reason: str
    when: float

    @property
    def title(self) -> str:
        """Name of its run on MLflow's page."""
        return f"champion {self.kind}" if self.kind == MOVED else f"version {self.version} {self.kind}"

    def __str__(self) -> str:
        champion = f"champion is version {self.after}" if self.after else "there is no champion"
        if self.before not in ("", self.after):
            champion += f" (before: {self.before})"
        elif self.before:
            champion = f"champion stays version {self.after}"
        return f"{local_minute(self.when)}  {self.title}; {champion}. {self.reason}"
