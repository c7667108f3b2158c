"""A small model, fitted to the training dialogues, of whether one turn directly follows another."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dial2vec.errors import CorpusError

# Numbers of pairs of neighbouring turns: too few teach nothing, more than 10,000 teach little more.
LEAST_PAIRS, MOST_PAIRS = 10, 10_000
HELD_OUT = 0.1
HIDDEN, EPOCHS = 64, 15


class Ordering:
    """Probability that one turn follows another, given their vectors. Made by `fit_ordering`.

    :param classifier: Classifier of features [n, 4 d] into "does not follow" and "follows".
    :param held_out: Share of held-out pairs whose true next turn scores higher than a random turn, in [0, 1]; 0.5 by
        chance.
    """

    def __init__(self, classifier: Any, held_out: float) -> None:
        self.classifier = classifier
        self.held_out = held_out

    def follows(self, first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the probability that the second turn directly follows the first, float64 [n] in (0, 1).

        :param first: Unit vectors [n, d].
        :param second: Unit vectors [n, d].
        """
        probabilities: NDArray[np.float64] = self.classifier.predict_proba(_features(first, second))[:, 1]
        # Clipped so that the logarithm is finite.
        return np.clip(probabilities.astype(np.float64), 1e-9, 1 - 1e-9)


def fit_ordering(vectors: Sequence[NDArray[np.float32]], *, seed: int) -> Ordering:
    """Fit an ordering model to dialogues, within seconds.

    Each pair of neighbouring turns has two negatives: the reversed pair teaches order, and the first turn with a random
    turn of any dialogue teaches topic. A network with one hidden layer reads `[a, b, a * b, |a - b|]`; a linear model
    could not tell whether b answers *this* a.

    :param vectors: Unit vectors of the turns of each dialogue, [turns, d], as `stages.turn_vectors` returns them.
    :raises CorpusError: if there are too few pairs of neighbouring turns.
    """
    pool = np.concatenate([*vectors, np.zeros((0, 0 if not vectors else vectors[0].shape[1]), np.float32)])
    lengths = [len(turns) for turns in vectors]
    followed = np.setdiff1d(np.arange(len(pool)), np.cumsum(lengths) - 1)
    if len(followed) < LEAST_PAIRS:
        raise CorpusError(
            f"the {len(vectors)} dialogues have {len(followed)} pairs of neighbouring turns; expected at least "
            f"{LEAST_PAIRS} to learn an order from. Give more training dialogues."
        )
    rng = np.random.default_rng(seed)
    followed = rng.permutation(followed)[:MOST_PAIRS]
    # Once in a corpus, the random turn is the true next turn; this does not matter.
    other = rng.integers(0, len(pool), size=len(followed))
    n_held = max(1, int(HELD_OUT * len(followed)))
    held, held_other, train, train_other = followed[:n_held], other[:n_held], followed[n_held:], other[n_held:]
    pairs = [(train, train + 1), (train + 1, train), (train, train_other)]
    features = np.concatenate([_features(pool[first], pool[second]) for first, second in pairs])
    network = MLPClassifier((HIDDEN,), max_iter=EPOCHS, alpha=1e-3, learning_rate_init=2e-3, random_state=seed)
    with warnings.catch_warnings():
        # The fixed number of epochs limits the time, so the fit may not converge.
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier = make_pipeline(StandardScaler(), network).fit(features, np.repeat([1, 0, 0], len(train)))
    ordering = Ordering(classifier, 0.0)
    better = ordering.follows(pool[held], pool[held + 1]) > ordering.follows(pool[held], pool[held_other])
    return Ordering(classifier, float(better.mean()))


def _features(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.concatenate([first, second, first * second, np.abs(first - second)], axis=1)
