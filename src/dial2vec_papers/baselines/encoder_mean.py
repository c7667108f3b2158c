"""An encoder, unchanged: the mean of all token vectors of a dialogue.

With their encoders these are the rows BERT, RoBERTa, T5, TOD-BERT, Blender and PLATO of Liu et al. 2022, which average
the last layer (section 4.3); with the base encoder it is the row that training has to beat. The published code cuts a
dialogue at 512 tokens; here a longer one is read whole, in windows. Cost: 36 s, for the judged dialogues alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.draws import drawn
from dial2vec.errors import CorpusError
from dial2vec_papers.baselines.text import Encode

if TYPE_CHECKING:
    from dial2vec.encoder import DialogueEncoder

log = logging.getLogger(__name__)
# Training dialogues, a seeded draw, to which a map is fitted.
MAX_DIALOGUES = 2000

Map = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def fit(train: Sequence[Dialogue], *, seed: int, start: str = "all-MiniLM-L6-v2", contexts: bool = False) -> Encode:
    """Return a function that averages the tokens of each dialogue, read whole, float32 [n, d].

    :param start: name or folder of the encoder, as for `DialogueEncoder.from_pretrained`.
    :param contexts: True to read dialogues like contexts of answers: a separator after every turn, and only the last
        turns that fit.
    """
    from dial2vec.encoder import DialogueEncoder
    from dial2vec.encoder.vector_cache import BATCH

    encoder = DialogueEncoder.from_pretrained(start, pooling="mean")
    batch_size = BATCH.get(encoder.device.type, 32)
    return partial(_as_contexts, encoder, batch_size) if contexts else partial(encoder.encode, batch_size=batch_size)


def fit_mean_map(
    train: Sequence[Dialogue],
    fit_to: Callable[[NDArray[np.float32]], Map],
    *,
    seed: int,
    start: str,
    contexts: bool,
) -> Encode:
    """Fit a map to the vectors of training dialogues, and return a function that maps vectors, float32 [n, d].

    :param fit_to: function from vectors, float32 [n, d], to a map of vectors.
    """
    mean = fit(train, seed=seed, start=start, contexts=contexts)
    mapped = fit_to(mean([train[place] for place in drawn(len(train), MAX_DIALOGUES, seed=seed)]))
    return lambda dialogues: mapped(mean(dialogues))


def require_different(vectors: NDArray[np.float32], name: str) -> None:
    """Raise a CorpusError if a map cannot be fitted to vectors [n, d], because no two differ."""
    if len(vectors) < 2 or not np.ptp(vectors, axis=0).any():
        raise CorpusError(
            f"{name} found {len(vectors)} training dialogues without two different vectors among them; expected at "
            "least two. Bring more dialogues."
        )


def _as_contexts(encoder: DialogueEncoder, batch_size: int, dialogues: Sequence[Dialogue]) -> NDArray[np.float32]:
    texts = [[turn.text for turn in dialogue.turns] for dialogue in dialogues]
    roles = [dialogue.roles for dialogue in dialogues]
    cut = sum(sequence.cut > 0 for sequence in encoder.tokens.contexts(texts, roles))
    if cut:
        log.warning("%d of %d contexts do not fit, and were read without their first turns", cut, len(texts))
    return encoder.encode_contexts(texts, roles=roles, batch_size=batch_size)
