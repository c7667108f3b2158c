"""Paths of the stages' files, in `artifacts/<corpus>/`: one attribute per file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dial2vec.errors import CorpusError
from dial2vec.registry import receipt_path


@dataclass(frozen=True, slots=True)
class Artifacts:
    """Paths of one corpus in a project.

    :param root: folder with `params.yaml` and `dvc.yaml`.
    :param corpus: name of the corpus.
    """

    root: Path
    corpus: str

    def _of(self, name: str) -> Path:
        return self.root / "artifacts" / self.corpus / name

    @property
    def data(self) -> Path:
        """Raw files of the corpus."""
        return self.root / "data" / self.corpus

    @property
    def dialogues(self) -> Path:
        """All usable dialogues (stage validate)."""
        return self._of("dialogues.jsonl")

    @property
    def quarantine(self) -> Path:
        """Records that cannot be used, with reasons (stage validate)."""
        return self._of("quarantine.jsonl")

    @property
    def validation(self) -> Path:
        """Result of every expectation (stage validate)."""
        return self._of("validation.json")

    @property
    def validation_page(self) -> Path:
        """Page about the data: expectations, quarantine, lengths, languages, labels (stage validate)."""
        return self._of("validation.html")

    @property
    def profile(self) -> Path:
        """Profiles of this version of the data and of the previous one (stage validate); kept between runs."""
        return self._of("profile.json")

    def split(self, name: str) -> Path:
        """Dialogues of one split (stage prepare)."""
        return self._of("splits") / f"{name}.jsonl"

    @property
    def splits(self) -> Path:
        """Folder of the splits (stage prepare)."""
        return self._of("splits")

    @property
    def split_report(self) -> Path:
        """Sizes, labels and excluded dialogues of the splits (stage prepare)."""
        return self._of("splits.json")

    @property
    def samples(self) -> Path:
        """Indices of the negatives (stage sample)."""
        return self._of("samples.npz")

    @property
    def vectors(self) -> Path:
        """Vectors of training dialogues by the starting encoder (stage train); kept between runs, not an output."""
        return self._of("vectors")

    @property
    def candidates(self) -> Path:
        """Weights and heads of the candidates (stage train)."""
        return self._of("candidates")

    @property
    def selection(self) -> Path:
        """All candidates with their criteria, and the choice (stage select)."""
        return self._of("selection.json")

    @property
    def model(self) -> Path:
        """The chosen encoder (stage select)."""
        return self._of("model")

    @property
    def training(self) -> Path:
        """History and figures of the training run (stage train)."""
        return self._of("training.json")

    @property
    def loss_curve(self) -> Path:
        """Step, loss and learning rate, for plots (stage train)."""
        return self._of("loss.csv")

    @property
    def checkpoints(self) -> Path:
        """Checkpoints of an unfinished training run; not an output."""
        return self._of("checkpoints")

    @property
    def adaptation(self) -> Path:
        """Checkpoints of dialoguecse's masked-word training, kept until training ends; not an output."""
        return self._of("adaptation")

    @property
    def metrics(self) -> Path:
        """Scores of start and trained on the test split (stage evaluate)."""
        return self._of("metrics.json")

    @property
    def dev_metrics(self) -> Path:
        """Scores of start and trained on the dev split, for the promotion gate (stage evaluate)."""
        return self._of("dev_metrics.json")

    @property
    def intervals(self) -> Path:
        """Confidence intervals of the scores on dev and test (stage evaluate)."""
        return self._of("intervals.json")

    @property
    def on_dev(self) -> Path:
        """Contribution of each dev dialogue to an encoder's scores, for the promotion gate; not an output."""
        return self._of("on_dev")

    @property
    def comparison(self) -> Path:
        """Table of the three tasks, for plots (stage evaluate)."""
        return self._of("comparison.csv")

    @property
    def report(self) -> Path:
        """One-page report (stage evaluate)."""
        return self._of("report.html")

    @property
    def registration(self) -> Path:
        """Version and run in MLflow (stage register); lies beside MLflow's store, so that both are deleted together."""
        return receipt_path(self.root, self.corpus)

    def seconds(self, stage: str) -> Path:
        """Seconds of a stage's last run; not an output."""
        return self._of("seconds") / f"{stage}.json"


def require_split(corpus: str, path: Path) -> None:
    """Make sure that a split of a corpus exists.

    :raises CorpusError: if it does not.
    """
    if not path.is_file():
        raise CorpusError(
            f"the corpus {corpus!r} has no splits yet: {path} does not exist. Run `make run` (or `dial2vec run`) with "
            "it in `corpora` of params.yaml first."
        )
