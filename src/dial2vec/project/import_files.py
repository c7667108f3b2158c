"""Import of exports into one file of dialogues, in any folder: without a project, DVC or git."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote

from conversations.formats.addresses import as_address
from conversations.options import Options
from conversations.reading import Export, read_export
from conversations.redaction import join_and_mask
from conversations.result import ImportResult
from conversations.writing import Places, quarantine_known_ids, require_own, write_import
from dial2vec.encoder.names import GENERAL
from dial2vec.errors import CorpusError
from dial2vec.project.import_export import ImportSettings, present


def import_files(
    sources: Sequence[Path], output: Path, settings: ImportSettings, *, say: Callable[[str], object]
) -> ImportResult:
    """Import files or folders into one file, and show a summary before anything is written.

    Unusable dialogues go to `<name>.quarantine.jsonl` beside the file.

    :param sources: Files or folders, at least 1.
    :param output: File that ends in `.jsonl`.
    :raises CorpusError: if nothing can be read or used, or the output is another import's file.
    """
    if output.suffix != ".jsonl" or output.is_dir():
        raise CorpusError(
            f"found --output {output}; expected a file that ends in .jsonl. Name one, such as "
            f"{output.with_suffix('.jsonl') if output.name else 'calls.jsonl'}."
        )
    export = read_exports(sources, settings.options)
    places = Places(Path.cwd(), "", export.source, redacted=settings.masks is not None, file=output)
    redactor = join_and_mask(export.result, settings.masks, name=places.name, merge_turns=settings.merge_turns)
    quarantine_known_ids(export.result, places)
    export.result.draw(settings.sample)
    present(export, redactor, settings, say)
    if settings.dry_run:
        say("Dry run: nothing is written.")
        return export.result
    if any(output.resolve() == source.resolve() for source in sources):
        raise CorpusError(f"{output} is both read and written; expected another file for --output. Name one.")
    require_own(places, replace=settings.replace)
    if kept := write_import(export.result, places, redactor):
        say(f"The replaced file is kept in {kept}")
    if export.result.quarantine:
        say(f"Reasons of the quarantined dialogues: {places.quarantine}")
    say(f"Wrote {output}")
    from dial2vec.encoder.advice import encoder_advice
    from dial2vec.encoder.loading import load_encoder

    if advice := encoder_advice(export.result.dialogues, load_encoder(GENERAL)):
        say(advice)
    shown = quote(str(output))
    say(f"Next: dial2vec look {shown}")
    say(f"      dial2vec index {shown} --output {quote(places.name)}    then search, cluster and explore it")
    return export.result


def read_exports(sources: Sequence[Path], options: Options) -> Export:
    """Read several exports as one: the ids of dialogues are unique in all of them.

    :param sources: Files or folders, at least 1.
    :raises CorpusError: if one of them cannot be read.
    """
    if len(sources) == 1:
        return read_export(sources[0], options)
    paths = [source if as_address(source) else source.absolute() for source in sources]
    folders = [path.parent for path in paths if path.is_absolute()]
    whole = Export(Path(os.path.commonpath(folders)) if folders else Path.cwd())
    for path in paths:
        export = read_export(path, options)
        whole.files |= export.files
        whole.skipped += export.skipped
        whole.result.add(export.result)
    if options.parts:
        whole.result.join_parts()
    return whole
