"""Import of an export into a corpus: read, mask, show, write, version."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conversations.explaining import explanation, recipe_text
from conversations.files import write_text
from conversations.kept import KeptReading, load_readings, save_readings
from conversations.options import Options
from conversations.reading import Export, read_export
from conversations.redaction import Masks, Redactor, join_and_mask
from conversations.result import ImportResult
from conversations.summary import import_summary, usable_dialogues
from conversations.writing import Places, masked_files, quarantine_known_ids, require_own, write_import
from dial2vec.data.corpora import require_corpus
from dial2vec.encoder.names import GENERAL
from dial2vec.errors import CorpusError
from dial2vec.files import checkout_lock
from dial2vec.params import load_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSettings:
    """How an import reads, masks, shows and writes.

    :param masks: Options for masking; None masks nothing.
    :param merge_turns: True if consecutive turns of one speaker become one turn.
    :param sample: Number of dialogues to draw at random; None takes all.
    :param texts: False shows no text, name or reason of an export, for a log that others may read.
    :param explain: True to show which field became what.
    :param recipe: File to write what was understood to, as a recipe; None writes none.
    :param dry_run: True to stop after the summary.
    :param replace: True if a file that this import did not write may be replaced; a copy of it is kept.
    """

    options: Options = field(default_factory=Options)
    masks: Masks | None = None
    merge_turns: bool = False
    sample: int | None = None
    texts: bool = True
    explain: bool = False
    recipe: Path | None = None
    dry_run: bool = False
    replace: bool = False


def import_export(
    root: Path,
    source: Path,
    *,
    corpus: str,
    settings: ImportSettings,
    new_reading: bool = False,
    say: Callable[[str], None],
) -> ImportResult:
    """Import a file or folder into a corpus, and show a summary before anything is written.

    :param new_reading: True if the files may be read in another way than earlier ones of the corpus.
    :raises CorpusError: if nothing can be read or used, or the output is another import's file.
    :raises VersioningError: if DVC could not version the written file.
    """
    from dial2vec.project.dvc import add_data, restore_data

    require_corpus(corpus)
    places = Places(root, corpus, source, redacted=settings.masks is not None)
    kept = load_readings(places.readings)
    merge_turns = settings.merge_turns
    if kept and settings.options == Options() and not new_reading:
        export, merged = _read_as_before(source, kept)
        merge_turns = merge_turns or merged
        for given in dict.fromkeys(str(reading.options) for reading in export.readings if str(reading.options)):
            say(f"Read with the options of earlier files of this corpus: {given}")
    else:
        export = read_export(source, settings.options)
    redactor = join_and_mask(export.result, settings.masks, name=places.name, merge_turns=merge_turns)
    if settings.dry_run:
        quarantine_known_ids(export.result, places)
        export.result.draw(settings.sample)
        present(export, redactor, settings, say)
        say("Dry run: nothing is written.")
        return export.result
    with checkout_lock(root, f"import into {corpus}"):
        restore_data(root)
        require_own(places, replace=settings.replace)
        quarantine_known_ids(export.result, places)
        export.result.draw(settings.sample)
        present(export, redactor, settings, say)
        replaced = write_import(export.result, places, redactor)
        now = [dataclasses.replace(reading, merge_turns=merge_turns) for reading in export.readings]
        save_readings(places.readings, list(dict.fromkeys([*kept, *now])))
        add_data(root)
    if replaced:
        say(f"The replaced file is kept in {replaced.relative_to(root)}")
    _say_what_is_next(export.result, places, say)
    return export.result


def _say_what_is_next(result: ImportResult, places: Places, say: Callable[[str], None]) -> None:
    if result.quarantine:
        say(f"Reasons of the quarantined dialogues: {places.quarantine.relative_to(places.root)}")
    say(f"Wrote {places.output.relative_to(places.root)}")
    if not places.redacted and (masked := masked_files(places)):
        say(f"Nothing is masked in it, unlike in {', '.join(masked)} of this corpus; import again with --redact")
    look = f"dial2vec index data/{places.corpus} --output first"
    if all(dialogue.n_speakers < 2 for dialogue in result.dialogues):
        say("Nothing can be trained on it: each of its dialogues has one speaker only. If there are two, name their")
        say("column with --speaker; else look at it without training:")
        say(f"      {look}")
        return
    settings = load_settings(places.root / "params.yaml")
    step = (
        "dial2vec run"
        if places.corpus in settings.corpora
        else f"put `corpora: [{places.corpus}]` into params.yaml, then `dial2vec run`"
    )
    from dial2vec.data.languages import start_advice
    from dial2vec.encoder.advice import encoder_advice
    from dial2vec.encoder.loading import load_encoder

    own = start_advice(result.dialogues, settings.encoder.name)
    if advice := own or encoder_advice(result.dialogues, load_encoder(GENERAL)):
        say(advice)
    say(f"Next: {step}; or look at it without training:")
    say(f"      {look}")


def _read_as_before(source: Path, kept: Sequence[KeptReading]) -> tuple[Export, bool]:
    """Read an export with the options and the reading of an earlier file of its corpus, the latest one that fits.

    :return: the export, and True if consecutive turns of one speaker were joined.
    :raises CorpusError: if none fits.
    """
    errors: list[CorpusError] = []
    for options, merge_turns in dict.fromkeys((reading.options, reading.merge_turns) for reading in reversed(kept)):
        try:
            return read_export(source, options, [item for item in kept if item.options == options]), merge_turns
        except CorpusError as error:
            errors.append(error)
    raise errors[0]


def present(export: Export, redactor: Redactor | None, settings: ImportSettings, say: Callable[[str], object]) -> None:
    """Show how an export was read, and write its recipe if asked to.

    :raises CorpusError: if the recipe would replace another file.
    """
    if not settings.texts:
        say(f"{export.source.name}: {usable_dialogues(export.result)}")
        return
    if settings.explain:
        say(f"{explanation(export)}\n")
    say(f"{import_summary(export, redactor)}\n")
    if settings.recipe:
        _save_recipe(recipe_text(export), settings.recipe, say, dry_run=settings.dry_run)


def _save_recipe(text: str, path: Path, say: Callable[[str], object], *, dry_run: bool) -> None:
    same = path.is_file() and path.read_bytes() == text.encode()
    if path.exists() and not same:
        raise CorpusError(
            f"{path} (--save-recipe) exists already and holds something else; expected a new file. Name one, such as "
            f"{path.with_name(f'{path.stem}-2.yaml')}."
        )
    if not dry_run:
        write_text(path, text)
        say(f"Wrote the recipe {path}; it is read with --recipe {path}")
