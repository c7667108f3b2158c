"""The type that a fit returns, and the words of the baselines that count words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.words import UNSPACED
from dial2vec.errors import CorpusError

# Letters and digits; single characters in scripts without spaces between words.
WORD = re.compile(f"[{UNSPACED}]|[^\\W{UNSPACED}]+")
LEAST_DIALOGUES = 2
# Dialogues -> vectors [n, d], a row per dialogue; nothing is learnt from these dialogues.
Encode = Callable[[Sequence[Dialogue]], NDArray[np.float32]]


def lower_words(dialogue: Dialogue) -> list[str]:
    """Return the lower-cased words of all turns in order, without punctuation and speakers."""
    return [word for turn in dialogue.turns for word in WORD.findall(turn.text.lower())]


def vocabulary(train: Sequence[Dialogue], *, at_most: float = 1.0) -> list[str]:
    """Return the words that occur in at least 2 of the dialogues, sorted.

    :param at_most: largest share of the dialogues in which a word may occur; commoner words say little about topics.
    :raises CorpusError: if no word is left.
    """
    n_dialogues = Counter(word for dialogue in train for word in set(lower_words(dialogue)))
    limit = at_most * len(train)
    kept = sorted(word for word, n in n_dialogues.items() if LEAST_DIALOGUES <= n <= limit)
    if not kept:
        raise CorpusError(
            f"the {len(train)} training dialogues share no word to learn from; expected words that occur in at least "
            f"{LEAST_DIALOGUES} and at most {at_most:.0%} of them. Bring more dialogues."
        )
    return kept
