"""HTML page of dialogues next to their variants, with changes marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from conversations.dialogue import Dialogue, Turn
from conversations.words import with_noun
from dial2vec.html import rendered
from dial2vec.training.augmentation.variants import Variant
from dial2vec.training.augmentation.wording import Wording


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """One turn of a variant.

    :param turn: Speaker and text.
    :param mark: Kind of change: "" (none), "moved", "changed", "new", or "left out".
    :param pieces: Pieces of the text, each with True if it is a new word.
    """

    turn: Turn
    mark: str
    pieces: tuple[tuple[str, bool], ...]


def render_variants(shown: Sequence[tuple[Dialogue, Sequence[Variant]]]) -> str:
    """Return the page as HTML.

    :param shown: Dialogues with their variants.
    """
    dialogues = [
        (dialogue, [(variant, compared(dialogue, variant.dialogue)) for variant in variants])
        for dialogue, variants in shown
    ]
    return rendered(
        "dial2vec.training.augmentation", "augmentation_page.html", headline=_headline(shown), dialogues=dialogues
    )


def _headline(shown: Sequence[tuple[Dialogue, Sequence[Variant]]]) -> str:
    """Return one or two sentences with the numbers of variants and of unchanged variants."""
    variants = [variant for _, own in shown for variant in own]
    same = sum(not variant.changed for variant in variants)
    corrupted = sum(not variant.preserving for variant in variants)
    unchanged = f" Nothing could be changed in {same:,} of them." if same else ""
    return (
        f"{with_noun(len(variants), 'variant')} of {with_noun(len(shown), 'dialogue')}, {corrupted:,} of them with "
        f"another intent.{unchanged}"
    )


def compared(original: Dialogue, variant: Dialogue) -> list[ShownTurn]:
    """Return the turns of a variant, with left-out turns at their old places."""
    originals, after = list(original.turns), list(variant.turns)
    steps = SequenceMatcher(None, originals, after, autojunk=False).get_opcodes()
    gone = [turn for step, first, last, _, _ in steps if step != "equal" for turn in originals[first:last]]
    shown: list[ShownTurn] = []
    for step, first, last, new_first, new_last in steps:
        old, new = originals[first:last], after[new_first:new_last]
        if step == "equal":
            shown += [ShownTurn(turn, "", ((turn.text, False),)) for turn in new]
        elif step == "replace" and _is_reworded(old, new, originals):
            shown += [
                ShownTurn(turn, "changed", _pieces(was.text, turn.text)) for was, turn in zip(old, new, strict=True)
            ]
        else:
            shown += [ShownTurn(turn, "left out", ((turn.text, False),)) for turn in old if turn not in after]
            shown += [ShownTurn(turn, "moved" if turn in gone else "new", ((turn.text, False),)) for turn in new]
    return shown


def _is_reworded(old: list[Turn], new: list[Turn], before: list[Turn]) -> bool:
    """Return whether turns were reworded: same speakers, and no turn that only moved."""
    same_speakers = [turn.speaker for turn in old] == [turn.speaker for turn in new]
    return same_speakers and not any(turn in before for turn in new)


def _pieces(old: str, text: str) -> tuple[tuple[str, bool], ...]:
    """Split a text into pieces, each with True if it is a new word."""
    gaps, words = Wording.of(text)
    steps = SequenceMatcher(None, Wording.of(old).words, words, autojunk=False).get_opcodes()
    new = [step != "equal" for step, _, _, first, last in steps for _ in range(first, last)]
    pieces = [
        pair for gap, word, is_new in zip(gaps, words, new, strict=False) for pair in ((gap, False), (word, is_new))
    ]
    return tuple(pair for pair in [*pieces, (gaps[-1], False)] if pair[0])
