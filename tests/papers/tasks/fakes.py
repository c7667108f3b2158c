"""Encoders with known answers."""

import numpy as np

from dial2vec_papers.tasks.encoding import Reader, Spoken


class Known:
    """Maps known texts to chosen vectors, and remembers what it was asked."""

    def __init__(self, vectors):
        self.vectors = {text: np.asarray(vector, dtype=np.float32) for text, vector in vectors.items()}
        self.asked = []

    def __call__(self, texts):
        self.asked.extend(texts)
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


class Hashed:
    """Maps any text to whole numbers from -2 to 2, so that equal similarities and zero vectors are frequent."""

    def __init__(self, size=3):
        self.size = size
        self.asked = []

    def __call__(self, texts):
        self.asked.extend(texts)
        return np.array([self.vector(text) for text in texts], dtype=np.float32).reshape(-1, self.size)

    def vector(self, text):
        return np.random.default_rng(list(text.encode())).integers(-2, 3, self.size)


def collapsed(texts):
    return np.tile(np.random.default_rng(0).normal(size=(1, 33)), (len(texts), 1)).astype(np.float32)


def slow_cosine(a, b):
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    length = np.linalg.norm(a) * np.linalg.norm(b)
    return round(float(a @ b / length), 10) if length else 0.0


def context(*texts, first=0):
    """Two speakers in turn; `first` is the role of the first turn."""
    return tuple(Spoken(text, (first + place) % 2) for place, text in enumerate(texts))


def reading(encode, similarity="cosine"):
    """Read a context as its turns joined by a blank, and count as cut what has more than three."""
    return Reader(
        encode,
        lambda contexts: encode([" ".join(turn.text for turn in turns) for turns in contexts]),
        similarity,
        lambda contexts: sum(len(turns) > 3 for turns in contexts),
    )
