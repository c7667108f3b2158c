"""Few-shot fine-tuning: the whole encoder learns from a few examples, and as many others say when to stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dial2vec.draws import rng_for, stable_hash
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.pooling import Pooling, pool
from dial2vec.encoder.tokens import Batch, TokenSequence
from dial2vec.errors import Dial2vecError
from dial2vec.training.auxiliary import seeded
from dial2vec_papers.tasks.records import Figures

# Share of the steps in which the learning rate rises; rows encoded at a time.
WARM_UP, ROWS = 0.05, 64
# AdamW's settings in the paper's code, which are those of transformers.
EPSILON, WEIGHT_DECAY = 1e-6, 0.0


@dataclass(frozen=True, slots=True)
class TuningRecipe:
    """Settings of a fine-tuning (Zhou et al. 2022, appendix B.1, and the paper's code).

    :param epochs: passes over the examples, at most.
    :param learning_rate: highest learning rate of AdamW; it rises in the first 5 % of the steps and then falls linearly
        to 0.
    :param dropout: share of the vector's numbers that are dropped before a classifier.
    :param patience: number of checks in a row without a better figure after which it stops, at the end of an epoch.
    :param check_every: steps between two checks, but at least an epoch.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    max_length: int
    dropout: float
    patience: int
    check_every: int


@contextmanager
def weights_kept(encoder: DialogueEncoder) -> Iterator[None]:
    """Give the encoder its weights back at the end of a `with`, in which it computes in fp32."""
    kept = _copied(encoder.network)
    try:
        # Autocast would go on with weights that it rounded before a step.
        with torch.autocast(encoder.device.type, enabled=False):
            yield
    finally:
        encoder.network.load_state_dict(kept)


def fine_tune(
    encoder: DialogueEncoder,
    head: nn.Module,
    loss_of: Callable[[NDArray[np.int64]], Tensor],
    figure_of: Callable[[], float],
    *,
    n: int,
    recipe: TuningRecipe,
    seed: int,
) -> int:
    """Train the encoder's network and a head, and keep the weights with the highest figure.

    The figure is computed before the first step, which counts as a candidate, too, and after every
    `recipe.check_every` steps, as in the paper's code. Call it within `weights_kept`.

    :param head: module that is trained with the encoder; it may have no weights.
    :param loss_of: function from the numbers of the examples of a batch, int64 [b], to its loss.
    :param figure_of: function that returns the figure on the validation examples; higher is better.
    :return: number of steps to the kept weights.
    :raises Dial2vecError: if there is no example, or the loss is not finite.
    """
    if n < 1:
        raise Dial2vecError("found no example to fine-tune on; expected at least one. Take more shots or other data.")
    trained = nn.ModuleList([encoder.network, head])
    optimiser = torch.optim.AdamW(trained.parameters(), lr=recipe.learning_rate, eps=EPSILON, weight_decay=WEIGHT_DECAY)
    per_epoch = math.ceil(n / recipe.batch_size)
    total = max(1, n * recipe.epochs // recipe.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, partial(_rate, warm=int(WARM_UP * total), total=total))
    every = max(recipe.check_every, per_epoch)
    best, kept, kept_step, since, step = -math.inf, _copied(trained), 0, 0, 0
    was_training = encoder.network.training
    with torch.random.fork_rng():
        torch.manual_seed(stable_hash(seed, "fine-tuning") % 2**63)
        for epoch in range(recipe.epochs):
            order = rng_for(seed, "order", epoch).permutation(n)
            for first in range(0, n, recipe.batch_size):
                if step % every == 0:
                    figure = _evaluated(trained, figure_of)
                    since = 0 if figure > best else since + 1
                    if figure > best:
                        best, kept, kept_step = figure, _copied(trained), step
                trained.train()
                optimiser.zero_grad()
                loss = loss_of(order[first : first + recipe.batch_size])
                if not torch.isfinite(loss):
                    raise Dial2vecError(
                        f"the loss is {loss.item()} at step {step + 1} of a fine-tuning; expected a finite number. "
                        "Lower the learning rate or load another model."
                    )
                loss.backward()
                optimiser.step()
                schedule.step()
                step += 1
            if since > recipe.patience:
                break
    trained.load_state_dict(kept)
    head.eval()
    encoder.network.train(was_training)
    return kept_step


def _rate(step: int, *, warm: int, total: int) -> float:
    """Return the share of the highest learning rate."""
    return step / warm if step < warm else max(0.0, (total - step) / max(1, total - warm))


def _evaluated(trained: nn.Module, figure_of: Callable[[], float]) -> float:
    trained.eval()
    with torch.no_grad():
        return figure_of()


def _copied(module: nn.Module) -> dict[str, Tensor]:
    return {name: weights.detach().clone() for name, weights in module.state_dict().items()}


def tune_classifier(
    encoder: DialogueEncoder,
    read: Mapping[str, Sequence[TokenSequence]],
    loss: Callable[[Tensor, NDArray[np.int64]], Tensor],
    scores: Callable[[str, Tensor], Figures],
    *,
    classes: int,
    recipe: TuningRecipe,
    seed: int,
) -> Figures:
    """Fine-tune an encoder with a linear layer, and return the scores on the test part.

    Early stopping is by the mean of the scores on the validation part, 0 if it is empty. The encoder has its weights
    back afterwards.

    :param read: parts "train", "validation" and "test".
    :param loss: function from logits [b, classes], and the numbers of their training examples [b], to the loss.
    :param scores: function from the name of a part and its logits to figures, shares in [0, 1].
    """
    head = seeded(partial(classifier, encoder.dimension, classes, dropout=recipe.dropout), seed=seed)
    head = head.to(encoder.device)

    def loss_of(batch: NDArray[np.int64]) -> Tensor:
        return loss(head(pooled_rows(encoder, [read["train"][place] for place in batch])), batch)

    def scored(part: str) -> Figures:
        return scores(part, head(tuned_vectors(encoder, read[part])))

    def figure_of() -> float:
        return float(np.mean(list(scored("validation").values()))) if read["validation"] else 0.0

    with weights_kept(encoder):
        fine_tune(encoder, head, loss_of, figure_of, n=len(read["train"]), recipe=recipe, seed=seed)
        with torch.no_grad():
            return scored("test")


def classifier(dimension: int, classes: int, *, dropout: float) -> nn.Sequential:
    """Return dropout and a linear layer, with the first weights that BERT's classifiers have."""
    linear = nn.Linear(dimension, classes)
    nn.init.normal_(linear.weight, std=0.02)
    nn.init.zeros_(linear.bias)
    return nn.Sequential(nn.Dropout(dropout), linear)


def pooled_rows(encoder: DialogueEncoder, sequences: Sequence[TokenSequence]) -> Tensor:
    """Return the vectors of token sequences, with gradients, as `DialogueEncoder.encode_contexts` pools them."""
    return _pooled(encoder, encoder.tokens.pad(sequences).to(encoder.device))


def tuned_vectors(encoder: DialogueEncoder, sequences: Sequence[TokenSequence]) -> Tensor:
    """Return the vectors of token sequences without gradients, float32 [n, d], on the device of the encoder."""
    vectors = encoder.encode_tokens(sequences, batch_size=ROWS, embed=partial(_pooled, encoder))
    return torch.from_numpy(vectors).to(encoder.device)


def _pooled(encoder: DialogueEncoder, batch: Batch) -> Tensor:
    how: Pooling = "cls" if encoder.pooling == "cls" else "mean"
    return pool(encoder.sequence_states(batch), batch.roles, batch.turns, how=how)
