"""Unsupervised SimCSE on utterances (Gao, Yao & Chen 2021): an utterance is the positive of itself under dropout.

A dialogue is the mean of its utterances. The source trains BERT on a million sentences of Wikipedia, one pass in
batches of 64 with a rate of 3e-5 and a temperature of 0.05, on [CLS] through a layer that is thrown away after it;
the settings of the paper's row are not known. Here rate, batch and temperature are the source's, on the encoder's own
pooling, from the project's start and for a limited number of steps. (The source's own model, trained by its authors,
is `encoder_mean` with start="simcse".)

Cost: 4 s a step, so some 7 minutes, and less than one more for the utterances of the judged dialogues.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dial2vec.dialogue import Dialogue
from dial2vec.research.baselines.encode import Encode

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
    """Train on utterances of the train split, and return what averages the vectors of a dialogue's, float32 [n, d].

    :param start: any encoder that sentence-transformers loads, by name or folder; one without that library's own
        settings is pooled by the mean of its tokens.
    :param max_steps: at most one pass over a seeded lot of `max_steps * batch_size` different utterances; 0 trains
        nothing and shows what the start alone gives.
    :param learning_rate: of the first step, falling to 0 in a line.
    :param max_length: tokens, as in the source; what is longer is cut at its end.
    :raises ModelError: when the encoder cannot be loaded.
    """
    import torch

    model = _load(start, max_length=max_length)
    utterances = list(dict.fromkeys(turn.text for dialogue in train for turn in dialogue.turns))
    lot = np.random.default_rng(seed).permutation(len(utterances))[: max_steps * batch_size]
    # The caller's own draws go on afterwards as if nothing had been.
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        _train(model, [utterances[place] for place in lot], batch_size=batch_size, learning_rate=learning_rate)
    return partial(_averaged, model)


def _train(model: Any, utterances: Sequence[str], *, batch_size: int, learning_rate: float) -> None:
    import torch
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    # An utterance alone in its batch has no negative, so a last one that is left over is dropped.
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
        # Twice the same: dropout makes the two views.
        loss_of([dict(tokens), dict(tokens)], None).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
    model.eval()


def _averaged(model: Any, dialogues: Sequence[Dialogue]) -> NDArray[np.float32]:
    """Encode each different utterance once, and average over the turns of each dialogue."""
    texts = list(dict.fromkeys(turn.text for dialogue in dialogues for turn in dialogue.turns))
    row = {text: place for place, text in enumerate(texts)}
    encoded = model.encode(texts, batch_size=64, show_progress_bar=False)
    means = [encoded[[row[turn.text] for turn in dialogue.turns]].mean(axis=0) for dialogue in dialogues]
    return np.asarray(means, dtype=np.float32)


def _load(start: str, *, max_length: int) -> Any:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    from dial2vec.encoder.backbone import loading_errors, resolve

    transformers_logging.disable_progress_bar()
    folder = resolve(start)
    with loading_errors(f"{folder} cannot be loaded by sentence-transformers"):
        model = SentenceTransformer(folder)
    model.max_seq_length = min(max_length, model.max_seq_length or max_length)
    return model
