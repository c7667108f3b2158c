"""HTML page about the data of a corpus: expectations, quarantine, lengths, languages, labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conversations.dialogue import Quarantined
from conversations.words import with_noun
from dial2vec.data.validation.profile import Profile
from dial2vec.data.validation.result import ValidationResult, by_reason, kind
from dial2vec.data.validation.suites import GUARD
from dial2vec.html import rendered

N_REASONS, N_LABELS, N_LANGUAGES = 50, 60, 12
# Bars of a chart; the others are folded.
N_BARS = 16


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart.

    :param share: Share of the dialogues, in [0, 1].
    :param before: Share in the previous version.
    :param largest: Largest share of the chart.
    """

    name: str
    share: float
    before: float
    largest: float


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that failed.

    :param stops: True if it stops the run; otherwise records are in quarantine.
    :param reason: Expectation or reason in words.
    :param extent: Observed value, or number of records.
    :param examples: Up to 3 failing places: file, line, dialogue and reason.
    """

    stops: bool
    reason: str
    extent: str
    examples: list[str]


def render_validation(
    corpus: str,
    profile: Profile,
    results: Sequence[ValidationResult],
    quarantine: Sequence[Quarantined],
    *,
    earlier: Profile | None,
) -> str:
    """Return the page as HTML.

    :param earlier: Profile of the previous version, shown for comparison, or None.
    """
    lengths = _bars(_doublings(profile.lengths), _doublings(earlier.lengths) if earlier else {}, limit=None)
    languages = _bars(profile.languages, earlier.languages if earlier else {}, limit=N_LANGUAGES)
    labels = _bars(profile.labels, earlier.labels if earlier else {}, limit=N_LABELS)
    deciles = (
        f"Half of the conversations have {profile.words[5]:,} words or more, one in ten {profile.words[9]:,} or more."
    )
    charts = [
        ("Length", "Words", lengths, deciles),
        ("Language", "Language", languages, "From a sample of up to 1,000 conversations with 5 words or more."),
        ("Labels", "Label", labels, f"{profile.n_labels:,} in total."),
    ]
    return rendered(
        "dial2vec.data.validation",
        "validation_page.html",
        corpus=corpus,
        headline=_headline(profile, results, quarantine),
        failures=_failures(results, quarantine),
        holding=[result for result in results if not result.failed and not result.expectation.startswith(GUARD)],
        quarantined=len(quarantine),
        charts=[chart for chart in charts if chart[2]],
        drift=earlier is not None,
        shown=N_BARS,
    )


def _failures(results: Sequence[ValidationResult], quarantine: Sequence[Quarantined]) -> list[Failure]:
    """Return what stops the run, then the reasons of the quarantine, the most frequent first."""
    stopping = [
        Failure(
            True,
            f"Expected {result.expectation}",
            f"found {result.found}",
            # The reasons of the quarantine have examples of their own.
            [] if "quarantined" in result.expectation else result.examples,
        )
        for result in results
        if result.stops
    ]
    words = {kind(f"expected {result.expectation}"): result for result in results if result.failed and not result.stops}
    quarantined, named = [], set()
    for reason, count, first in by_reason(quarantine)[:N_REASONS]:
        expected = next((known for known in words if reason.startswith(known)), "")
        named.add(expected)
        title = f"Expected {words[expected].expectation}" if expected else reason[:1].upper() + reason[1:]
        quarantined.append(Failure(False, title, with_noun(count, "record"), [str(record) for record in first]))
    # A dialogue that fails twice is in quarantine for the first reason only.
    hidden = [
        Failure(False, f"Expected {result.expectation}", with_noun(result.failed, result.suite[:-1]), result.examples)
        for known, result in words.items()
        if known not in named
    ]
    return [*stopping, *quarantined, *hidden]


def _headline(profile: Profile, results: Sequence[ValidationResult], quarantine: Sequence[Quarantined]) -> str:
    """Return the result in one or two sentences."""
    stopping = sum(result.stops for result in results)
    missed = f"{stopping} expectation{'s do' if stopping > 1 else ' does'} not hold, so the run stops here."
    used = (
        f"{profile.dialogues:,} conversations with {profile.turns:,} turns can be used; {len(quarantine):,} "
        f"record{' is' if len(quarantine) == 1 else 's are'} in quarantine."
    )
    return f"{missed} {used}" if stopping else f"{used} The run may go on."


def _doublings(lengths: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of dialogues by length, in bins from one power of two to the next, without gaps."""
    powers: Counter[int] = Counter()
    for words, count in lengths.items():
        powers[int(words).bit_length()] += count
    shown = range(min(powers), max(powers) + 1) if powers else range(0)
    return {_reach(power): powers[power] for power in shown}


def _reach(power: int) -> str:
    return f"{2 ** (power - 1):,} to {2**power - 1:,}" if power > 1 else str(power)


def _bars(
    now: dict[str, int] | dict[str, float], before: dict[str, int] | dict[str, float], limit: int | None
) -> list[Bar]:
    """Return one bar per name, with its share now and before."""
    shares = {name: value / (sum(now.values()) or 1) for name, value in now.items()}
    earlier = {name: value / (sum(before.values()) or 1) for name, value in before.items()}
    largest = max([*shares.values(), 1e-9])
    # Names that no longer occur come last.
    shown = list(dict.fromkeys([*shares, *earlier]))[:limit]
    return [Bar(name, shares.get(name, 0.0), earlier.get(name, 0.0), largest) for name in shown]
