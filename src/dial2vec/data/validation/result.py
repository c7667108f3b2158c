"""What an expectation found, and the error that stops a run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from dial2vec.dialogue import Quarantined
from dial2vec.errors import ValidationError

N_EXAMPLES = 3
Suite = Literal["turns", "dialogues", "corpus"]


@dataclass(slots=True)
class ValidationResult:
    """What one expectation found.

    An expectation about single turns or dialogues quarantines the dialogues for which it does not hold. One about the
    corpus stops the run.

    :param suite: what is expected of: single turns, single dialogues, or the corpus as a whole.
    :param expectation: what was expected, in words.
    :param found: what was found, in words.
    :param failed: number of turns or dialogues for which it does not hold; of the corpus, 0 or 1.
    :param examples: up to three places where it does not hold.
    """

    suite: Suite
    expectation: str
    found: str = ""
    failed: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def stops(self) -> bool:
        """Whether the pipeline must not go on."""
        return self.suite == "corpus" and self.failed > 0


def require(results: Sequence[ValidationResult], *, corpus: str) -> None:
    """Raise when an expectation about the corpus as a whole does not hold.

    :raises ValidationError: naming every such expectation, what was found, and examples.
    """
    failed = [result for result in results if result.stops]
    if failed:
        lines = [
            f"  expected {result.expectation}; found {result.found}"
            + "".join(f"\n      for example {example}" for example in result.examples)
            for result in failed
        ]
        moved = any("as before" in result.expectation for result in failed)
        meant = f" A change that is meant: delete artifacts/{corpus}/profile.json and run again." if moved else ""
        raise ValidationError(
            f"{corpus} is not as expected, so the pipeline stops here.\n"
            + "\n".join(lines)
            + f"\nSee artifacts/{corpus}/validation.html. Mend the data in data/{corpus}, or change the limits in "
            f"block `validate` of params.yaml.{meant}"
        )


def by_reason(quarantine: Sequence[Quarantined]) -> list[tuple[str, int, Quarantined]]:
    """Return (kind of reason, number of records, the first one), most frequent first.

    Reasons that differ in a number, an id or a quoted text are of one kind.
    """
    kinds = [kind(record.reason) for record in quarantine]
    first = dict(zip(reversed(kinds), reversed(quarantine), strict=True))
    return [(name, count, first[name]) for name, count in Counter(kinds).most_common()]


def kind(reason: str) -> str:
    """Return a reason without what differs from record to record.

    >>> kind("turn 3: 'text' must be a string, found a number (7)")
    "turn …: 'text' must be a string"
    """
    general = re.sub(r", found .*| \(.*\)", "", reason)
    return re.sub(r"the id '.*'", "the id", re.sub(r"\d+", "…", general))
