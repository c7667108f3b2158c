"""One import from file to corpus: read, mask, show, write, version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dial2vec.data.importing.assembling import ImportResult
from dial2vec.data.importing.options import Options
from dial2vec.data.importing.reading import Export, read_export
from dial2vec.data.importing.redaction import COUNTRIES, Redactor, redact
from dial2vec.data.importing.summary import import_summary
from dial2vec.data.importing.writing import Places, require_corpus, require_own, set_known_aside, write_import
from dial2vec.files import checkout_lock


@dataclass(frozen=True, slots=True, kw_only=True)
class Masks:
    """What is masked besides e-mail addresses, card numbers and speakers' names.

    :param names: further names.
    :param countries: two-letter codes of the countries whose national phone numbers are masked.
    """

    names: tuple[str, ...] = ()
    countries: tuple[str, ...] = COUNTRIES


def import_export(
    root: Path,
    source: Path,
    *,
    corpus: str,
    options: Options,
    masks: Masks | None,
    merge_turns: bool,
    dry_run: bool,
    replace: bool,
    say: Callable[[str], None],
) -> ImportResult:
    """Import a file or folder into a corpus, telling what is understood before anything is written.

    Returns its dialogues, and what was set aside.

    :param root: of the project.
    :param masks: None leaves everything as it is.
    :param merge_turns: whether turns that follow each other in one voice become one.
    :param dry_run: whether to stop after telling.
    :param replace: whether a file that this export's import did not write may be replaced; it is kept elsewhere.
    :param say: shows lines to the user.
    :raises CorpusError: when nothing can be read or used, or the output is not this export's.
    :raises VersioningError: when it was written, and DVC could not version it.
    """
    from dial2vec.pipeline.dvc import add_data, restore_data

    require_corpus(corpus)
    places = Places(root, corpus, source, redacted=masks is not None)
    export = read_export(source, options)
    redactor = _prepare(export, places, masks, merge_turns=merge_turns)
    if dry_run:
        set_known_aside(export.result, places)
        say(f"{import_summary(export, redactor)}\n\nDry run: nothing is written.")
        return export.result
    with checkout_lock(root, f"import into {corpus}"):
        restore_data(root)
        require_own(places, replace=replace)
        set_known_aside(export.result, places)
        say(f"{import_summary(export, redactor)}\n")
        kept = write_import(export.result, places)
        add_data(root)
    if kept:
        say(f"The file that was there lies in {kept.relative_to(root)}")
    if export.result.quarantine:
        say(f"Why dialogues were quarantined: {places.quarantine.relative_to(root)}")
    say(f"Wrote {places.output.relative_to(root)}")
    say(f"Next: put `corpora: [{corpus}]` into params.yaml, then `make run`; or look at it without training:")
    say(f"      dial2vec index data/{corpus} --output first")
    return export.result


def _prepare(export: Export, places: Places, masks: Masks | None, *, merge_turns: bool) -> Redactor | None:
    if merge_turns:
        export.result.dialogues[:] = [dialogue.merged() for dialogue in export.result.dialogues]
    if masks is None:
        return None
    redactor = Redactor(export.result.speakers, names=masks.names, countries=masks.countries)
    redact(export.result, redactor, name=places.name)
    return redactor
