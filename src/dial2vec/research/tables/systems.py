"""Systems that the tables compare, a row each, and how they turn dialogues into vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dial2vec.config import Settings
from dial2vec.dialogue import Dialogue, read_dialogues
from dial2vec.errors import CorpusError, SettingsError, did_you_mean
from dial2vec.pipeline.artifacts import Artifacts

if TYPE_CHECKING:
    from torch import Tensor

    from dial2vec.encoder import DialogueEncoder
    from dial2vec.encoder.tokens import Batch
    from dial2vec.research.baselines.encode import Encode
    from dial2vec.research.tasks.encoding import Similarity

ViewVectors = dict[str, NDArray[np.float32]]

# The paper's settings, independent of params.yaml, except for 200 dialogues in 1 epoch instead of thousands in 5.
PAPER_ENCODER = {
    "pooling": "role",
    "hierarchy": "none",
    "turn_embeddings": False,
    "role_embeddings": False,
    "last_turns": None,
}
PAPER_SAMPLES = {"negatives": 9, "passes": 1, "keep_role": "random", "min_turns": 5, "among": "all"}
PAPER_TRAINING = {
    "method": "dial2vec",
    "temperature": 0.2,
    "window": 10,
    "loss_mean": "dialogues",
    "learning_rate": 1e-5,
    "epochs": 1,
    "max_dialogues": 200,
    "batch_size": 5,
    "gradient_accumulation": 1,
    "frozen_share": 0.5,
    "attention_dropout": True,
    "warmup_share": 0.1,
    "checkpoint_steps": 10,
}
# Seed with which courses are scored and choices computed; seed of systems without random draws.
COURSE_SEED, NO_SEED = 1, 0


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A row of the tables.

    :param title: name in the tables.
    :param published: corresponding model of Liu et al. 2022; "" if the paper has none.
    :param baseline: key of `dial2vec.research.baselines.BASELINES`; "" for an encoder.
    :param topics: True if the dimensions are topics: the largest one, not k-means, gives the cluster of a dialogue.
    :param seeded: True if the vectors depend on a seed; otherwise there is one cell, of seed 0.
    :param version: number to raise when the code changes the vectors: the cells are then computed again.
    :param as_the_paper: True to read like the paper: `input` of its encoders, separators for all others.
    :param encoder: differences from block `encoder` of params.yaml.
    :param sample: differences from block `sample`.
    :param train: differences from block `train`; None if nothing is trained.
    :param block: differences from the block of the method.
    :param selection: choice of the checkpoint.
    :param choices: True to compute the choice without labels, with seed 1, even if the last checkpoint is scored.
    :param similarity: similarity of contexts and answers on the tasks for utterances, the same as in training.
    :param course: True to score every checkpoint, with seed 1, for figure 3.
    """

    title: str
    published: str = ""
    baseline: str = ""
    topics: bool = False
    seeded: bool = True
    version: int = 1
    as_the_paper: bool = False
    encoder: Mapping[str, Any] = field(default_factory=dict)
    sample: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] | None = None
    block: Mapping[str, Any] = field(default_factory=dict)
    selection: Literal["label_free", "last"] = "label_free"
    choices: bool = False
    similarity: Similarity = "cosine"
    course: bool = False

    def settings(self, settings: Settings, *, seed: int) -> Settings:
        """Return the settings of a cell."""
        reading: dict[str, Any] = {"input": paper_input(settings.encoder.name)} if self.as_the_paper else {}
        method = (self.train or {}).get("method", "")
        blocks = {method: replace(getattr(settings, method), **self.block)} if self.block else {}
        return replace(
            settings,
            **blocks,
            seed=seed,
            encoder=replace(settings.encoder, **self.encoder, **reading),
            sample=replace(settings.sample, **self.sample),
            train=replace(settings.train, **(self.train or {})),
            select=replace(settings.select, selection=self.selection),
        )


def paper_input(encoder: str) -> str:
    """Return the input format that the paper uses for an encoder: BERT's for encoders that it does not have."""
    from dial2vec.encoder.names import SHORT_NAMES
    from dial2vec.encoder.plato import is_plato

    if encoder in SHORT_NAMES:
        return SHORT_NAMES[encoder].input
    return "plato" if is_plato(encoder) else "separators"


def _method(name: str, **options: Any) -> System:
    """Return a method as params.yaml has it, at its last checkpoint, so that the choice hides nothing."""
    return System(train={"method": name}, selection="last", choices=True, **options)


