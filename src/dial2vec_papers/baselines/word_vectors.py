"""Averaged pretrained word vectors: GloVe (Pennington, Socher & Manning 2014).

The paper has a row "GloVe"; which of the published tables it used is unknown. Here it is the one of 300 dimensions
from Wikipedia and Gigaword (about 380 MB to fetch once). Without it, `word2vec` averages vectors that are trained on
the corpus itself. Cost: reading the table.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.errors import ModelError
from dial2vec_papers.baselines.encode import Encode
from dial2vec_papers.baselines.text import lower_words

log = logging.getLogger(__name__)


def fit(train: Sequence[Dialogue], *, seed: int, table: str | Path = "glove-wiki-gigaword-300") -> Encode:
    """Return a function that averages the word vectors of a dialogue, float32 [n, d].

    Repeated words count repeatedly. Unknown words are left out; a dialogue without a known word gets zeros.

    :param table: file in GloVe's or word2vec's format (.txt or .bin, may be .gz), or name of gensim's downloader.
    :raises ModelError: if there is neither a file nor a download; the message says how to get one.
    """
    return partial(averaged, load_table(table))


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


def load_table(table: str | Path) -> Any:
    """Return gensim's `KeyedVectors` of a file, or of a name of its downloader.

    :raises ModelError: if there is neither.
    """
    path = Path(table).expanduser()
    if path.is_file():
        return _read(path)
    try:
        from gensim import downloader

        # It logs a traceback before it raises.
        logging.getLogger(downloader.__name__).setLevel(logging.CRITICAL)
        return downloader.load(str(table))
    except (OSError, ValueError) as error:
        raise ModelError(
            f"the word vectors {str(table)!r} are neither a file nor could gensim fetch them; expected a GloVe or "
            "word2vec file, or a network. Run `python -m gensim.downloader --download "
            "glove-wiki-gigaword-300` on a machine with a network and copy its ~/gensim-data here, give a file as "
            'table=, or use the baseline "word2vec", which trains its own.'
        ) from error


def _read(path: Path) -> Any:
    from gensim.models import KeyedVectors
    from gensim.utils import open as open_plain_or_packed

    binary = ".bin" in path.suffixes
    try:
        with open_plain_or_packed(str(path), "rb") as handle:
            # Files of word2vec begin with n and d, files of GloVe with the first word and its vector.
            no_header = not binary and len(handle.readline().split()) > 2
        return KeyedVectors.load_word2vec_format(str(path), binary=binary, no_header=no_header)
    except (OSError, EOFError, ValueError) as error:
        raise ModelError(
            f"{path} cannot be read as word vectors ({error}); expected a word and its numbers per line, as GloVe and "
            "word2vec write them. Fetch it again."
        ) from error
