"""Stage validate: read raw files, quarantine unusable dialogues, and check the expectations."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import asdict, replace

from conversations.dialogue import Quarantined, write_quarantine
from conversations.files import atomic_path, read_json, write_json, write_text
from conversations.progress import bar_of
from dial2vec.config import Settings, Validate, part_of
from dial2vec.data.corpora import get_corpus
from dial2vec.data.corpora.joint import Joint
from dial2vec.data.validation import Checker, Profile, ValidationResult, checked_parts, require
from dial2vec.data.validation.validation_page import render_validation
from dial2vec.errors import ArtifactError, ValidationError
from dial2vec.pipeline import run_stage as stage
from dial2vec.pipeline.artifacts import Artifacts


def validate(artifacts: Artifacts, settings: Settings) -> str:
    """Read the raw corpus, quarantine bad dialogues, and stop if the corpus as a whole breaks an expectation."""
    quarantine: list[Quarantined] = []
    corpus = get_corpus(artifacts.corpus, data=artifacts.data.parent, options=settings.read)
    checker = Checker(settings.validate, quarantine=quarantine)
    passed: Counter[str] = Counter()
    # The file appears only if the block succeeds: later stages never read a refused version.
    with atomic_path(artifacts.dialogues) as temporary, temporary.open("wb") as out:
        try:
            parts = checked_parts(corpus, artifacts.data, checker, merge=settings.read.merge_turns)
            with closing(parts), bar_of("dialogues") as bar:
                for part in parts:
                    passed.update(map(part_of, part.passing))
                    out.write(part.lines)
                    bar.update(len(part.ids))
        finally:
            quarantine[:] = [replace(entry, origin=entry.origin.below(artifacts.root)) for entry in quarantine]
            write_quarantine(artifacts.quarantine, quarantine)
        profile = checker.profile()
        earlier = _earlier(artifacts, profile)
        results = checker.results(profile, earlier=earlier)
        _write_verdict(artifacts, profile, results, quarantine, earlier)
        _require_two_sides(artifacts.corpus, profile)
        require(results, corpus=artifacts.corpus)
        if isinstance(corpus, Joint):
            _require_parts(artifacts.corpus, passed, quarantine, settings.validate)
    # After the verdict: the next version must not be compared with a refused one.
    records = {"this": profile.to_record(), "earlier": earlier.to_record() if earlier else None}
    write_json(artifacts.profile, records)
    where = artifacts.quarantine.relative_to(artifacts.root)
    quarantined = f", {len(quarantine)} quarantined (see {where})" if quarantine else ""
    return f"{profile.dialogues} dialogues, {profile.turns} turns, {len(results)} expectations checked{quarantined}"


def _require_two_sides(corpus: str, profile: Profile) -> None:
    """Raise if no dialogue has two speakers, whatever the limits allow.

    :raises ValidationError: if so.
    """
    if profile.one_speaker == profile.dialogues > 0:
        raise ValidationError(
            f"each of the {profile.dialogues} dialogues of {corpus} has one speaker only; training and choosing need "
            "dialogues of two, so no limit in params.yaml helps. If there are two, name their column "
            "(`dial2vec import --speaker`); else use the texts untrained: "
            f"`dial2vec index data/{corpus} --output first`, then search and cluster it."
        )


def _require_parts(corpus: str, passed: Counter[str], quarantine: list[Quarantined], limits: Validate) -> None:
    """Raise if too much of one joined corpus is quarantined, which its share in all may hide.

    :raises ValidationError: if so.
    """
    lost = Counter(part_of(record.dialogue_id) for record in quarantine)
    for name, n_lost in sorted(lost.items()):
        total = n_lost + passed[name]
        if total >= limits.min_dialogues and n_lost > limits.max_quarantined_share * total:
            first = next(record for record in quarantine if part_of(record.dialogue_id) == name)
            raise ValidationError(
                f"{corpus} is not as expected: {n_lost} of {total} records of {name} are quarantined, the first "
                f"because {first.reason}; expected at most {limits.max_quarantined_share:.0%}. Mend the data in "
                f"data/{name}, or raise validate.max_quarantined_share of params.yaml."
            )


def _write_verdict(
    artifacts: Artifacts,
    profile: Profile,
    results: list[ValidationResult],
    quarantine: list[Quarantined],
    earlier: Profile | None,
) -> None:
    write_json(artifacts.validation, {"quarantined": len(quarantine), "expectations": list(map(asdict, results))})
    page = render_validation(artifacts.corpus, profile, results, quarantine, earlier=earlier)
    write_text(artifacts.validation_page, page)


def _earlier(artifacts: Artifacts, profile: Profile) -> Profile | None:
    """Return the profile of the last different version of the corpus; None if unknown."""
    if not artifacts.profile.is_file():
        return None
    known = read_json(artifacts.profile)
    try:
        this = Profile.from_record(known["this"])
        if this.fingerprint != profile.fingerprint:
            return this
        return Profile.from_record(known["earlier"]) if known["earlier"] else None
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(
            f"{artifacts.profile} is not a profile of this version of dial2vec ({error}). Restore it by git or delete "
            "it, then run again."
        ) from error


if __name__ == "__main__":
    stage.main(validate)
