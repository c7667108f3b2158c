"""One HTML page of dialogues beside their variants, with what was changed marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from dial2vec.dialogue import Dialogue, Turn
from dial2vec.html import templates
from dial2vec.training.augmentation.variants import Variant
from dial2vec.training.augmentation.wording import Wording


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """One turn of a variant.

    :param turn: speaker and text.
    :param mark: "" where it is the original's, "moved", "changed", "new", or "left out".
    :param pieces: the text, in pieces that are new words or not.
    """

    turn: Turn
    mark: str
    pieces: tuple[tuple[str, bool], ...]


def render_variants(shown: Sequence[tuple[Dialogue, Sequence[Variant]]]) -> str:
    """Return the page as HTML that needs no network.

    :param shown: dialogues with their variants.
    """
    dialogues = [
        (dialogue, [(variant, compared(dialogue, variant.dialogue)) for variant in variants])
        for dialogue, variants in shown
    ]
    page: str = (
        templates("dial2vec.training.augmentation")
        .get_template("augmentation_page.html")
        .render(headline=_headline(shown), dialogues=dialogues)
    )
    return page


def _headline(shown: Sequence[tuple[Dialogue, Sequence[Variant]]]) -> str:
    """Return how many variants there are, and of how many nothing could be changed, in a sentence or two."""
    variants = [variant for _, found in shown for variant in found]
    same = sum(not variant.changed for variant in variants)
    corrupted = sum(not variant.preserving for variant in variants)
    unchanged = f" Nothing could be changed in {same:,} of them." if same else ""
    return (
        f"{_counted(len(variants), 'variant')} of {_counted(len(shown), 'dialogue')}, {corrupted:,} of them with "
        f"another intent.{unchanged}"
    )


def compared(original: Dialogue, variant: Dialogue) -> list[ShownTurn]:
    """Return the turns of a variant, and in their old places those that it leaves out."""
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
    """Whether turns are others said anew: by the same speakers, and none that only changed places."""
    same_speakers = [turn.speaker for turn in old] == [turn.speaker for turn in new]
    return same_speakers and not any(turn in before for turn in new)


def _pieces(was: str, text: str) -> tuple[tuple[str, bool], ...]:
    """Cut a text into runs of words that were said before and of words that were not."""
    gaps, words = Wording.of(text)
    steps = SequenceMatcher(None, Wording.of(was).words, words, autojunk=False).get_opcodes()
    new = [step != "equal" for step, _, _, first, last in steps for _ in range(first, last)]
    pieces = [
        pair for gap, word, is_new in zip(gaps, words, new, strict=False) for pair in ((gap, False), (word, is_new))
    ]
    return tuple(pair for pair in [*pieces, (gaps[-1], False)] if pair[0])


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
