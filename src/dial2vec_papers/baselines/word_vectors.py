"""Averaged pretrained word vectors: GloVe (Pennington, Socher & Manning 2014).

The paper has a row "GloVe"; which of the published tables it used is unknown. Here it is the one of 300 dimensions
from Wikipedia and Gigaword (about 380 MB to fetch once). Without it, `word2vec` averages vectors that are trained on
the corpus itself. Cost: reading the table.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.errors import ModelError
from dial2vec_papers.baselines.text import Encode, lower_words

log = logging.getLogger(__name__)
TABLE = "glove-wiki-gigaword-300"


def fit(train: Sequence[Dialogue], *, seed: int) -> Encode:
    """Return a function that averages the word vectors of a dialogue, float32 [n, d].

    Repeated words count repeatedly. Unknown words are left out; a dialogue without a known word gets zeros.

    :raises ModelError: if the table is neither here nor can be fetched; the message says how to get one.
    """
    return partial(averaged, load_table())


def averaged(table: Any, dialogues: Sequence[Dialogue]) -> NDArray[np.float32]:
    """Return the mean vector of each dialogue's words, float32 [n, d]."""
    means = np.zeros((len(dialogues), table.vector_size), dtype=np.float32)
    n_words = n_known = 0
    for row, dialogue in enumerate(dialogues):
        words = lower_words(dialogue)
        known = [table.key_to_index[word] for word in words if word in table.key_to_index]
        if known:
            means[row] = table.vectors[known].mean(axis=0)
        n_words, n_known = n_words + len(words), n_known + len(known)
    log.info("%d of %d words have a vector", n_known, n_words)
    return means


def load_table() -> Any:
    """Return gensim's `KeyedVectors` of the table.

    :raises ModelError: if it is neither here nor can be fetched.
    """
    try:
        from gensim import downloader

        # It logs a traceback before it raises.
        logging.getLogger(downloader.__name__).setLevel(logging.CRITICAL)
        return downloader.load(TABLE)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"gensim could not fetch the word vectors {TABLE}; expected a network. Run `python -m gensim.downloader "
            f"--download {TABLE}` on a machine with a network and copy its ~/gensim-data here, or use the baseline "
            '"word2vec", which trains its own.'
        ) from error
