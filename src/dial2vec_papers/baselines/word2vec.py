"""Averaged word vectors trained on the corpus itself (skip-gram, Mikolov et al. 2013). Not in the paper's table.

It replaces GloVe (`word_vectors`) if no published table is available. A corpus alone teaches less than Wikipedia, but
more about its own vocabulary. Cost: 18 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from conversations.dialogue import Dialogue
from dial2vec_papers.baselines.text import Encode, lower_words, vocabulary
from dial2vec_papers.baselines.word_vectors import averaged

# The window is the number of words on each side that a word predicts, also across turns.
DIMENSIONS, WINDOW, PASSES = 300, 5, 10


def fit(train: Sequence[Dialogue], *, seed: int) -> Encode:
    """Train word vectors, and return a function that averages them over a dialogue, float32 [n, d].

    A dialogue without a known word gets zeros.

    :raises CorpusError: if the training dialogues share no word.
    """
    from gensim.models import Word2Vec

    known = set(vocabulary(train))
    model = Word2Vec(
        [[word for word in lower_words(dialogue) if word in known] for dialogue in train],
        vector_size=DIMENSIONS,
        window=WINDOW,
        epochs=PASSES,
        sg=1,
        min_count=1,
        seed=seed,
        # Several workers would make the vectors depend on their timing.
        workers=1,
    )
    return partial(averaged, model.wv)
