"""A small model of what follows what: does this turn come right after that one? Trained on the training dialogues."""

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

# Fewer pairs of neighbouring turns teach nothing; more than the most take longer and teach little more.
LEAST_PAIRS, MOST_PAIRS = 10, 10_000
HELD_OUT = 0.1
HIDDEN, EPOCHS = 64, 15


class Ordering:
    """Tells whether one turn follows another, by their vectors. Made by `fit_ordering`.

    :param classifier: of features [n, 4 d] into "does not follow" and "follows".
    :param held_out: share of held-out pairs in which the true next turn was found likelier than a random turn, 0 to 1
        and 0.5 by chance.
    """

    def __init__(self, classifier: Any, held_out: float) -> None:
        self.classifier = classifier
        self.held_out = held_out

    def follows(self, first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return how likely the second turn comes right after the first, float64 [n] in (0, 1).

        :param first: unit vectors [n, d].
        :param second: unit vectors [n, d].
        """
        likely: NDArray[np.float64] = self.classifier.predict_proba(_features(first, second))[:, 1]
        # So that its logarithm is finite.
        return np.clip(likely.astype(np.float64), 1e-9, 1 - 1e-9)


def fit_ordering(vectors: Sequence[NDArray[np.float32]], *, seed: int) -> Ordering:
    """Learn from dialogues which turn follows which; in seconds.

    For every pair of neighbouring turns there are two that do not follow: the same pair the other way round, which
    teaches order, and the first with a random turn of any dialogue, which teaches what belongs together. A network of
    one hidden layer reads `[a, b, a * b, |a - b|]`: a linear model could not tell whether b answers *this* a.

    :param vectors: unit vectors of the turns of each dialogue, [turns, d], as `stages.turn_vectors` returns them.
    :raises CorpusError: when there are too few pairs of neighbouring turns.
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
    # A random turn is the true next one once in a corpus, which does not matter.
    other = rng.integers(0, len(pool), size=len(followed))
    n_held = max(1, int(HELD_OUT * len(followed)))
    held, held_other, train, train_other = followed[:n_held], other[:n_held], followed[n_held:], other[n_held:]
    pairs = [(train, train + 1), (train + 1, train), (train, train_other)]
    features = np.concatenate([_features(pool[first], pool[second]) for first, second in pairs])
    network = MLPClassifier((HIDDEN,), max_iter=EPOCHS, alpha=1e-3, learning_rate_init=2e-3, random_state=seed)
    with warnings.catch_warnings():
        # A fixed number of epochs is what keeps it to seconds.
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier = make_pipeline(StandardScaler(), network).fit(features, np.repeat([1, 0, 0], len(train)))
    ordering = Ordering(classifier, 0.0)
    better = ordering.follows(pool[held], pool[held + 1]) > ordering.follows(pool[held], pool[held_other])
    return Ordering(classifier, float(better.mean()))


def _features(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.concatenate([first, second, first * second, np.abs(first - second)], axis=1)
