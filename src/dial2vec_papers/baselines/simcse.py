"""The SimCSE that its authors trained (Gao, Yao & Chen 2021), read by utterance and averaged.

It is the row SimCSE of Liu et al. 2022 (section 4.3): the vectors of a dialogue's sentences come from the pre-trained
model, and a dialogue is their mean. An utterance is its [CLS] vector without the layer of training, as the authors use
the model. Its weights come from the hub by the short name `simcse`, or from a folder `simcse`. `simcse_trained` trains
on the corpus instead. Cost: a minute and a half, for the utterances of the judged dialogues alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from conversations.dialogue import Dialogue
from dial2vec_papers.baselines.by_utterance import average_utterances
from dial2vec_papers.baselines.encode import Encode


def fit(train: Sequence[Dialogue], *, seed: int, start: str = "simcse") -> Encode:
    """Return a function that averages the utterance vectors of a dialogue, float32 [n, d].

    :param train: training dialogues, unused.
    :param seed: random seed, unused.
    :param start: name or folder of an encoder with a start token.
    :raises ModelError: if the encoder cannot be loaded.
    """
    from dial2vec.encoder import DialogueEncoder

    return partial(average_utterances, DialogueEncoder.from_pretrained(start, input="closed", pooling="cls"))
