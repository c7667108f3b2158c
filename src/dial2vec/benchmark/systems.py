"""What the benchmark compares: the rows of its tables, and how each turns dialogues into vectors."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dial2vec.artifacts import Artifacts
from dial2vec.config import Settings
from dial2vec.dialogue import Dialogue, read_dialogues
from dial2vec.files import read_json

if TYPE_CHECKING:
    from torch import Tensor

    from dial2vec.encoder import DialogueEncoder
    from dial2vec.tokens import Batch

Views = dict[str, NDArray[np.float32]]

AS_THE_PAPER_READS = {"input": "separators"}
# Its batches, rate and lack of a choice; 200 dialogues, since more are only worse from today's sentence encoders.
PAPER = {
    "method": "dial2vec",
    "learning_rate": 1e-5,
    "max_dialogues": 200,
    "batch_size": 5,
    "gradient_accumulation": 1,
    "checkpoint_steps": 20,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A row of the tables.

    :param title: its name there.
    :param published: the model of Liu et al. 2022 that it stands beside, if the paper has it.
    :param baseline: key of `dial2vec.baselines.BASELINES`; empty for an encoder.
    :param topics: whether its dimensions are topics, the largest of which is a dialogue's cluster, instead of k-means.
    :param seeded: whether another seed gives other vectors. Where not, one cell stands for all seeds.
    :param encoder: what differs from block `encoder` of params.yaml.
    :param train: what differs from block `train`; None where nothing is trained.
    :param selection: how the checkpoint is chosen.
    """

    title: str
    published: str = ""
    baseline: str = ""
    topics: bool = False
    seeded: bool = True
    encoder: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] | None = None
    selection: Literal["label_free", "dev_purity", "last"] = "label_free"

    def settings(self, settings: Settings, *, seed: int) -> Settings:
        """Return the settings of a cell."""
        return replace(
            settings,
            seed=seed,
            encoder=replace(settings.encoder, **self.encoder),
            train=replace(settings.train, **(self.train or {})),
            select=replace(settings.select, selection=self.selection),
        )


SYSTEMS: dict[str, System] = {
    "lda": System(title="LDA", published="LDA", baseline="lda", topics=True),
    "word_vectors": System(title="GloVe, averaged", published="GloVe", baseline="word_vectors", seeded=False),
    "word2vec": System(title="word2vec of the corpus, averaged", baseline="word2vec"),
    "doc2vec": System(title="Doc2Vec", published="Doc2Vec", baseline="doc2vec"),
    "tfidf_svd": System(title="TF-IDF + SVD", baseline="tfidf_svd"),
    "simcse": System(title="SimCSE on the utterances", published="SimCSE", baseline="simcse"),
    "encoder_mean": System(title="start, mean of tokens", baseline="encoder_mean", seeded=False),
    "whitening": System(title="start, whitened", baseline="whitening", seeded=False),
    "start": System(title="start", seeded=False),
    "start_separators": System(title="start, read as in the paper", seeded=False, encoder=AS_THE_PAPER_READS),
    "paper": System(
        title="dial2vec, the paper's recipe",
        published="dial2vec",
        encoder=AS_THE_PAPER_READS,
        train=PAPER,
        selection="last",
    ),
    "default": System(title="default", train={}),
}


def baseline_vectors(system: System, artifacts: Artifacts, judged: Sequence[Dialogue], settings: Settings) -> Views:
    """Return the vectors of a baseline, as the only view."""
    from dial2vec.baselines import BASELINES

    train = list(read_dialogues(artifacts.split("train")))
    return {"both": BASELINES[system.baseline].vectors(train, judged, seed=settings.seed)}


def encoder_views(encoder: DialogueEncoder, judged: Sequence[Dialogue], *, batch_size: int) -> Views:
    """Encode the dialogues once and pool them in every way of tables 4 and 5, each float32 [n, d].

    "both" is the encoder's own vector, "first" and "second" are the two speakers' alone, read in the whole dialogue,
    and "mean" is that of all tokens. A dialogue with one speaker has zeros as "second".
    """
    import torch

    from dial2vec.pooling import pool, role_means

    def embed(batch: Batch) -> Tensor:
        hidden = encoder.hidden_states(batch)
        means = torch.nn.functional.pad(role_means(hidden, batch.roles), (0, 0, 0, 1))
        ways = (
            pool(hidden, batch.roles, how=encoder.pooling),
            means[:, 0],
            means[:, 1],
            pool(hidden, batch.roles, how="mean"),
        )
        return encoder.through_head(torch.stack(ways, dim=1))

    vectors = encoder.encode_tokens(encoder.tokens.dialogues(judged), batch_size=batch_size, embed=embed)
    return {view: vectors[:, place] for place, view in enumerate(("both", "first", "second", "mean"))}


def trained_encoder(artifacts: Artifacts, settings: Settings, work: Path) -> tuple[DialogueEncoder, str]:
    """Run the stages sample, train and select in a folder of the cell's own, and return the encoder and the choice.

    A killed run goes on in that folder; whoever has the scores may remove it.
    """
    from dial2vec.encoder import DialogueEncoder
    from dial2vec.stages.sample import sample
    from dial2vec.stages.select import select
    from dial2vec.stages.train import train_encoder

    scratch = Artifacts(work, artifacts.corpus)
    scratch.splits.mkdir(parents=True, exist_ok=True)
    for name in ("train", "dev"):
        shutil.copyfile(artifacts.split(name), scratch.split(name))
    shutil.copyfile(artifacts.split_report, scratch.split_report)
    for stage in (sample, train_encoder, select):
        stage(scratch, settings)
    return DialogueEncoder.from_pretrained(scratch.model), str(read_json(scratch.selection)["chosen"])
