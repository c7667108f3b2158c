"""Averaged word vectors trained on the corpus itself (skip-gram, Mikolov et al. 2013). Not in the paper's table.

It stands in for GloVe (`word_vectors`) where no published table is at hand, under its own name: the words of a corpus
alone teach less than those of Wikipedia, and more of its own vocabulary. Cost: 18 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dial2vec.dialogue import Dialogue
from dial2vec.research.baselines.encode import Encode
from dial2vec.research.baselines.text import lower_words, vocabulary
from dial2vec.research.baselines.word_vectors import averaged


def fit(train: Sequence[Dialogue], *, seed: int, dimensions: int = 300, window: int = 5, passes: int = 10) -> Encode:
    """Train on the train split, and return what averages the vectors of a dialogue's words, float32 [n, dimensions].

    A dialogue without a known word gets zeros.

    :param window: words to each side that a word predicts, also across turns.
    :param passes: over the train split.
    :raises CorpusError: when the training dialogues share no word.
    """
    from gensim.models import Word2Vec

    known = set(vocabulary(train))
    model = Word2Vec(
        [[word for word in lower_words(dialogue) if word in known] for dialogue in train],
        vector_size=dimensions,
        window=window,
        epochs=passes,
        sg=1,
        min_count=1,
        seed=seed,
        # Several would change the vectors in whatever order they come.
        workers=1,
    )
    return partial(averaged, model.wv)
