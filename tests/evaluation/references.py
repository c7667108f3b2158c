"""What the slow references of several metrics share."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

# Whole numbers from -2 to 2 give many equal cosines, zero vectors and identical vectors.
SMALL = hnp.arrays(np.float32, st.tuples(st.integers(3, 12), st.just(3)), elements=st.integers(-2, 2).map(float))


def labels_for(vectors, seed):
    return [f"label {i}" for i in np.random.default_rng(seed).integers(0, 3, len(vectors))]


def slow_cosine(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    length = np.linalg.norm(a) * np.linalg.norm(b)
    return round(float(a @ b / length), 10) if length else 0.0
