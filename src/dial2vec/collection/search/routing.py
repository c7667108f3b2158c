"""The choice between moments and themes for a question, by how sharply the collection answers it."""

from __future__ import annotations

import math

# Fitted by logistic regression on 748 questions for a turn and 230 for a topic of Self-dialogue, and 750 and 310 of SGD
# (docs/search.md); at the level 0.25 above the point where both are as likely, because an exact answer should not be
# lost among similar themes.
GAP, DIFFERENCE, LENGTH, LEVEL = 0.47, 8.83, 1.92, -4.4
# Largest weight of the themes, and the weight below which they are left out.
MOST, LEAST = 30.0, 0.3


def weight_of_themes(*, gap: float, difference: float, words: int) -> float:
    """Return the weight of the themes beside the moments' weight of 1, in [0, 30]; 0 leaves the themes out.

    :param gap: distance of the best and the tenth dialogue by moments, in standard deviations: large if one stands out.
    :param difference: cosine of the nearest turn less that of the nearest dialogue.
    :param words: number of words of the question.
    """
    evidence = GAP * gap + DIFFERENCE * difference + LENGTH * math.log(max(1, words)) + LEVEL
    weight = math.exp(min(-2 * evidence, math.log(MOST)))
    return weight if weight >= LEAST else 0.0
