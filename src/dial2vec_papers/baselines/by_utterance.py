"""An encoder, unchanged, that reads each utterance alone; a dialogue is the mean of its utterances.

With BERT these are the rows BERT (avg) and BERT (CLS) of Liu et al. 2021 (section 5.2.1), whose vectors are of
sentences. With the SimCSE that its authors trained (Gao, Yao & Chen 2021) it is the row SimCSE of Liu et al. 2022
(section 4.3): an utterance is its [CLS] vector without the layer of training, as the authors use the model. The weights
come from the hub by the short name `simcse`, or from a folder `simcse`; `simcse_trained` trains on the corpus instead.
Cost: a minute and a half, for the utterances of the judged dialogues alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec_papers.baselines.text import Encode


def fit(
    train: Sequence[Dialogue],
    *,
    seed: int,
    start: str = "all-MiniLM-L6-v2",
    pooling: Literal["mean", "cls"] = "mean",
) -> Encode:
    """Return a function that averages the utterance vectors of a dialogue, float32 [n, d].

    :param start: name or folder of the encoder, as for `DialogueEncoder.from_pretrained`.
    :param pooling: vector of an utterance: mean of its tokens, or its start token.
    :raises ModelError: if the encoder cannot be loaded, or has no start token for pooling "cls".
    """
    from dial2vec.encoder import DialogueEncoder

    encoder = DialogueEncoder.from_pretrained(start, input="closed", pooling=pooling)
    return partial(average_utterances, partial(encoder.encode_utterances, batch_size=64))


def average_utterances(
    encode: Callable[[list[str]], NDArray[np.float32]], dialogues: Sequence[Dialogue]
) -> NDArray[np.float32]:
    """Encode each different utterance once, and average over the turns of each dialogue, float32 [n, d]."""
    texts = list(dict.fromkeys(turn.text for dialogue in dialogues for turn in dialogue.turns))
    row = {text: place for place, text in enumerate(texts)}
    encoded = encode(texts)
    means = [encoded[[row[turn.text] for turn in dialogue.turns]].mean(axis=0) for dialogue in dialogues]
    return np.asarray(means, dtype=np.float32)