SYSTEMS: dict[str, System] = {
    "lda": System(title="LDA", published="LDA", baseline="lda", topics=True),
    "word_vectors": System(title="GloVe, averaged", published="GloVe", baseline="word_vectors", seeded=False),
    "word2vec": System(title="word2vec of the corpus, averaged", baseline="word2vec"),
    "doc2vec": System(title="Doc2Vec", published="Doc2Vec", baseline="doc2vec"),
    "tfidf_svd": System(title="TF-IDF + SVD", baseline="tfidf_svd"),
    "simcse": System(title="SimCSE on the utterances", published="SimCSE", baseline="simcse"),
    "encoder_mean": System(title="start, mean of tokens", baseline="encoder_mean", seeded=False),
    "whitening": System(title="start, whitened", baseline="whitening"),
    "start": System(title="start", seeded=False),
    "start_separators": System(title="start, read as in the paper", seeded=False, as_the_paper=True),
    "paper": System(
        title="dial2vec, the paper's recipe",
        published="dial2vec",
        as_the_paper=True,
        encoder=PAPER_ENCODER,
        sample=PAPER_SAMPLES,
        train=PAPER_TRAINING,
        selection="last",
        course=True,
    ),
    "default": System(title="default", train={}),
    "dse": _method("dse", title="DSE"),
    "dialoguecse": _method("dialoguecse", title="DialogueCSE", published="DialogueCSE"),
    "bi_encoder": _method("dialaug", title="bi-encoder", block={"augmentation": "none"}, similarity="dot"),
    "dialaug": _method(
        "dialaug", title="DialAug (ConMix)", block={"augmentation": "conmix"}, similarity="dot", version=2
    ),
    "intent_augmentation": _method("intent_augmentation", title="intent augmentation"),
}
# Rows of the table of methods: the start, and all trainings from it.
METHOD_ROWS = ("start", "default", "paper", "dse", "dialoguecse", "bi_encoder", "dialaug", "intent_augmentation")
# Settings that the paper leaves open: setting -> block in params.yaml, and values other than the recipe's.
ABLATIONS: dict[str, tuple[Literal["sample", "train"], tuple[Any, ...]]] = {
    "negatives": ("sample", (1, 4, 19)),
    "window": ("train", (1, 2, 5, None)),
    "temperature": ("train", (0.05, 0.1, 0.5)),
    "frozen_share": ("train", (0.0, 0.8)),
    "keep_role": ("sample", ("first", "second")),
    "passes": ("sample", (2,)),
    "max_dialogues": ("train", (600,)),
}


def _ablated(setting: str, value: Any) -> System:
    block, recipe = ABLATIONS[setting][0], SYSTEMS["paper"]
    changed: dict[str, Any] = {block: {**(getattr(recipe, block) or {}), setting: value}}
    shown = "no limit" if value is None else value
    return replace(recipe, title=f"{setting} {shown}", published="", **changed)


def _key(setting: str, value: Any) -> str:
    return f"{setting}_{'none' if value is None else value}"


# All systems: rows of the tables, then ablations.
ALL: dict[str, System] = SYSTEMS | {
    _key(setting, value): _ablated(setting, value) for setting, (_, values) in ABLATIONS.items() for value in values
}


def ablated(setting: str) -> list[str]:
    """Return the systems that differ from the paper's recipe in one setting.

    :raises SettingsError: if the setting is not in `ABLATIONS`.
    """
    if setting not in ABLATIONS:
        raise SettingsError(
            f"there is no ablation of {setting!r}.{did_you_mean(setting, ABLATIONS)} Valid: {', '.join(ABLATIONS)}."
        )
    return [_key(setting, value) for value in ABLATIONS[setting][1]]


def fitted_baseline(
    system: System, artifacts: Artifacts, judged: Sequence[Dialogue], settings: Settings, *, on_tasks: bool = False
) -> Encode:
    """Fit a baseline to the train split.

    :param judged: dialogues whose number of labels is the number of topics, if the baseline has topics.
    :param on_tasks: True to encode utterances and contexts: topics are then no clusters.
    :raises CorpusError: if there are fewer than 2 labels.
    :raises ModelError: if its library or its model is missing.
    """
    from dial2vec.research.baselines import fit_baseline

    return fit_baseline(
        system.baseline,
        read_dialogues(artifacts.split("train")),
        seed=settings.seed,
        start=settings.encoder.name,
        topics=_n_labels(judged) if system.topics and not on_tasks else None,
        on_tasks=on_tasks,
        title=system.title,
    )


def _n_labels(judged: Sequence[Dialogue]) -> int:
    """Return the number of different labels, as for k-means; the assignment of labels is not used."""
    n = len({dialogue.label for dialogue in judged} - {None})
    if n < 2:
        raise CorpusError(
            f"the {len(judged)} judged dialogues have {n} different labels, and LDA takes as many topics; expected at "
            "least 2. Give the number: topics=10."
        )
    return n


def encoder_views(encoder: DialogueEncoder, judged: Sequence[Dialogue], *, batch_size: int) -> ViewVectors:
    """Encode the dialogues once, and pool them in every way of tables 4 and 5, each float32 [n, d].

    "both" is the encoder's own vector, "first" and "second" are the means over one speaker's tokens, read in the whole
    dialogue, and "mean" is the mean over all tokens. "second" is zero if there is only one speaker.
    """
    import torch

    from dial2vec.encoder.pooling import pool, role_means

    def embed(batch: Batch) -> Tensor:
        hidden = encoder.hidden_states(batch)
        means = torch.nn.functional.pad(role_means(hidden, batch.roles), (0, 0, 0, 1))
        ways = (
            encoder.pooled(hidden, batch),
            means[:, 0],
            means[:, 1],
            pool(hidden, batch.roles, batch.turns, how="mean"),
        )
        return encoder.through_head(torch.stack(ways, dim=1))

    vectors = encoder.encode_tokens(encoder.tokens.dialogues(judged), batch_size=batch_size, embed=embed)
    # A head would change the zeros of a missing speaker.
    vectors[[dialogue.n_speakers < 2 for dialogue in judged], 2] = 0
    return {view: vectors[:, place] for place, view in enumerate(("both", "first", "second", "mean"))}
