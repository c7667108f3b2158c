"""Unsupervised SimCSE, trained here on utterances (Gao, Yao & Chen 2021): an utterance is its own positive by dropout.

A dialogue is the mean of its utterances. The source trains BERT on a million sentences of Wikipedia: one pass, batches
of 64, learning rate 3e-5, temperature 0.05, on [CLS] through a layer that is dropped afterwards. Here learning rate,
batch size and temperature are the source's; pooling and start are the project's, and the number of steps is limited.
The row SimCSE of Liu et al. 2022 is another one: the model that the source's authors trained (`simcse`).

Cost: 4 s per step, about 7 minutes, and less than a minute for the utterances of the judged dialogues.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from conversations.dialogue import Dialogue
from dial2vec_papers.baselines.by_utterance import average_utterances
from dial2vec_papers.baselines.text import Encode

TEMPERATURE, BATCH, LEARNING_RATE = 0.05, 64, 3e-5
# One pass over a seeded draw of at most `MAX_STEPS` batches of different utterances.
MAX_STEPS = 100
# Tokens at which utterances are cut, as in the source.
MAX_LENGTH = 32


def fit(train: Sequence[Dialogue], *, seed: int, start: str = "all-MiniLM-L6-v2") -> Encode:
    """Train on utterances, and return a function that averages the utterance vectors of a dialogue, float32 [n, d].

    :param start: name or folder of an encoder that sentence-transformers loads; without that library's own settings it
        is pooled by the mean of its tokens.
    :raises ModelError: if the encoder cannot be loaded.
    """
    import torch

    model = _load(start)
    utterances = list(dict.fromkeys(turn.text for dialogue in train for turn in dialogue.turns))
    order = np.random.default_rng(seed).permutation(len(utterances))[: MAX_STEPS * BATCH]
    # The caller's random state is restored afterwards.
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        _train(model, [utterances[place] for place in order])
    return partial(average_utterances, partial(model.encode, batch_size=64, show_progress_bar=False))


def _train(model: Any, utterances: Sequence[str]) -> None:
    import torch
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    # An utterance alone in its batch has no negative, so a single last one is dropped.
    starts = range(0, len(utterances) - 1, BATCH)
    loss_of = MultipleNegativesRankingLoss(model, scale=1 / TEMPERATURE)
    optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, total_iters=max(1, len(starts)))
    model.train()
    for first in starts:
        tokens = {
            name: values.to(model.device) if isinstance(values, torch.Tensor) else values
            for name, values in model.preprocess(utterances[first : first + BATCH]).items()
        }
        # The same batch twice: dropout makes the two views.
        loss_of([dict(tokens), dict(tokens)], None).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
    model.eval()


def _load(start: str) -> Any:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    from dial2vec.encoder.backbone import loading_errors
    from dial2vec.encoder.names import resolve

    transformers_logging.disable_progress_bar()
    folder = resolve(start)
    with loading_errors(f"{folder} cannot be loaded by sentence-transformers"):
        model = SentenceTransformer(folder, trust_remote_code=False)
    model.max_seq_length = min(MAX_LENGTH, model.max_seq_length or MAX_LENGTH)
    return model
