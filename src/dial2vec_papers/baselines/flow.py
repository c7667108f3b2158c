"""BERT-flow (Li et al. 2020, "On the sentence embeddings from pre-trained language models"), a row of Liu et al. 2021.

An invertible map, fitted so that the encoder's vectors become normally distributed: it spreads vectors that crowd in a
narrow cone. Like the source's, it is Glow (Kingma & Dhariwal 2018) with permutations instead of 1x1 convolutions and
with additive couplings. The encoder stays as it is. The source fits on the sentences that it judges or on inference
pairs; here the map is fitted on the train split, on whole dialogues like `whitening`, which is linear. Sizes and steps
are ours: Liu et al. give none. Cost: encoding the dialogues, 180 s, and 20 s for the map.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec_papers.baselines.encoder_mean import Map, fit_mean_map, require_different
from dial2vec_papers.baselines.text import Encode

if TYPE_CHECKING:
    from torch import Tensor

    from dial2vec_papers.baselines.glow import Glow

BATCH, LEARNING_RATE = 64, 1e-3


def fit(train: Sequence[Dialogue], *, seed: int, start: str = "all-MiniLM-L6-v2", contexts: bool = False) -> Encode:
    """Fit the map on the train split, and return a function that maps vectors of `encoder_mean`, float32 [n, d].

    :param start: name or folder of the encoder, as for `DialogueEncoder.from_pretrained`.
    :raises CorpusError: if fewer than 2 training dialogues differ.
    """
    return fit_mean_map(train, partial(fit_flow, seed=seed), seed=seed, start=start, contexts=contexts)


def fit_flow(vectors: NDArray[np.float32], *, seed: int, epochs: int = 10) -> Map:
    """Return the map under which the vectors are likeliest as draws of a standard normal distribution.

    :param vectors: float32 [n, d], d at least 2.
    :return: function from float32 [m, d] to float32 [m, d].
    :raises CorpusError: if the vectors do not differ.
    """
    import torch

    from dial2vec_papers.baselines.glow import Glow

    require_different(vectors, "the flow")
    data = torch.from_numpy(vectors)
    # The caller's random state is restored afterwards.
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        flow = Glow(data.shape[1])
        flow.scale_to(data)
        _train(flow, data, epochs=epochs)

    def spread(others: NDArray[np.float32]) -> NDArray[np.float32]:
        with torch.inference_mode():
            return np.asarray(flow(torch.from_numpy(others))[0].numpy(), dtype=np.float32)

    return spread


def _train(flow: Glow, data: Tensor, *, epochs: int) -> None:
    import torch

    steps = epochs * math.ceil(len(data) / BATCH)
    optimiser = torch.optim.Adam(flow.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, total_iters=steps)
    for _ in range(epochs):
        for batch in data[torch.randperm(len(data))].split(BATCH):
            flow.loss(batch).backward()
            torch.nn.utils.clip_grad_norm_(flow.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
