"""Read an export, a file or a folder: its dialogues, and a description of each file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from dial2vec.data.importing.assembling import from_records, from_scripts
from dial2vec.data.importing.branches import branching
from dial2vec.data.importing.captions import read_captions
from dial2vec.data.importing.columns import Columns, find_columns
from dial2vec.data.importing.containers import Unpacking
from dial2vec.data.importing.encodings import Encoding, find_encoding, open_text
from dial2vec.data.importing.evidence import headings
from dial2vec.data.importing.formats import (
    CONTAINERS,
    ENDINGS,
    HEAD_LINES,
    ending,
    find_format,
    find_list,
    is_parquet,
    stem,
)
from dial2vec.data.importing.mending import Mending
from dial2vec.data.importing.options import Options
from dial2vec.data.importing.plain_text import read_plain_text
from dial2vec.data.importing.recipe import Recipe, known_recipes, load_recipe
from dial2vec.data.importing.recipe_lines import LineReader
from dial2vec.data.importing.recipe_records import RecordReader, columns_of
from dial2vec.data.importing.recognising import recipe_of_json, recipe_of_lines, recipe_of_records
from dial2vec.data.importing.records import Record, outline, read_json_lines, read_json_records
from dial2vec.data.importing.refusals import require_one_meaning
from dial2vec.data.importing.result import AMBIGUOUS, ImportResult
from dial2vec.data.importing.rows import Groups, from_rows, group_rows, merge
from dial2vec.data.importing.selection import Selection
from dial2vec.data.importing.tables import (
    DELIMITERS,
    find_delimiter,
    find_header,
    is_unquoted,
    named_delimiter,
    read_parquet,
    read_table,
)
from dial2vec.data.importing.unfolding import turns_of_columns, unfolding, unquoting
from dial2vec.data.progress import counted
from dial2vec.dialogue import Origin, Quarantined
from dial2vec.errors import CorpusError

# Number of first records by which columns are found; ids repeat among so many even if dialogues are mixed.
SAMPLE = 2000
HEADINGS = "rows below the names of the columns that hold further headings are left out"


@dataclass(frozen=True, slots=True)
class Description:
    """Format, encoding and columns of a file, as they were guessed or given.

    :param format: Key of `FORMATS`.
    :param encoding: Encoding as shown to people; "" for Parquet.
    :param delimiter: Name of the delimiter; "" for other formats.
    :param columns: Meanings of the columns; None for text and captions.
    :param unused: Columns without a meaning.
    :param notes: Sentences for the summary.
    :param recipe: Name of the recipe; "" if the columns were guessed.
    """

    format: str
    encoding: str = ""
    delimiter: str = ""
    columns: Columns | None = None
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    recipe: str = ""


@dataclass
class Export:
    """An export that was read.

    :param source: File or folder.
    :param descriptions: Description of each file.
    :param result: Dialogues and quarantine.
    :param skipped: Files of a folder without a known ending.
    :param recipes: Recipe of each file that was read by one.
    :param first: First records of each file of records.
    """

    source: Path
    descriptions: dict[Path, Description] = field(default_factory=dict)
    result: ImportResult = field(default_factory=ImportResult)
    skipped: list[Path] = field(default_factory=list)
    recipes: dict[Path, Recipe] = field(default_factory=dict)
    first: dict[Path, list[dict[str, Any]]] = field(default_factory=dict)


def read_export(source: Path, options: Options) -> Export:
    """Read a file, or every file with a known ending in a folder and its subfolders; containers are read inside.

    An unreadable file of a folder is quarantined whole.

    :raises CorpusError: if nothing can be read, or an option does not fit.
    """
    with Unpacking(table=options.table) as unpacking:
        try:
            export = _read(source, options, unpacking)
        except CorpusError as error:
            raise CorpusError(unpacking.shown(str(error))) from error
        export.descriptions = {Path(unpacking.shown(str(path))): said for path, said in export.descriptions.items()}
        export.skipped = [Path(unpacking.shown(str(path))) for path in export.skipped]
        export.result.relocate(unpacking.shown)
        return export


def _read(source: Path, options: Options, unpacking: Unpacking) -> Export:
    inside = unpacking.open(source)
    pieces = [path for path in inside.rglob("*") if path.is_file()] if inside.is_dir() else [inside]
    # A container with a single file inside is read as that file, under the container's name.
    if not inside.is_dir() or (inside != source and len(pieces) == 1):
        export, groups = Export(source), Groups()
        export.descriptions[pieces[0]] = _read_file(pieces[0], options, export.result, groups, stem(source))
        from_rows(groups, export.result)
        return export
    export = Export(inside)
    visible = sorted(path for path in pieces if not _is_hidden(path.relative_to(inside)))
    files = [path for path in visible if ending(path) in (*ENDINGS, *CONTAINERS)]
    export.skipped = [path for path in visible if path not in set(files)]
    if not files:
        raise CorpusError(
            f"{source} holds no file to import; expected files that end in {', '.join(ENDINGS)}. "
            "Name a file, or another folder."
        )
    errors: list[CorpusError] = []
    # The deepest folders first: their recipes tell which files above them hold no turns.
    for folder in sorted({path.parent for path in files}, key=lambda folder: (-len(folder.parts), folder)):
        errors += _read_folder([path for path in files if path.parent == folder], options, export, unpacking)
    if len(errors) == len(files):
        raise errors[0]
    export.source = source
    return export


def _pieces(path: Path, unpacking: Unpacking) -> list[Path]:
    """Return the files to read in place of a file of a folder: those in a container, or the file itself."""
    inside = unpacking.open(path) if ending(path) in CONTAINERS else path
    return sorted(piece for piece in inside.rglob("*") if piece.is_file()) if inside.is_dir() else [inside]


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _read_folder(files: list[Path], options: Options, export: Export, unpacking: Unpacking) -> list[CorpusError]:
    """Read the files of a folder, whose dialogues may span files, and return the errors of unreadable ones."""
    whole = export.result
    groups: Groups = {}
    errors: dict[Path, CorpusError] = {}
    parts: dict[Path, tuple[ImportResult, Groups]] = {}
    for path in files:
        parts[path] = result, more = ImportResult(), Groups()
        name = str(path.parent.relative_to(export.source) / stem(path))
        try:
            for piece in _pieces(path, unpacking):
                below = f"{name}/{stem(piece)}" if piece != path else name
                export.descriptions[piece] = _read_file(piece, options, result, more, below)
        except CorpusError as error:
            errors[path] = error
    for path in _side_files(files, export):
        export.skipped.append(path)
        export.descriptions.pop(path, None)
        errors.pop(path, None)
        del parts[path]
    for path, (result, more) in parts.items():
        if path in errors:
            whole.quarantine.append(Quarantined(Origin(str(path), 0), "", str(errors[path])))
            continue
        whole.rows += result.rows
        whole.blank += result.blank
        whole.repeated += result.repeated
        whole.left_out.update(result.left_out)
        whole.speakers |= result.speakers
        whole.unread.update(result.unread)
        whole.notes |= result.notes
        whole.dialogues += result.dialogues
        whole.quarantine += result.quarantine
        merge(groups, more, whole)
    from_rows(groups, whole)
    return list(errors.values())


def _side_files(files: list[Path], export: Export) -> list[Path]:
    """Return the files of a folder that hold no turns by the recipe of a file in it or in a folder below."""
    recipes = (known_recipes().get(description.recipe) for description in export.descriptions.values())
    names = {name for recipe in recipes if recipe for name in recipe.side_files}
    return [path for path in files if path.name in names]


def _read_file(path: Path, options: Options, result: ImportResult, groups: Groups, name: str) -> Description:
    """Read one file: its dialogues into the result, its rows into the groups.

    :param name: Prefix of the ids of dialogues without an id.
    """
    if options.format == "parquet" or (options.format is None and is_parquet(path)):
        return _read_records(path, read_parquet(path), options, result, groups, Description("parquet"), name)
    encoding = find_encoding(path, given=options.encoding)
    form = options.format or find_format(path, encoding)
    recipe = _text_recipe(path, encoding, options) if form in ("text", "tsv") else None
    if recipe and (form == "text" or not recipe.has):
        return _read_lines(path, encoding, recipe, options, result, name)
    if form in ("text", "vtt", "srt"):
        return _read_scripts(path, encoding, form, options, result, name)
    delimiter, notes = "", tuple[str, ...]()
    if form in ("csv", "tsv"):
        delimiter = named_delimiter(options.delimiter) if options.delimiter else find_delimiter(path, encoding)
        titles = find_header(path, encoding, delimiter) if options.header else 0
        quoted = not is_unquoted(path, encoding, delimiter)
        records = read_table(path, encoding, delimiter, header=options.header, titles=titles, quoted=quoted)
        notes = (f"title lines above the names of the columns are left out: {titles}",) if titles else ()
        notes += () if quoted else ("its quotes are plain characters, not signs around cells",)
    elif form == "jsonl":
        records = read_json_lines(path, encoding)
    else:
        outlined = outline(path, encoding)
        found = recipe_of_json(outlined) if _looks_for_recipe(options) else None
        records = read_json_records(path, encoding, found[1] if found else find_list(outlined, options))
    shown = DELIMITERS.get(delimiter, repr(delimiter) if delimiter else "")
    description = Description(form, str(encoding), shown, notes=notes)
    return _read_records(path, records, options, result, groups, description, name)


def _looks_for_recipe(options: Options) -> bool:
    """Return whether a recipe may be chosen: the user names none, nor the turns, which would be another reading."""
    return options.recipe is None and options.turns is None


def _text_recipe(path: Path, encoding: Encoding, options: Options) -> Recipe | None:
    if options.recipe:
        return None if options.recipe == "none" else load_recipe(options.recipe)
    if options.named:
        return None
    with open_text(path, encoding) as text:
        return recipe_of_lines("".join(islice(text, HEAD_LINES)))


def _read_lines(
    path: Path, encoding: Encoding, recipe: Recipe, options: Options, result: ImportResult, name: str
) -> Description:
    reader = LineReader(recipe, name=name, keep=options.keep)
    with open_text(path, encoding) as text:
        records = list(reader.read(text.read()))
    if not records:
        raise CorpusError(
            f"{path} has no turn in the form of {recipe.title} (recipe {recipe.name}). Use another --recipe, or "
            "--recipe none to guess."
        )
    from_records(records, columns_of(recipe), source=str(path), name=name, result=result)
    result.left_out.update(reader.left_out)
    if reader.ambiguous:
        result.notes[AMBIGUOUS] = None
    notes = (f"lines that belong to no turn are left out: {reader.unused}",) if reader.unused else ()
    return Description(recipe.title, str(encoding), recipe=recipe.name, notes=notes)


def _read_scripts(
    path: Path, encoding: Encoding, form: str, options: Options, result: ImportResult, name: str
) -> Description:
    if options.named:
        raise CorpusError(
            f"{path} is read as {form}, which has no columns, and --{next(iter(options.named))} names one. "
            "Leave it out, or give the format of the file by --format."
        )
    scripts = read_plain_text(path, encoding) if form == "text" else iter([read_captions(path, encoding)])
    unused = from_scripts(scripts, source=str(path), name=name, result=result)
    notes = (f"lines that belong to no turn (before the first speaker, clocks, or notices) are left out: {unused}",)
    return Description(form, str(encoding), notes=notes if unused else ())


def _changed(records: Iterable[Record], change: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[Record]:
    return (record._replace(values=change(record.values)) for record in records)


def _once(records: Iterable[Record], recipe: Recipe, result: ImportResult) -> Iterator[Record]:
    """Yield the records of single turns without those that are equal to the letter to an earlier one, time included."""
    contents: set[int] = set()
    for record in records:
        if recipe.turns is None and recipe.time and not record.problem and recipe.time(record.values):
            content = hash(repr(record.values))
            if content in contents:
                result.repeated += 1
                continue
            contents.add(content)
        yield record


def _guessed(
    usable: list[dict[str, Any]], records: Iterable[Record], options: Options, path: Path, result: ImportResult
) -> tuple[list[dict[str, Any]], Iterable[Record], Columns, tuple[str, ...]]:
    """Return first and all records in the form in which they are read, their columns, and sentences for the summary."""
    names = list(dict.fromkeys(name for values in usable for name in values))
    for change in filter(None, (turns_of_columns(names), unfolding(usable), unquoting(usable))):
        usable, records = list(map(change, usable)), _changed(records, change)
    columns, notes = find_columns(usable, options, path), tuple[str, ...]()
    if branch := branching(usable, columns.turns, result.left_out):
        records = _changed(records, branch)
    if above := headings(usable, columns.meanings) if not columns.turns else 0:
        records, usable = islice(records, above, None), usable[above:]
        columns, notes = find_columns(usable, options, path), (f"{HEADINGS}: {above}",)
    return usable, records, columns, notes


def _read_records(
    path: Path,
    records: Iterator[Record],
    options: Options,
    result: ImportResult,
    groups: Groups,
    description: Description,
    name: str,
) -> Description:
    mending, selection = Mending(), Selection(options)
    sample, rest = mending.all(selection.apply(records), first=SAMPLE)
    usable = [record.values for record in sample if not record.problem]
    if not usable:
        first = f"; the first problem is on line {sample[0].line}: {sample[0].problem}" if sample else ""
        raise CorpusError(
            f"{path} has no row or record that can be read{first}. Expected dialogues, or rows of turns. "
            "Export it again, or correct --format, --encoding or --delimiter."
        )
    every: Iterable[Record] = counted(chain(sample, rest), "rows")
    reader = None
    if options.recipe not in (None, "none"):
        reader = RecordReader(load_recipe(options.recipe or ""), name=name, keep=options.keep)
    elif _looks_for_recipe(options) and (recipe := recipe_of_records(usable)):
        require_one_meaning(options, tuple(options.named), path)
        reader = RecordReader(recipe.replaced(options), name=name, keep=options.keep)
    if reader:
        every = reader.read(_once(every, reader.recipe, result))
        columns = columns_of(reader.recipe)
    else:
        usable, every, columns, notes = _guessed(usable, every, options, path, result)
        description = replace(description, notes=description.notes + notes)
    if columns.turns:
        from_records(every, columns, source=str(path), name=name, result=result)
    else:
        groups.update(group_rows(every, columns, source=str(path), name=name, result=result))
    if selection.dropped:
        result.left_out["dropped"] += selection.dropped
    if reader:
        result.left_out.update(reader.left_out)
        return replace(description, recipe=reader.recipe.name, notes=description.notes + mending.notes())
    names = dict.fromkeys(name for values in usable for name in values)
    inside = columns.meanings
    unused = tuple(name for name in names if name not in inside)
    return replace(
        description, columns=columns, unused=unused, notes=description.notes + columns.notes + mending.notes()
    )
