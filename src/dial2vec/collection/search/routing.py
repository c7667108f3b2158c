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
# Fitted by logistic regression on questions for a turn, 750 of Self-dialogue and 500 of SGD, and for a topic, 506 and
# 396; the questions by which docs/search.md judges the search are others.
GAP, DIFFERENCE, LENGTH, ABOUT, AGREEMENT, SHARED, QUOTED = 0.38, 5.61, 4.39, -1.95, -1.08, 9.28, 2.57
LEVEL = -10.2
# Largest weight of the themes, and the weight below which they are left out.
MOST, LEAST = 300.0, 0.3


@dataclass(frozen=True, slots=True)
class Signs:
    """What tells a question for a moment from one for a theme.

    :param gap: distance of the best and the tenth dialogue by moments, in standard deviations: large if one stands out.
    :param difference: cosine of the nearest turn less that of the nearest dialogue.
    :param words: number of words of the question.
    :param about: cosine of the question with `SUBJECTS`, in standard deviations from that of turns.
    :param agreement: mean place of the ten best dialogues by moments among the themes, in standard deviations.
    :param shared: largest share of the words of the question in one turn, in [0, 1].
    :param quoted: True if the question has several words, and one to ten turns have all of them.
    """

    gap: float
    difference: float
    words: int
    about: float
    agreement: float
    shared: float
    quoted: bool


def weight_of_themes(signs: Signs) -> float:
    """Return the weight of the themes beside the moments' weight of 1, in [0, 300]; 0 leaves the themes out.

    It is the odds of a question for a theme, so that a doubtful question gets something of both.
    """
    logit = LEVEL + GAP * signs.gap + DIFFERENCE * signs.difference + LENGTH * math.log(max(1, signs.words))
    logit += ABOUT * signs.about + AGREEMENT * signs.agreement + SHARED * signs.shared + QUOTED * signs.quoted
    weight = math.exp(min(-logit, math.log(MOST)))
    return weight if weight >= LEAST else 0.0
