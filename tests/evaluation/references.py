"""What the slow references of several metrics share."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dial2vec.evaluation.selection.criteria import Views

# Whole numbers from -2 to 2 give many equal cosines, zero vectors and identical vectors.
SMALL = hnp.arrays(np.float32, st.tuples(st.integers(3, 12), st.just(3)), elements=st.integers(-2, 2).map(float))
# Two matrices of whole numbers from -2 to 2: many equal cosines, zero rows and identical rows.
SIDES = hnp.arrays(
    np.float32, st.tuples(st.just(2), st.integers(3, 10), st.just(3)), elements=st.integers(-2, 2).map(float)
)
BAD = {
    "equal": np.ones((60, 8)),
    "equal except for rounding": 1 + 1e-7 * np.random.default_rng(0).normal(size=(60, 8)),
    "of one direction": np.linspace(1, 2, 60)[:, None] * np.arange(1.0, 9),
    "zero": np.zeros((60, 8)),
    "undefined": np.full((60, 8), np.nan),
    "infinite": np.full((60, 8), np.inf),
}


def labels_for(vectors, seed):
    return [f"label {i}" for i in np.random.default_rng(seed).integers(0, 3, len(vectors))]


def rescaled(vectors, labels, random):
    """Return the dialogues in another order, their vectors with other lengths, their labels under other names."""
    order = random.sample(range(len(labels)), len(labels))
    scales = np.array([[random.choice([0.25, 1, 8])] for _ in labels], dtype=np.float32)
    return (vectors * scales)[order], [f"renamed {labels[i][::-1]}" for i in order]


def slow_cosine(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    length = np.linalg.norm(a) * np.linalg.norm(b)
    return round(float(a @ b / length), 10) if length else 0.0


def slow_near(side, i, neighbours):
    cosines = {j: slow_cosine(side[i], side[j]) for j in range(len(side)) if j != i}
    last = sorted(cosines.values())[-neighbours]
    return {j for j, cosine in cosines.items() if cosine >= last}


def slow_area(vectors, near):
    areas = []
    for i in range(len(vectors)):
        others = {j: slow_cosine(vectors[i], vectors[j]) for j in range(len(vectors)) if j != i}
        pairs = [(others[j], others[k]) for j in near(i) - {i} for k in others.keys() - near(i)]
        areas.append(np.mean([(a > b) + 0.5 * (a == b) for a, b in pairs]) if pairs else 0.5)
    return np.mean(areas)


def islands(*, clusters=2, n=60, spread=0.05, seed=0, d=8):
    """Clusters about the axes, in turn."""
    rng = np.random.default_rng(seed)
    return (np.eye(clusters, d)[np.arange(n) % clusters] + spread * rng.normal(size=(n, d))).astype(np.float32)


def cloud(*, n=60, d=8, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def views(**changes):
    return Views(**{"whole": cloud(seed=0), "first": cloud(seed=1), "second": cloud(seed=2)} | changes)
