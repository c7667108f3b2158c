"""Doc2Vec (Le & Mikolov 2014), a vector per dialogue that predicts its words.

The paper's settings are unknown. These are gensim's with the advice of Lau & Baldwin (2016): the variant DBOW together
with word vectors, which take most of the cost: 49 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec_papers.baselines.text import Encode, lower_words, vocabulary

DIMENSIONS = 300
# Passes over the train split, and over each inferred dialogue.
PASSES = 20


def fit(train: Sequence[Dialogue], *, seed: int) -> Encode:
    """Train on the train split, and return a function that infers vectors of dialogues, float32 [n, d].

    :raises CorpusError: if the training dialogues share no word.
    """
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    known = set(vocabulary(train))
    texts = [[word for word in lower_words(dialogue) if word in known] for dialogue in train]
    model = Doc2Vec(
        [TaggedDocument(words, [place]) for place, words in enumerate(texts)],
        dm=0,
        dbow_words=1,
        vector_size=DIMENSIONS,
        epochs=PASSES,
        min_count=1,
        seed=seed,
        # Several workers would make the vectors depend on their timing.
        workers=1,
    )

    def encode(dialogues: Sequence[Dialogue]) -> NDArray[np.float32]:
        return np.stack([_infer(model, lower_words(dialogue), seed=seed) for dialogue in dialogues])

    return encode


def _infer(model: Any, words: list[str], *, seed: int) -> NDArray[np.float32]:
    """Fit a vector to the words with a frozen model; unknown words are left out.

    `Doc2Vec.infer_vector` starts from Python's hash of the text, which differs between processes, and draws from the
    model's own stream. Here every dialogue starts from the seed, so that earlier ones have no influence.
    """
    from gensim.models.doc2vec import train_document_dbow

    model.random.seed(seed)
    start = np.random.default_rng(seed).random((1, model.vector_size), dtype=np.float32)
    vector = (start - 0.5) / model.vector_size
    for rate in np.linspace(model.alpha, model.min_alpha, model.epochs):
        train_document_dbow(
            model,
            words,
            [0],
            rate,
            np.zeros(model.layer1_size, dtype=np.float32),
            learn_words=False,
            learn_hidden=False,
            doctag_vectors=vector,
            doctags_lockf=np.ones(1, dtype=np.float32),
        )
    return vector[0]
