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
from dial2vec_papers.baselines.encode import Encode

TEMPERATURE = 0.05


def fit(
    train: Sequence[Dialogue],
    *,
    seed: int,
    start: str = "all-MiniLM-L6-v2",
    max_steps: int = 100,
    batch_size: int = 64,
    learning_rate: float = 3e-5,
    max_length: int = 32,
) -> Encode:
    """Train on utterances, and return a function that averages the utterance vectors of a dialogue, float32 [n, d].

    :param start: name or folder of an encoder that sentence-transformers loads; without that library's own settings it
        is pooled by the mean of its tokens.
    :param max_steps: upper limit of steps: one pass over a seeded draw of at most `max_steps * batch_size` different
        utterances. 0 trains nothing, which gives the base encoder alone.
    :param learning_rate: learning rate of the first step; falls linearly to 0.
    :param max_length: number of tokens at which utterances are cut, as in the source.
    :raises ModelError: if the encoder cannot be loaded.
    """
    import torch

    model = _load(start, max_length=max_length)
    utterances = list(dict.fromkeys(turn.text for dialogue in train for turn in dialogue.turns))
    order = np.random.default_rng(seed).permutation(len(utterances))[: max_steps * batch_size]
    # The caller's random state is restored afterwards.
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        _train(model, [utterances[place] for place in order], batch_size=batch_size, learning_rate=learning_rate)
    return partial(average_utterances, partial(model.encode, batch_size=64, show_progress_bar=False))


def _train(model: Any, utterances: Sequence[str], *, batch_size: int, learning_rate: float) -> None:
    import torch
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    # An utterance alone in its batch has no negative, so a single last one is dropped.
    starts = range(0, len(utterances) - 1, batch_size)
    loss_of = MultipleNegativesRankingLoss(model, scale=1 / TEMPERATURE)
    optimiser = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, total_iters=max(1, len(starts)))
    model.train()
    for first in starts:
        tokens = {
            name: values.to(model.device) if isinstance(values, torch.Tensor) else values
            for name, values in model.preprocess(utterances[first : first + batch_size]).items()
        }
        # The same batch twice: dropout makes the two views.
        loss_of([dict(tokens), dict(tokens)], None).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
    model.eval()


def _load(start: str, *, max_length: int) -> Any:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    from dial2vec.encoder.backbone import loading_errors
    from dial2vec.encoder.names import resolve

    transformers_logging.disable_progress_bar()
    folder = resolve(start)
    with loading_errors(f"{folder} cannot be loaded by sentence-transformers"):
        model = SentenceTransformer(folder, trust_remote_code=False)
    model.max_seq_length = min(max_length, model.max_seq_length or max_length)
    return model
