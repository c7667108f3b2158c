"""The starting encoder as it comes: the mean of all token vectors of a dialogue.

It is what the paper's rows BERT, RoBERTa, T5, TOD-BERT, Blender and PLATO are to their trained encoder: the row to
beat. How the paper pools them is not known. Cost: 36 s, of the judged dialogues alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dial2vec.baselines.fitted import Fitted
from dial2vec.dialogue import Dialogue


def fit(train: Sequence[Dialogue], *, seed: int, start: str = "all-MiniLM-L6-v2") -> Fitted:
    """Return what takes the mean over the tokens of each whole dialogue, cut at the encoder's limit, float32 [n, d].

    :param train: not used: nothing is trained.
    :param seed: not used: nothing is drawn.
    :param start: the encoder, as `DialogueEncoder.from_pretrained` takes it.
    """
    from dial2vec.encoder import DialogueEncoder
    from dial2vec.vectors import BATCH

    encoder = DialogueEncoder.from_pretrained(start, pooling="mean")
    return partial(encoder.encode, batch_size=BATCH.get(encoder.device.type, 32))
