from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from dial2vec.draws import rng_for
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import Dial2vecError
from dial2vec_papers.tasks.fine_tuning import (
    TuningRecipe,
    classifier,
    fine_tune,
    pooled_rows,
    tuned_vectors,
    weights_kept,
)

RECIPE = TuningRecipe(epochs=3, batch_size=2, learning_rate=0.1, max_length=8, dropout=0.0, patience=9, check_every=1)


def line(start=1.0):
    """One number that is trained; the head has none."""
    network = nn.Linear(1, 1, bias=False).double()
    nn.init.constant_(network.weight, start)
    return SimpleNamespace(network=network, device=torch.device("cpu")), network.weight


def slow_adam(weight, gradients, *, lr, warm, total):
    """AdamW without decay, by its formulas (Kingma and Ba 2015), with the rate that rises and falls."""
    first = second = 0.0
    for step, gradient in enumerate(gradients(), start=0):
        gradient = gradient(weight)
        rate = lr * (step / warm if step < warm else max(0.0, (total - step) / max(1, total - warm)))
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        corrected = (first / (1 - 0.9 ** (step + 1)), second / (1 - 0.999 ** (step + 1)))
        weight -= rate * corrected[0] / (math.sqrt(corrected[1]) + 1e-6)
    return weight


@pytest.mark.parametrize("epochs", [3, 20])
def test_the_weights_are_those_of_a_plain_loop(epochs):
    encoder, weight = line()
    x, y = torch.tensor([1.0, 2.0, 3.0]).double(), torch.tensor([3.0, 6.0, 8.0]).double()
    recipe = TuningRecipe(epochs, 2, 0.1, 8, 0.0, patience=99, check_every=1)

    def loss_of(batch):
        rows = torch.from_numpy(batch)
        return ((encoder.network(x[rows, None])[:, 0] - y[rows]) ** 2).mean()

    # The figure rises with every check, so that the last check's weights are kept.
    checks = iter(range(1000))
    steps = fine_tune(encoder, nn.Identity(), loss_of, lambda: next(checks), n=3, recipe=recipe, seed=1)
    total = 3 * epochs // 2
    orders = [rng_for(1, "order", epoch).permutation(3) for epoch in range(epochs)]
    batches = [order[first : first + 2] for order in orders for first in (0, 2)]
    assert steps == len(batches) - 2

    def gradients():
        for batch in batches[:steps]:
            yield lambda w, batch=batch: np.mean([2 * (w * float(x[i]) - float(y[i])) * float(x[i]) for i in batch])

    expected = slow_adam(1.0, gradients, lr=0.1, warm=int(0.05 * total), total=total)
    assert weight.item() == pytest.approx(expected, rel=1e-9)


def test_the_best_weights_stay_and_after_checks_without_better_ones_it_stops():
    encoder, weight = line()
    figures, seen = iter([1.0, 5.0, 4.0, 5.0, 3.0, *[0.0] * 99]), []

    def figure():
        seen.append(weight.item())
        return next(figures)

    recipe = TuningRecipe(50, 1, 0.1, 8, 0.0, patience=2, check_every=1)
    step = fine_tune(encoder, nn.Identity(), lambda _: encoder.network.weight.sum(), figure, n=1, recipe=recipe, seed=0)
    # Equal is not better: checks 3, 4 and 5 of five are in vain.
    assert (step, len(seen)) == (1, 5)
    assert weight.item() == seen[1]


def test_checks_are_an_epoch_apart_at_least():
    encoder, _ = line()
    counted = []
    recipe = TuningRecipe(4, 1, 0.1, 8, 0.0, patience=99, check_every=2)
    fine_tune(
        encoder,
        nn.Identity(),
        lambda _: encoder.network.weight.sum(),
        lambda: counted.append(1) or 0.0,
        n=3,
        recipe=recipe,
        seed=0,
    )
    assert len(counted) == 4


def test_nothing_to_train_on_and_a_loss_that_is_not_finite_are_refused():
    encoder, _ = line()
    with pytest.raises(Dial2vecError, match="found no example to fine-tune on; expected at least one"):
        fine_tune(encoder, nn.Identity(), lambda _: None, lambda: 0.0, n=0, recipe=RECIPE, seed=0)
    with pytest.raises(Dial2vecError, match="the loss is nan at step 1 of a fine-tuning; expected a finite number"):
        fine_tune(
            encoder,
            nn.Identity(),
            lambda _: encoder.network.weight.sum() * math.nan,
            lambda: 0.0,
            n=1,
            recipe=RECIPE,
            seed=0,
        )


def test_the_encoder_has_its_weights_back_also_after_an_error(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    before = encoder.fingerprint()

    def change():
        with weights_kept(encoder):
            for weights in encoder.network.parameters():
                weights.data += 1
            assert encoder.fingerprint() != before
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        change()
    assert encoder.fingerprint() == before


def test_a_tuned_vector_is_the_encoders_own_and_has_gradients(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    sequences = encoder.tokens.contexts([["w1 w2"], ["w3", "w4 w5"]])
    expected = encoder.encode_contexts([["w1 w2"], ["w3", "w4 w5"]])
    np.testing.assert_allclose(tuned_vectors(encoder, sequences).numpy(), expected, atol=1e-6)
    rows = pooled_rows(encoder, sequences)
    np.testing.assert_allclose(rows.detach().numpy(), expected, atol=1e-5)
    assert rows.requires_grad
    head = classifier(16, 3, dropout=0.5)
    assert (head[0].p, head[1].bias.abs().sum().item(), head(rows).shape) == (0.5, 0.0, (2, 3))
