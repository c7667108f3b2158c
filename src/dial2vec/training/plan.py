"""What a training method is given, the plan that it makes, and how a plan is run."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from torch import Tensor

from conversations.dialogue import Dialogue
from dial2vec.config import DialAug, DialogueCse, Dse, IntentAugmentation, Settings, Train
from dial2vec.draws import drawn
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.backbone import add_token
from dial2vec.encoder.head import Head
from dial2vec.encoder.papers.codes import give_codes
from dial2vec.encoder.reading import Reading
from dial2vec.training.data import TrainingSet
from dial2vec.training.loop import Names, Schedule, Trained, train
from dial2vec.training.negatives import Samples


@dataclass(frozen=True, slots=True)
class Given:
    """What every method makes its plan from; a plan changes none of it.

    :param dialogues: Training split.
    :param samples: Dialogues that may train, with their negatives.
    :param vectors: Folder for the vectors and variants that a plan needs.
    """

    encoder: DialogueEncoder
    dialogues: Sequence[Dialogue]
    samples: Samples
    settings: Settings
    vectors: Path

    def of_two_speakers(self) -> list[Dialogue]:
        """Return the dialogues with at least two speakers; methods on utterances choose from these."""
        return [dialogue for dialogue in self.dialogues if dialogue.n_speakers > 1]

    def drawn(self, limit: int | None, *, stream: int) -> list[Dialogue]:
        """Return a random part of the dialogues that may train, in the order of the split.

        :param limit: Number of dialogues at most; None is no limit.
        :param stream: Number of the random stream; methods with different streams draw different dialogues.
        """
        places = self.samples.dialogues
        chosen = drawn(len(places), limit, seed=[self.settings.seed, stream])
        return [self.dialogues[place] for place in places[chosen]]

    def train_as(
        self, options: Dse | DialogueCse | DialAug | IntentAugmentation, *, max_items: int | None = None
    ) -> Train:
        """Return block `train` with the values of a method's own block; batches are not accumulated.

        :param options: Block of the method.
        :param max_items: Number of items per epoch at most; None is no limit.
        """
        return replace(
            self.settings.train,
            learning_rate=options.learning_rate,
            epochs=options.epochs,
            batch_size=options.batch_size,
            frozen_share=options.frozen_share,
            gradient_accumulation=1,
            max_dialogues=max_items,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """What a method wants to be trained.

    :param data: Items of the training run; None trains nothing.
    :param train: Settings of the training run.
    :param head: Head on the encoder during training; None is no head.
    :param maps: Heads fitted on the base encoder, by name, the most cautious first.
    :param neighbourhood: Dialogues on which `fit_maps` fitted the maps; empty if there are no maps.
    :param note: Sentence that says why nothing is trained; "" if something is.
    :param auxiliary_rate: Learning rate of `data.auxiliary`; None is the encoder's.
    :param schedule: Learning rate after the warm-up.
    :param before: Plan to run first (masked words); its last weights are the start of this plan's training.
    :param added: Tokens that the encoder lacks and gets (`dial2vec.encoder.backbone.add_token`).
    :param codes: Codes that make the encoder a Poly-encoder [m, d]; None is no Poly-encoder.
    :param reading: Way in which the trained encoder reads dialogues; None is as before.
    :param names: Words for messages about the run.
    """

    data: TrainingSet | None
    train: Train
    head: Head | None = None
    maps: dict[str, Head] = field(default_factory=dict)
    neighbourhood: Sequence[Dialogue] = ()
    note: str = ""
    auxiliary_rate: float | None = None
    schedule: Schedule = "linear"
    before: Plan | None = None
    added: tuple[str, ...] = ()
    codes: Tensor | None = None
    reading: Reading | None = None
    names: Names = field(default_factory=Names)

    def run(
        self, encoder: DialogueEncoder, *, seed: int, checkpoints: Path, adaptation: Path, fingerprint: str
    ) -> tuple[Trained, Trained]:
        """Change the encoder as planned and train it, all in place.

        :param checkpoints: Folder for the checkpoints of the run; removed if nothing is trained.
        :param adaptation: Folder for the checkpoints of `before`; removed if there is no such plan.
        :param fingerprint: Identity of data, settings and base encoder; others' checkpoints are not resumed.
        :return: records of `before` and of this plan itself.
        """
        prepare(encoder, self)
        records = []
        for part, folder in ((self.before, adaptation), (self, checkpoints)):
            if part is None or part.data is None:
                shutil.rmtree(folder, ignore_errors=True)
                records.append(Trained.nothing())
                continue
            records.append(
                train(
                    encoder,
                    part.data,
                    settings=part.train,
                    seed=seed,
                    checkpoints=folder,
                    fingerprint=fingerprint,
                    auxiliary_rate=part.auxiliary_rate,
                    schedule=part.schedule,
                    names=part.names,
                )
            )
        return records[0], records[1]


def prepare(encoder: DialogueEncoder, plan: Plan) -> None:
    """Give the encoder the tokens, the reading, the codes and the head that it trains with."""
    for token in plan.added:
        add_token(encoder.backbone, encoder.tokens.tokenizer, token)
    if plan.reading is not None:
        encoder.read_as(plan.reading)
    if plan.codes is not None:
        give_codes(encoder.network, plan.codes)
    if plan.data is not None:
        encoder.head = plan.head
