"""Result of an expectation, and the error that stops a run."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from conversations.dialogue import Quarantined
from dial2vec.errors import ValidationError

N_EXAMPLES = 3
Suite = Literal["turns", "dialogues", "corpus"]


@dataclass(slots=True)
class ValidationResult:
    """Result of one expectation.

    Failed expectations about turns or dialogues quarantine those dialogues; a failed expectation about the whole corpus
    stops the run.

    :param suite: Subject of the expectation: single turns, single dialogues, or the whole corpus.
    :param found: Observed value in words.
    :param failed: Number of failing turns or dialogues; 0 or 1 for the whole corpus.
    :param examples: Up to 3 failing places.
    """

    suite: Suite
    expectation: str
    found: str = ""
    failed: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def stops(self) -> bool:
        """Return whether the result stops the pipeline."""
        return self.suite == "corpus" and self.failed > 0


def require(results: Sequence[ValidationResult], *, corpus: str) -> None:
    """Raise if an expectation about the whole corpus fails.

    :raises ValidationError: if it does; the error names every such expectation, the observed value and examples.
    """
    failed = [result for result in results if result.stops]
    if failed:
        lines = [
            f"  expected {result.expectation}; found {result.found}"
            + "".join(f"\n      for example {example}" for example in result.examples)
            for result in failed
        ]
        moved = any("as before" in result.expectation for result in failed)
        reset = f" If the change is intended, delete artifacts/{corpus}/profile.json and run again." if moved else ""
        raise ValidationError(
            f"{corpus} is not as expected, so the pipeline stops here.\n"
            + "\n".join(lines)
            + f"\nSee artifacts/{corpus}/validation.html. Mend the data in data/{corpus}, or change the limits in "
            f"block `validate` of params.yaml.{reset}"
        )


def by_reason(quarantine: Sequence[Quarantined]) -> list[tuple[str, int, list[Quarantined]]]:
    """Return (kind of reason, number of records, the first 3 of them), most frequent first.

    Reasons that differ only in a number, an id or a quoted text are of one kind.
    """
    counts: Counter[str] = Counter()
    first: defaultdict[str, list[Quarantined]] = defaultdict(list)
    for record in quarantine:
        name = kind(record.reason)
        counts[name] += 1
        if counts[name] <= N_EXAMPLES:
            first[name].append(record)
    return [(name, count, first[name]) for name, count in counts.most_common()]


def kind(reason: str) -> str:
    """Return a reason without the parts that differ between records.

    >>> kind("turn 3: 'text' must be a string, found a number (7)")
    "turn …: 'text' must be a string"
    """
    general = re.sub(r", found .*| \(.*\)", "", reason)
    return re.sub(r"the id '.*'", "the id", re.sub(r"\d+", "…", general))
