"""The choice between moments and themes for a question, by how sharply the collection answers it and how it is put."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Ways to ask for conversations rather than for what was said in them.
SUBJECTS = (
    "conversations on this topic",
    "dialogues about something",
    "what people say about it",
    "calls that deal with a subject",
    "somebody talks about a theme",
    "anything related to that",
    "discussions of an issue",
    "customers who ask about something",
)
# Fitted by logistic regression on questions for a turn, 748 of Self-dialogue and 750 of SGD, and for a topic, 230 and
# 310; the questions of benchmarks/find.py are others.
GAP, DIFFERENCE, LENGTH, ABOUT, AGREEMENT, LEVEL = 0.49, 9.57, 1.78, -1.93, -0.60, 0.49
# Largest weight of the themes, and the weight below which they are left out.
MOST, LEAST = 30.0, 0.3


@dataclass(frozen=True, slots=True)
class Signs:
    """What tells a question for a moment from one for a theme.

    :param gap: distance of the best and the tenth dialogue by moments, in standard deviations: large if one stands out.
    :param difference: cosine of the nearest turn less that of the nearest dialogue.
    :param words: number of words of the question.
    :param about: cosine of the question with `SUBJECTS`, in standard deviations from that of turns.
    :param agreement: mean place of the ten best dialogues by moments among the themes, in standard deviations.
    """

    gap: float
    difference: float
    words: int
    about: float
    agreement: float


def weight_of_themes(signs: Signs) -> float:
    """Return the weight of the themes beside the moments' weight of 1, in [0, 30]; 0 leaves the themes out.

    It is the squared odds of a question for a theme, so that a doubtful question gets something of both.
    """
    logit = LEVEL + GAP * signs.gap + DIFFERENCE * signs.difference + LENGTH * math.log(max(1, signs.words))
    logit += ABOUT * signs.about + AGREEMENT * signs.agreement
    weight = math.exp(min(-2 * logit, math.log(MOST)))
    return weight if weight >= LEAST else 0.0
