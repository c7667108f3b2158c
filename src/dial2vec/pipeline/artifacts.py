"""Paths of the stages' files, in `artifacts/<corpus>/`: one attribute per file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dial2vec.errors import CorpusError
from dial2vec.registry import receipt_path


class _Artifact:
    """A file or folder in `artifacts/<corpus>/`, read as an attribute of `Artifacts`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, artifacts: Artifacts, _: type[Artifacts]) -> Path:
        return artifacts.root / "artifacts" / artifacts.corpus / self.name


@dataclass(frozen=True, slots=True)
class Artifacts:
    """Paths of one corpus in a project.

    :param root: folder with `params.yaml` and `dvc.yaml`.
    """

    root: Path
    corpus: str

    # Stage validate: usable dialogues, unusable records with reasons, results of the expectations, the same as a page.
    dialogues = _Artifact("dialogues.jsonl")
    quarantine = _Artifact("quarantine.jsonl")
    validation = _Artifact("validation.json")
    validation_page = _Artifact("validation.html")
    # Profiles of this version of the data and of the previous one, kept between runs.
    profile = _Artifact("profile.json")
    # Stage prepare: folder of the splits; sizes, labels and excluded dialogues.
    splits = _Artifact("splits")
    split_report = _Artifact("splits.json")
    # Stage sample: indices of the negatives.
    samples = _Artifact("samples.npz")
    # Stage train: weights and heads of the candidates; history and figures; step, loss and learning rate for plots.
    candidates = _Artifact("candidates")
    training = _Artifact("training.json")
    loss_curve = _Artifact("loss.csv")
    # Not outputs: vectors of training dialogues by the base encoder, kept between runs; checkpoints of unfinished
    # training, and of the masked-word training before it (dialoguecse), kept until training ends.
    vectors = _Artifact("vectors")
    checkpoints = _Artifact("checkpoints")
    adaptation = _Artifact("adaptation")
    # Stage select: all candidates with their criteria, and the choice; the chosen encoder.
    selection = _Artifact("selection.json")
    model = _Artifact("model")
    # Stage distil: the student's folder, empty if none is kept; all candidates with their criteria, and the choice.
    student = _Artifact("student")
    distillation = _Artifact("distillation.json")
    # Not outputs: the teacher's vectors of train and of dev, kept between runs; tables of an unfinished distillation.
    teacher_vectors = _Artifact("teacher_vectors")
    teacher_vectors_of_dev = _Artifact("teacher_vectors_dev")
    distilling = _Artifact("distilling")
    # Stage evaluate: scores of start, trained and student on test, and on dev for the gate; their intervals; table for
    # plots.
    metrics = _Artifact("metrics.json")
    dev_metrics = _Artifact("dev_metrics.json")
    intervals = _Artifact("intervals.json")
    comparison = _Artifact("comparison.csv")
    report = _Artifact("report.html")
    # Not an output: contribution of each dev dialogue to an encoder's scores, for the gate.
    on_dev = _Artifact("on_dev")

    @property
    def kept_student(self) -> Path | None:
        """Folder of the student; None if stage distil kept none."""
        return self.student if self.student.is_dir() and any(self.student.iterdir()) else None

    @property
    def data(self) -> Path:
        """Raw files of the corpus."""
        return self.root / "data" / self.corpus

    def split(self, name: str) -> Path:
        """Dialogues of one split (stage prepare)."""
        return self.splits / f"{name}.jsonl"

    @property
    def registration(self) -> Path:
        """Version and run in MLflow (stage register); lies beside MLflow's store, so that both are deleted together."""
        return receipt_path(self.root, self.corpus)

    def seconds(self, stage: str) -> Path:
        """Seconds of a stage's last run; not an output."""
        return self.root / "artifacts" / self.corpus / "seconds" / f"{stage}.json"


def require_split(corpus: str, path: Path) -> None:
    """Make sure that a split of a corpus exists.

    :raises CorpusError: if it does not.
    """
    if not path.is_file():
        raise CorpusError(
            f"the corpus {corpus!r} has no splits yet: {path} does not exist. Run `dial2vec run` with "
            "it in `corpora` of params.yaml first."
        )
