"""Stage validate: raw files to usable dialogues; what cannot be used is quarantined, and the suites must hold."""

from __future__ import annotations

from dataclasses import asdict, replace

from dial2vec.config import Settings
from dial2vec.data.corpora import get_corpus
from dial2vec.data.progress import counted
from dial2vec.data.validation import Checker, Profile, ValidationResult, require
from dial2vec.data.validation.validation_page import render_validation
from dial2vec.dialogue import Quarantined, dialogue_writer, write_quarantine
from dial2vec.errors import ArtifactError
from dial2vec.files import atomic_path, read_json, write_json
from dial2vec.pipeline import run_stage as stage
from dial2vec.pipeline.artifacts import Artifacts


def validate(artifacts: Artifacts, settings: Settings) -> str:
    """Read the raw corpus, quarantine what breaks an expectation, and stop where the whole is not as expected."""
    quarantine: list[Quarantined] = []
    corpus = get_corpus(artifacts.corpus, data=artifacts.data.parent, options=settings.read)
    found = counted(corpus.read(artifacts.data, quarantine=quarantine), "dialogues")
    if settings.read.merge_turns:
        found = (dialogue.merged() for dialogue in found)
    checker = Checker(settings.validate, quarantine=quarantine)
    # The dialogues take their place when the block ends: a refused version is none that later stages could read.
    with dialogue_writer(artifacts.dialogues) as write:
        try:
            for dialogue in checker.passing(found):
                write(dialogue)
        finally:
            quarantine[:] = [replace(one, origin=one.origin.below(artifacts.root)) for one in quarantine]
            write_quarantine(artifacts.quarantine, quarantine)
        profile = checker.profile()
        earlier = _earlier(artifacts, profile)
        results = checker.results(profile, earlier=earlier)
        _write_verdict(artifacts, profile, results, quarantine, earlier)
        require(results, corpus=artifacts.corpus)
    # After the verdict, too: the next version is not compared with a refused one.
    records = {"this": profile.to_record(), "earlier": earlier.to_record() if earlier else None}
    write_json(artifacts.profile, records)
    where = artifacts.quarantine.relative_to(artifacts.root)
    aside = f", {len(quarantine)} quarantined (see {where})" if quarantine else ""
    return f"{profile.dialogues} dialogues, {profile.turns} turns, {len(results)} expectations checked{aside}"


def _write_verdict(
    artifacts: Artifacts,
    profile: Profile,
    results: list[ValidationResult],
    quarantine: list[Quarantined],
    earlier: Profile | None,
) -> None:
    write_json(artifacts.validation, {"quarantined": len(quarantine), "expectations": list(map(asdict, results))})
    with atomic_path(artifacts.validation_page) as temporary:
        page = render_validation(artifacts.corpus, profile, results, quarantine, earlier=earlier)
        temporary.write_text(page, encoding="utf-8")


def _earlier(artifacts: Artifacts, profile: Profile) -> Profile | None:
    """Return the profile of the last version of the corpus that was another one, as far as it is known."""
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
            f"{artifacts.profile} is no profile as this version of dial2vec writes it ({error}). Restore it by git, or "
            "delete it, and run again."
        ) from error


if __name__ == "__main__":
    stage.main(validate)
