"""HTML page about the data of a corpus: expectations, quarantine, lengths, languages, labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dial2vec.data.validation.profile import Profile
from dial2vec.data.validation.result import ValidationResult, by_reason
from dial2vec.data.validation.suites import GUARD
from dial2vec.dialogue import Quarantined
from dial2vec.html import templates

N_REASONS, N_LABELS, N_LANGUAGES = 50, 60, 12


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
    deciles = f"Half of the dialogues have {profile.words[5]:,} words or more, one in ten {profile.words[9]:,} or more."
    charts = [
        ("Length", "Words", lengths, deciles),
        ("Language", "Language", languages, "From a sample of up to 1,000 dialogues with 5 words or more."),
        ("Labels", "Label", labels, f"{profile.n_labels:,} in total."),
    ]
    page: str = (
        templates("dial2vec.data.validation")
        .get_template("validation_page.html")
        .render(
            corpus=corpus,
            headline=_headline(profile, results, quarantine),
            results=[result for result in results if result.failed or not result.expectation.startswith(GUARD)],
            quarantined=len(quarantine),
            reasons=by_reason(quarantine)[:N_REASONS],
            charts=[chart for chart in charts if chart[2]],
            drift=earlier is not None,
        )
    )
    return page


def _headline(profile: Profile, results: Sequence[ValidationResult], quarantine: Sequence[Quarantined]) -> str:
    """Return the result in one or two sentences."""
    stopping = sum(result.stops for result in results)
    missed = f"{stopping} expectation{'s do' if stopping > 1 else ' does'} not hold, so the run stops here."
    verdict = missed if stopping else "The run may go on."
    return (
        f"{profile.dialogues:,} dialogues with {profile.turns:,} turns can be used; {len(quarantine):,} records are in "
        f"quarantine. {verdict}"
    )


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
