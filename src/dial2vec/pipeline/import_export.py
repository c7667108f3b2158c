"""Import of an export into a corpus: read, mask, show, write, version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dial2vec.data.importing.explaining import explanation
from dial2vec.data.importing.kept import load_readings, save_readings
from dial2vec.data.importing.options import Options
from dial2vec.data.importing.reading import Export, read_export
from dial2vec.data.importing.recipe_text import recipe_text
from dial2vec.data.importing.redaction import COUNTRIES, Redactor, redact
from dial2vec.data.importing.result import ImportResult
from dial2vec.data.importing.summary import import_summary
from dial2vec.data.importing.writing import (
    Places,
    masked_files,
    quarantine_known_ids,
    require_corpus,
    require_own,
    write_import,
)
from dial2vec.errors import CorpusError
from dial2vec.files import atomic_path, checkout_lock
from dial2vec.params import load_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Masks:
    """Options for masking; e-mail addresses, card numbers and speakers' names are always masked.

    :param names: Further names.
    :param countries: Two-letter codes of the countries whose national phone numbers are masked.
    """

    names: tuple[str, ...] = ()
    countries: tuple[str, ...] = COUNTRIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """What an import shows besides its summary.

    :param explain: True to show which field became what.
    :param recipe: File to write what was understood to, as a recipe; None writes none.
    """

    explain: bool = False
    recipe: Path | None = None


SHOW = Show()


def import_export(
    root: Path,
    source: Path,
    *,
    corpus: str,
    options: Options,
    masks: Masks | None,
    merge_turns: bool,
    show: Show = SHOW,
    new_reading: bool = False,
    dry_run: bool,
    replace: bool,
    say: Callable[[str], None],
) -> ImportResult:
    """Import a file or folder into a corpus, and show a summary before anything is written.

    :param root: Project folder.
    :param masks: Options for masking; None masks nothing.
    :param merge_turns: True if consecutive turns of one speaker become one turn.
    :param show: Things to show besides the summary.
    :param new_reading: True if the files may be read in another way than earlier ones of the corpus.
    :param dry_run: True to stop after the summary.
    :param replace: True if a file that this import did not write may be replaced; a copy of it is kept.
    :param say: Function that shows a line to the user.
    :raises CorpusError: if nothing can be read or used, or the output is another import's file.
    :raises VersioningError: if DVC could not version the written file.
    """
    from dial2vec.pipeline.dvc import add_data, restore_data

    require_corpus(corpus)
    places = Places(root, corpus, source, redacted=masks is not None)
    guessing = options.recipe is None and not options.named
    kept = load_readings(places.readings)
    export = read_export(source, options, () if new_reading or not guessing else kept)
    redactor = join_and_mask(export, places, masks, merge_turns=merge_turns)
    if dry_run:
        quarantine_known_ids(export.result, places)
        present(export, redactor, show, say, dry_run=True)
        say("Dry run: nothing is written.")
        return export.result
    with checkout_lock(root, f"import into {corpus}"):
        restore_data(root)
        require_own(places, replace=replace)
        quarantine_known_ids(export.result, places)
        present(export, redactor, show, say)
        replaced = write_import(export.result, places)
        save_readings(places.readings, list(dict.fromkeys([*kept, *export.readings])))
        add_data(root)
    if replaced:
        say(f"The replaced file is kept in {replaced.relative_to(root)}")
    if export.result.quarantine:
        say(f"Reasons of the quarantined dialogues: {places.quarantine.relative_to(root)}")
    say(f"Wrote {places.output.relative_to(root)}")
    if not places.redacted and (masked := masked_files(places)):
        say(f"Nothing is masked in it, unlike in {', '.join(masked)} of this corpus; import again with --redact")
    trained = corpus in load_settings(root / "params.yaml").corpora
    step = "dial2vec run" if trained else f"put `corpora: [{corpus}]` into params.yaml, then `make run`"
    say(f"Next: {step}; or look at it without training:")
    say(f"      dial2vec index data/{corpus} --output first")
    return export.result


def present(
    export: Export, redactor: Redactor | None, show: Show, say: Callable[[str], object], *, dry_run: bool = False
) -> None:
    """Show how an export was read, and write its recipe if asked to.

    :raises CorpusError: if the recipe would replace another file.
    """
    if show.explain:
        say(f"{explanation(export)}\n")
    say(f"{import_summary(export, redactor)}\n")
    if show.recipe:
        _save_recipe(recipe_text(export), show.recipe, say, dry_run=dry_run)


def _save_recipe(text: str, path: Path, say: Callable[[str], object], *, dry_run: bool) -> None:
    same = path.is_file() and path.read_bytes() == text.encode()
    if path.exists() and not same:
        raise CorpusError(
            f"{path} (--save-recipe) exists already and holds something else; expected a new file. Name one, such as "
            f"{path.with_name(f'{path.stem}-2.yaml')}."
        )
    if not dry_run:
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        say(f"Wrote the recipe {path}; it is read with --recipe {path}")


def join_and_mask(export: Export, places: Places, masks: Masks | None, *, merge_turns: bool) -> Redactor | None:
    """Join turns and mask personal data in place, as asked; return what masked them, None without masks."""
    if merge_turns:
        export.result.dialogues[:] = [dialogue.merged() for dialogue in export.result.dialogues]
    if masks is None:
        return None
    redactor = Redactor(export.result.speakers, names=masks.names, countries=masks.countries)
    redact(export.result, redactor, name=places.name)
    return redactor
