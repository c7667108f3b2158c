"""How the systems of the tables turn dialogues into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, read_dialogues
from dial2vec.config import Settings
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec_papers.tables.systems import System

if TYPE_CHECKING:
    from torch import Tensor

    from dial2vec.encoder import DialogueEncoder
    from dial2vec.encoder.tokens import Batch
    from dial2vec_papers.baselines.text import Encode

ViewVectors = dict[str, NDArray[np.float32]]


def fitted_baseline(
    system: System, artifacts: Artifacts, judged: Sequence[Dialogue], settings: Settings, *, on_tasks: bool = False
) -> Encode:
    """Fit a baseline to the train split.

    :param judged: dialogues whose number of labels is the number of topics, if the baseline has topics.
    :param on_tasks: True to encode utterances and contexts: topics are then no clusters.
    :raises ModelError: if its library or its model is missing.
    """
    from dial2vec_papers.baselines import fit_baseline

    return fit_baseline(
        system.baseline,
        read_dialogues(artifacts.split("train")),
        seed=settings.seed,
        start=settings.encoder.name,
        topics=len({dialogue.label for dialogue in judged}) if system.topics and not on_tasks else None,
        on_tasks=on_tasks,
        title=system.title,
    )


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
        mean = pool(hidden, batch.roles, batch.turns, how="mean")
        return encoder.through_head(torch.stack([encoder.pooled(hidden, batch), means[:, 0], means[:, 1], mean], dim=1))

    vectors = encoder.encode_tokens(encoder.tokens.dialogues(judged), batch_size=batch_size, embed=embed)
    # A head would change the zeros of a missing speaker.
    vectors[[dialogue.n_speakers < 2 for dialogue in judged], 2] = 0
    return {view: vectors[:, place] for place, view in enumerate(("both", "first", "second", "mean"))}
