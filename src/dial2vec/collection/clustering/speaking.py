"""The turns of a dialogue that speak for its group, to be shown instead of its opening."""

from __future__ import annotations

from collections.abc import Sequence

from conversations.dialogue import Dialogue
from dial2vec.data.function_words import TOKEN
from dial2vec.data.terms import Term

# Turns that are shown. Of several turns with the same terms the shorter one says more; 8 keeps "a hotel?" from winning.
TURNS, SHORT = 2, 8


def speaking_turns(dialogue: Dialogue, terms: Sequence[Term], *, n: int = TURNS) -> tuple[int, ...]:
    """Return the places of the turns that speak for a group, at most n, from 0, ascending.

    Only turns with a term are taken, by their `speaking_scores`; of equal ones the earlier counts.

    :return: first n turns if no turn has a term.
    """
    scores = speaking_scores(dialogue, terms)
    best = sorted((place for place, score in enumerate(scores) if score > 0), key=lambda place: -scores[place])
    return tuple(sorted(best[:n])) or tuple(range(min(n, len(scores))))


def speaking_scores(dialogue: Dialogue, terms: Sequence[Term]) -> list[float]:
    """Return how much each turn speaks for a group: the weight of its terms there, by its number of words plus 8."""
    weights = {_joined(term.text): term.weight for term in terms}
    scores = []
    for turn in dialogue.turns:
        text = _joined(turn.text)
        total = sum(weight for words, weight in weights.items() if words in text)
        scores.append(total / (text.count("\n") - 1 + SHORT))
    return scores


def terms_said(text: str, terms: Sequence[Term]) -> list[str]:
    """Return those terms of a group that a text has, the most characteristic first."""
    words = _joined(text)
    return [term.text for term in terms if _joined(term.text) in words]


def _joined(text: str) -> str:
    """Return the words of a text, each between line feeds."""
    return "\n".join(["", *TOKEN.findall(text.lower()), ""])
