"""Read an export, a file or a folder: its dialogues, and a description of each file."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tqdm.auto import tqdm

from conversations.by_recipe.known import known_recipes
from conversations.by_recipe.recognising import Recognised
from conversations.dialogue import Dialogue, Origin, Quarantined, read_dialogues
from conversations.errors import CorpusError
from conversations.formats.addresses import as_address, shown_source
from conversations.formats.containers import Unpacking
from conversations.formats.formats import CONTAINERS, ENDINGS, MAILS, READABLE, XML, ending, is_program, stem
from conversations.guessing.names import columns_in
from conversations.kept import KeptReading
from conversations.one_file import FileReader
from conversations.options import Options
from conversations.pauses import NIGHT, cut_endless
from conversations.progress import bar_of, moving
from conversations.result import Description, ImportResult, Tally
from conversations.rows import Groups, from_rows, merge
from conversations.selection import require_used
from conversations.writing import Places, nothing_usable, quarantine_known_ids

# File by which a folder is a collection (`dial2vec.collection`).
COLLECTION = "collection.json"
# Names of files that describe the files beside them.
READ_ME = re.compile(r"read[ _-]?me.*|licen[cs]e.*|liesmich.*|l[ie]e?me", re.IGNORECASE)


@dataclass
class Export:
    """An export that was read.

    :param source: File or folder.
    :param files: Files that were read, each with its reader.
    :param result: Dialogues and quarantine.
    :param skipped: Files of a folder without a known ending.
    :param spread: Rows of dialogues that may go on in other folders.
    :param tally: Counts of dialogues that are in a file already and not in the result; None if they are in the result.
    :param cut: Note that chats of months are cut though the user named no pause; "" if they are not.
    """

    source: Path
    files: dict[Path, FileReader] = field(default_factory=dict)
    result: ImportResult = field(default_factory=ImportResult)
    skipped: list[Path] = field(default_factory=list)
    spread: Groups = field(default_factory=dict)
    tally: Tally | None = None
    cut: str = ""

    @property
    def descriptions(self) -> dict[Path, Description]:
        """Description of each file."""
        return {path: file.description for path, file in self.files.items()}

    @property
    def readings(self) -> list[KeptReading]:
        """The different ways in which the files were read."""
        return list(dict.fromkeys(kept for file in self.files.values() if (kept := file.kept_as)))


def read_export(source: Path, options: Options, kept: Sequence[KeptReading] = ()) -> Export:
    """Read a file, or every file with a known ending in a folder and its subfolders; containers are read inside.

    An unreadable file of a folder is quarantined whole.

    :param kept: Readings of earlier files of the corpus, of which one has to fit each file; () accepts any.
    :raises CorpusError: if nothing can be read, or an option does not fit.
    """
    reading = moving(bar_of("rows", doing=f"reading {stem(source)}"))
    with reading as bar, TemporaryDirectory(prefix="dial2vec-import-") as folder:
        unpacking = Unpacking(Path(folder), table=options.table)
        try:
            export = _read(source, options, kept, unpacking, bar)
        except CorpusError as error:
            refused = CorpusError(unpacking.shown(str(error)))
            refused.reader = error.reader
            raise refused from error
        if not options.parts and (note := cut_endless(export.result)):
            export.cut = note
            for reader in export.files.values():
                # The next file of the corpus is cut in the same way, however short it is.
                reader.kept_as = reader.kept_as and replace(reader.kept_as, options=replace(options, pause=NIGHT))
        for path in export.files.keys() & unpacking.tables.keys():
            reader, whole = export.files[path], unpacking.tables[path]
            reader.description = replace(reader.description, format=whole, encoding="", delimiter="")
        export.result.notes |= dict.fromkeys(unpacking.notes)
        export.files = {Path(unpacking.shown(str(path))): file for path, file in export.files.items()}
        for path, file in export.files.items():
            kind = "XML" if ending(path) in XML else "mails" if ending(path) in MAILS else file.description.format
            file.description = replace(file.description, format=kind)
        export.skipped = [Path(unpacking.shown(str(path))) for path in export.skipped]
        export.result.relocate(unpacking.shown)
        readers = export.files.values()
        columns = columns_in(values for reader in readers for values in reader.first)
        require_used([reader.selection for reader in readers], source, columns)
        return export


def _read(source: Path, options: Options, kept: Sequence[KeptReading], unpacking: Unpacking, bar: tqdm[Any]) -> Export:
    # An archive may hold a folder of mails.
    inside = unpacking.open(unpacking.open(source))
    pieces = _files_in(inside)
    if inside != source and len(pieces) == 1 and ending(pieces[0]) in CONTAINERS:
        # An archive in an archive, but no deeper.
        inside = unpacking.open(pieces[0])
        pieces = _files_in(inside)
    # A container with a single file inside is read as that file, under the container's name.
    if not inside.is_dir() or (inside != source and len(pieces) == 1):
        export = Export(source)
        reader = FileReader(pieces[0], stem(source), options, kept, export.result, seen=bar.update)
        export.files[pieces[0]] = reader
        reader.read()
        from_rows(reader.groups, export.result)
        return export
    export = Export(inside)
    visible = sorted(p for p in pieces if not any(part.startswith(".") for part in p.relative_to(inside).parts))
    files = [path for path in visible if ending(path) in (*ENDINGS, *CONTAINERS) and not is_program(path)]
    if len(files) > 1:
        files = [path for path in files if not READ_ME.fullmatch(path.stem)]
    export.skipped = [path for path in visible if path not in set(files)]
    if not files:
        raise CorpusError(
            f"{source} holds no file to import; expected {READABLE} (docs/import.md lists the endings). Name a "
            "file, or another folder."
        )
    errors: list[CorpusError] = []
    bar.unit, bar.total = " files", len(files)
    # The deepest folders first: their recipes tell which files above them hold no turns.
    for folder in sorted({path.parent for path in files}, key=lambda folder: (-len(folder.parts), folder)):
        inside_it = [path for path in files if path.parent == folder]
        errors += _read_folder(inside_it, options, kept, export, unpacking, bar)
    if errors and not export.files:
        raise errors[0]
    from_rows(export.spread, export.result)
    if options.parts:
        export.result.join_parts()
    export.source = source
    return export


def _files_in(path: Path) -> list[Path]:
    """Return the files of a folder, or the file itself; collections of dial2vec, such as those of `look`, are none."""
    if not path.is_dir():
        return [path]
    files = [file for file in path.rglob("*") if file.is_file()]
    collections = {file.parent for file in files if file.name == COLLECTION}
    return [file for file in files if collections.isdisjoint(file.parents)]


def _pieces(path: Path, unpacking: Unpacking) -> list[Path]:
    """Return the files to read in place of a file of a folder: those in a container, or the file itself."""
    inside = unpacking.open(path) if ending(path) in CONTAINERS else path
    return sorted(piece for piece in inside.rglob("*") if piece.is_file()) if inside.is_dir() else [inside]


def _read_folder(
    files: list[Path],
    options: Options,
    kept: Sequence[KeptReading],
    export: Export,
    unpacking: Unpacking,
    bar: tqdm[Any],
) -> list[CorpusError]:
    """Read the files of a folder, whose dialogues may span files, and return the errors of unreadable ones."""
    whole = export.result
    groups: Groups = {}
    recognised = Recognised()
    errors: dict[Path, CorpusError] = {}
    readers: dict[Path, FileReader] = {}
    for path in files:
        name = str(path.parent.relative_to(export.source) / stem(path))
        try:
            pieces = _pieces(path, unpacking)
        except CorpusError as error:
            errors[path], pieces = error, []
        for piece in pieces:
            below = f"{name}/{stem(piece)}" if piece != path else name
            reader = FileReader(piece, below, options, kept, recognised=recognised)
            try:
                reader.read()
                readers[piece] = reader
            except CorpusError as error:
                errors[piece] = error
        bar.update(1)
    export.files |= readers
    for path in _side_files(files, export):
        export.skipped.append(path)
        export.files.pop(path, None)
        readers.pop(path, None)
        errors.pop(path, None)
    whole.quarantine += [Quarantined(Origin(str(path), 0), "", str(error)) for path, error in errors.items()]
    for reader in readers.values():
        whole.add(reader.result)
        merge(groups, reader.groups, whole)
    for name in [name for name, group in groups.items() if group.spans == "folders"]:
        merge(export.spread, {name: groups.pop(name)}, whole)
    from_rows(groups, whole)
    return list(errors.values())


def _side_files(files: list[Path], export: Export) -> list[Path]:
    """Return the files of a folder that hold no turns by the recipe of a file in it or in a folder below."""
    recipes = (known_recipes().get(description.recipe) for description in export.descriptions.values())
    names = {name for recipe in recipes if recipe for name in recipe.side_files}
    return [path for path in files if path.name in names]


def read(source: str | Path, *, options: Options | None = None) -> list[Dialogue]:
    """Read an export, a file or a folder, as `dial2vec import` does; warn if a part of it cannot be used.

    :param source: Any export that `dial2vec import` reads, or a JSON Lines file of dialogues.
    :param options: Overrides for the guesses about the export, such as `Options(text="message")`.
    :return: Dialogues with unique ids.
    :raises CorpusError: if the export cannot be read, or has no usable dialogue.
    """
    path = Path(source)
    quarantine: list[Quarantined] = []
    if options is None and holds_dialogues(path):
        dialogues = list(read_dialogues(path, quarantine=quarantine))
    else:
        export = read_export(path, options or Options())
        result = export.result
        if export.cut:
            warnings.warn(f"{shown_source(path)}: {export.cut.replace('--pause 0', 'Options(pause=0)')}.", stacklevel=2)
        quarantine_known_ids(result, Places(Path.cwd(), "", path, file=path))
        dialogues, quarantine = result.dialogues, result.quarantine
    if not dialogues:
        raise nothing_usable(path, quarantine)
    if quarantine:
        name = shown_source(path)
        warnings.warn(
            f"{len(quarantine)} dialogues or records of {name} cannot be used and are left out, the first: "
            f"{quarantine[0]}. `dial2vec import {name} --output FILE.jsonl` lists all with reasons.",
            stacklevel=2,
        )
    return dialogues


def holds_dialogues(path: Path) -> bool:
    """Return whether a path is a JSON Lines file whose first line is a dialogue."""
    # JSON may be a single line of hundreds of megabytes.
    if as_address(path) or not path.is_file() or path.suffix.lower() == ".json":
        return False
    try:
        next(read_dialogues(path))
    except CorpusError:
        return False
    return True
