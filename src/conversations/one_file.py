"""Read one file of an export: recognise its format and its recipe, or guess its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from conversations.assembling import from_records, from_scripts
from conversations.by_recipe.draft import drafted, further_columns
from conversations.by_recipe.expressions import PATH, Finder, of_column
from conversations.by_recipe.known import load_recipe
from conversations.by_recipe.meanings import fields_around
from conversations.by_recipe.other_forms import without_others
from conversations.by_recipe.recipe import Recipe, recipe_from_keys
from conversations.by_recipe.recipe_lines import LineReader
from conversations.by_recipe.recipe_records import RecordReader, is_whole
from conversations.by_recipe.recognising import (
    NOWHERE,
    Recognised,
    completed,
    recipe_of_json,
    recipe_of_lines,
)
from conversations.errors import CorpusError
from conversations.formats.captions import read_captions
from conversations.formats.encodings import Encoding, find_encoding, open_text
from conversations.formats.formats import HEAD_LINES, find_format, find_list, is_parquet
from conversations.formats.logs import read_named_values, read_vertical
from conversations.formats.markup import repaired
from conversations.formats.plain_text import read_plain_text
from conversations.formats.records import (
    SHOWN,
    Record,
    outline,
    read_json_lines,
    read_json_records,
    read_json_table,
    rows_below_names,
    rows_of_columns,
)
from conversations.formats.spans import are_spans, unfolded
from conversations.formats.table_parts import PARTS, are_parted, in_parts, lines_outside, without_names
from conversations.formats.tables import (
    BARS,
    DELIMITERS,
    find_delimiter,
    find_header,
    is_unquoted,
    named_delimiter,
    read_parquet,
    read_table,
)
from conversations.formats.wrappers import unwrapped, without_wrappers
from conversations.guessing.columns import NO_ORDER, ONE_DIALOGUE, Columns, find_columns
from conversations.guessing.evidence import headings
from conversations.guessing.plausibility import require_one_meaning
from conversations.guessing.reshaping import BESIDE_LISTS, STEPS, WITHOUT_RECIPE, Reshaping
from conversations.kept import KeptReading, fitting
from conversations.options import Options
from conversations.result import AMBIGUOUS, Description, ImportResult
from conversations.rows import Groups, group_rows
from conversations.selection import Selection

# Number of first records by which columns are found; ids repeat among so many even if dialogues are mixed.
SAMPLE = 2000
# Number of names by which a form of records is told.
FORM = 4
# Number of first records that an explanation shows.
EXPLAINED = 3
HEADINGS = "rows below the names of the columns that hold further headings are left out"
NO_RECIPE = "none"
# Readers of texts whose lines are rows, or columns of rows.
ROWS = {"rows": read_vertical, "log": read_named_values}
# Rows after which their number is shown.
STEP = 100
# Kind of the rows and turns that the user does not choose, among those left out.
DROPPED = "dropped"


@dataclass
class FileReader:
    """Reads one file.

    :param name: Prefix of the ids of dialogues without an id.
    :param kept: Readings of earlier files of the corpus, of which one has to fit; () accepts any.
    :param result: Dialogues of records and transcripts, and counts.
    :param groups: Rows by dialogue, which may go on in other files.
    :param recognised: Recipes of earlier files of the folder.
    :param seen: Function that is called with numbers of rows that were read; the default does nothing.
    :param recipe: Recipe that was used; None if the columns were guessed.
    :param draft: Keys of the recipe that was drafted from guessed columns.
    :param kept_as: Reading for the next file of the corpus.
    :param description: Description of the file, once it is read.
    """

    path: Path
    name: str
    options: Options
    kept: Sequence[KeptReading] = ()
    result: ImportResult = field(default_factory=ImportResult)
    groups: Groups = field(default_factory=dict)
    recognised: Recognised = field(default_factory=Recognised)
    seen: Callable[[int], object] = bool
    recipe: Recipe | None = None
    first: list[dict[str, Any]] = field(default_factory=list)
    draft: dict[str, Any] = field(default_factory=dict)
    kept_as: KeptReading | None = None
    description: Description = field(default_factory=Description)

    def __post_init__(self) -> None:
        self.selection = Selection(self.options)

    def read(self) -> None:
        """Read the file, and describe how.

        :raises CorpusError: if it cannot be read, or an option does not fit.
        """
        try:
            self.description = self._read()
        except CorpusError as error:
            error.reader = self
            raise

    def _read(self) -> Description:
        options, path = self.options, self.path
        if options.format == "parquet" or (options.format is None and is_parquet(path)):
            return self._read_records(read_parquet(path), Description("parquet"))
        encoding = find_encoding(path, given=options.encoding)
        form = options.format or find_format(path, encoding)
        # As far as it is known, if the file is refused.
        self.description = Description(form, str(encoding))
        recipe = self._text_recipe(encoding) if form in ("text", "tsv") else None
        if recipe and (form == "text" or not recipe.has):
            return self._read_lines(encoding, recipe)
        if form in ("text", "vtt", "srt"):
            return self._read_scripts(encoding, form)
        if form in ("csv", "tsv"):
            return self._read_table(encoding, form)
        if form in ROWS:
            return self._read_records(ROWS[form](path, encoding), Description(form, str(encoding)))
        if form == "jsonl":
            lines = self._unwrapped(read_json_lines(path, encoding))
            return self._read_records(lines, Description(form, str(encoding)))
        return self._read_json(encoding, form)

    def _read_json(self, encoding: Encoding, form: str) -> Description:
        options, path = self.options, self.path
        outlined = outline(path, encoding)
        if not options.turns and rows_below_names(outlined):
            return self._read_records(read_json_table(path, encoding), Description(form, str(encoding)))
        under = self._place_of(outlined)
        if under is NOWHERE and not options.turns:
            outlined = without_wrappers(outlined)
            under = self.recognised.of_json(outlined) if self._looks_for_recipe() else NOWHERE
            if under is NOWHERE and rows_of_columns(outlined):
                return self._read_records(read_json_table(path, encoding), Description(form, str(encoding)))
        under = find_list(outlined, options) if under is NOWHERE else under
        description = Description(form, str(encoding), unused=fields_around(outlined, under))
        return self._read_records(self._unwrapped(read_json_records(path, encoding, under)), description)

    def _place_of(self, outlined: Any) -> tuple[str, ...] | None:
        """Return the keys that lead to the records in a JSON file by the recipe that is named or fits."""
        if not self.options.turns and are_spans(outlined[0] if outlined and isinstance(outlined, list) else outlined):
            return () if isinstance(outlined, list) else None
        if recipe := self._named_recipe():
            recognised = recipe_of_json(outlined, [recipe])
            return recognised[1] if recognised else NOWHERE
        return self.recognised.of_json(outlined) if self._looks_for_recipe() else NOWHERE

    def _unwrapped(self, records: Iterator[Record]) -> Iterator[Record]:
        """Return the records without wrappers, unless a recipe or the named turns need them as they are."""
        first = list(islice(records, SHOWN))
        known: object = self._named_recipe() or self._finds_turns(first)
        known = known or any(are_spans(record.values) for record in first)
        if self._looks_for_recipe() and not known:
            known = self.recognised.of_records([r.values for r in first if not r.problem])
        records = chain(first, records)
        return records if known else unwrapped(records)

    def _finds_turns(self, first: Sequence[Record]) -> bool:
        """Return whether records have the turns that the user names; wrapped ones may have them further inside."""
        name = self.options.turns or ""
        path = Finder(name if PATH.fullmatch(name) else of_column(name))
        return bool(name) and any(path(record.values) for record in first)

    def _read_table(self, encoding: Encoding, form: str) -> Description:
        options, path = self.options, self.path
        delimiter = named_delimiter(options.delimiter) if options.delimiter else find_delimiter(path, encoding)
        *titles, names = (find_header(path, encoding, delimiter) if options.header else ()) or [[]]
        quoted = not is_unquoted(path, encoding, delimiter)
        records = read_table(path, encoding, delimiter, header=options.header, titles=len(titles), quoted=quoted)
        notes: tuple[str, ...] = (
            (f"title lines above the names of the columns are left out: {len(titles)}",) if titles else ()
        )
        notes += () if quoted else ("its quotes are plain characters, not signs around cells",)
        shown = DELIMITERS.get(delimiter, repr(delimiter))
        if delimiter in BARS and (left := lines_outside(path, encoding, delimiter)):
            notes += (f"lines outside the table are left out: {left}",)
        if names and not options.named and are_parted(path, encoding, names, delimiter):
            notes = (*notes[bool(titles) :], PARTS)
            records = in_parts(records, [", ".join(filter(None, title)) for title in titles], self.name)
        else:
            records = without_names(records, self.result)
        return self._read_records(records, Description(form, str(encoding), shown, notes=notes))

    def _looks_for_recipe(self) -> bool:
        """Return whether a recipe may be chosen: the user names none, nor the turns, which would be another reading."""
        return self.options.recipe is None and self.options.turns is None

    def _named_recipe(self) -> Recipe | None:
        """Return the recipe that the user names."""
        name = self.options.recipe
        return None if name in (None, NO_RECIPE) else load_recipe(name)

    def _text_recipe(self, encoding: Encoding) -> Recipe | None:
        if self.options.recipe or self.options.named:
            return self._named_recipe()
        with open_text(self.path, encoding) as text:
            return recipe_of_lines("".join(islice(text, HEAD_LINES)))

    def _require_no_column(self, form: str) -> None:
        if self.options.named:
            raise CorpusError(
                f"{self.path} is read as {form}, which has no columns, and --{next(iter(self.options.named))} names "
                "one. Leave it out, or give the format of the file by --format."
            )

    def _read_lines(self, encoding: Encoding, recipe: Recipe) -> Description:
        self._require_no_column("text")
        reader = LineReader(recipe, name=self.name, keep=self.options.keep)
        self._keep(KeptReading(recipe=recipe.name))
        with open_text(self.path, encoding) as text:
            records = list(reader.read(text.read()))
        if not records:
            raise CorpusError(
                f"{self.path} has no turn in the form of {recipe.title} (recipe {recipe.name}). Use another --recipe, "
                f"or --recipe {NO_RECIPE} to guess."
            )
        self.recipe = recipe
        from_records(records, recipe, self.options, source=str(self.path), result=self.result)
        self.result.left_out.update(reader.left_out)
        if reader.ambiguous:
            self.result.notes[AMBIGUOUS] = None
        notes = (f"lines that belong to no turn are left out: {reader.unused}",) if reader.unused else ()
        return Description("text", str(encoding), recipe=recipe.name, notes=notes)

    def _read_scripts(self, encoding: Encoding, form: str) -> Description:
        self._require_no_column(form)
        self._keep(KeptReading(form=form))
        scripts = read_plain_text(self.path, encoding) if form == "text" else iter([read_captions(self.path, encoding)])
        unused = from_scripts(scripts, self.options, source=str(self.path), name=self.name, result=self.result)
        note = f"lines that belong to no turn (before the first speaker, clocks, or notices) are left out: {unused}"
        return Description(form, str(encoding), notes=(note,) if unused else ())

    def _read_records(self, records: Iterator[Record], description: Description) -> Description:
        self.description, selection = description, self.selection
        records = records if self.options.turns else unfolded(records)
        sample, rest, repairs = repaired(selection.apply(records), first=SAMPLE)
        usable = [record.values for record in sample if not record.problem]
        if not usable and selection.dropped:
            raise CorpusError(
                f"{self.path} has no row or record that --where and --drop leave: {selection.dropped} rows or turns "
                "miss the conditions. Correct the conditions; texts are compared to the letter."
            )
        if not usable:
            first = f" that can be read: line {sample[0].line} is {sample[0].problem}" if sample else ""
            option = "--delimiter" if description.delimiter else "--format"
            raise CorpusError(
                f"{self.path} has no row or record{first}; expected dialogues, or rows of turns. Export it "
                f"again{f', or correct {option}' if sample else ''}."
            )
        self.first = usable[:EXPLAINED]
        every: Iterable[Record] = self._counted(chain(sample, rest))
        reshaping = Reshaping(usable, every, self.options.named, self.name)
        if self._looks_for_recipe():
            reshaping.apply(BESIDE_LISTS)
        recipe = self._known_recipe(reshaping)
        notes = description.notes + (reshaping.notes if recipe and not recipe.reshape else ())
        columns: Columns | None = None
        if recipe is None:
            columns, more = self._guessed(reshaping)
            self.draft = drafted(columns, steps=reshaping.done, paths=selection.paths)
            recipe, notes = (
                recipe_from_keys(self.draft | {"title": "", "source": ""}, "", where=str(self.path)),
                notes + more,
            )
        # Rows of which most others have ids are one dialogue here, as in a recipe for logs of one conversation.
        elif recipe.id and not recipe.turns and not any(map(recipe.id, reshaping.sample)):
            notes += (ONE_DIALOGUE,)
        others: dict[frozenset[str], list[Record]] = {}
        if is_whole(recipe) and self._looks_for_recipe() and not self.options.named:
            reshaping.records = without_others(reshaping.records, recipe, reshaping.sample, others)
        notes += self._assembled(reshaping.records, recipe) + self._read_others(others)
        if selection.dropped:
            self.result.left_out[DROPPED] += selection.dropped
        left = description.unused + self.recognised.unused(reshaping.sample, recipe)
        if columns is None:
            notes += (NO_ORDER,) if _lacks_order(recipe, reshaping.sample) else ()
            return replace(description, recipe=recipe.name, unused=left, notes=notes + repairs)
        return replace(description, columns=columns, unused=left, notes=notes + columns.notes + repairs)

    def _counted(self, records: Iterable[Record]) -> Iterator[Record]:
        for number, record in enumerate(records, start=1):
            if not number % STEP:
                self.seen(STEP)
            yield record

    def _assembled(self, records: Iterable[Record], recipe: Recipe) -> tuple[str, ...]:
        """Read all records by a recipe, and return notes."""
        reader = RecordReader(recipe, name=self.name, keep=self.options.keep)
        before, plain = self.result.rows, reader.read(records)
        if is_whole(recipe):
            from_records(plain, recipe, self.options, source=str(self.path), result=self.result)
        else:
            source, name = str(self.path), self.name
            self.groups.update(group_rows(plain, recipe, self.options, source=source, name=name, result=self.result))
        # Non-speech rows were read, too.
        self.result.rows = before + reader.rows
        self.result.left_out.update(reader.left_out)
        self.result.varying.update(reader.varying)
        self.result.repeated += reader.repeated
        return (f"records without a dialogue are left out: {reader.skipped}",) if reader.skipped else ()

    def _read_others(self, others: dict[frozenset[str], list[Record]]) -> tuple[str, ...]:
        """Read records of other forms in their own ways, and return notes."""
        notes: tuple[str, ...] = ()
        for number, (names, records) in enumerate(others.items(), start=2):
            form = f"another form (keys {', '.join(sorted(names)[:FORM])})"
            reader = FileReader(self.path, f"{self.name}-form{number}", self.options, recognised=self.recognised)
            try:
                read = reader._read_records(iter(records), Description())
            except CorpusError:
                for record in records:
                    self.result.refuse(str(self.path), record.line, "", f"it has {form}, which cannot be read")
                continue
            known = {dialogue.dialogue_id for dialogue in self.result.dialogues}
            for dialogue in (item for item in reader.result.dialogues if item.dialogue_id in known):
                self.result.refuse(str(self.path), records[0].line, dialogue.dialogue_id, "the id came before")
            reader.result.dialogues[:] = [item for item in reader.result.dialogues if item.dialogue_id not in known]
            self.result.add(reader.result)
            self.groups.update(reader.groups)
            way = f"the recipe {read.recipe}" if read.recipe else "their columns"
            notes += (f"records of {form} are read by {way}: {len(records)}",)
        return notes

    def _known_recipe(self, reshaping: Reshaping) -> Recipe | None:
        """Return the recipe that the user names or that fits; None if the columns have to be guessed."""
        options, recipe = self.options, self._named_recipe()
        if recipe:
            reshaping.apply({name: STEPS[name] for name in recipe.reshape})
        elif self._looks_for_recipe() and (recipe := self.recognised.of_records(reshaping.sample)):
            recipe, notes = completed(recipe, reshaping.sample)
            reshaping.notes += notes
        if not recipe:
            return None
        require_one_meaning(options, tuple(options.named), self.path)
        self.recipe = recipe.replaced(options, {name for values in reshaping.sample for name in values})
        self._keep(KeptReading(recipe=self.recipe.name))
        return self.recipe

    def _guessed(self, reshaping: Reshaping) -> tuple[Columns, tuple[str, ...]]:
        """Return the columns of the records in the form in which they are read, and notes."""
        reshaping.apply(WITHOUT_RECIPE)
        notes, known = reshaping.notes, fitting(self.kept, reshaping.sample)
        columns = known or find_columns(reshaping.sample, self.options, self.path)
        if above := headings(reshaping.sample, columns.meanings) if not columns.turns else 0:
            reshaping.records, reshaping.sample = islice(reshaping.records, above, None), reshaping.sample[above:]
            columns = known or find_columns(reshaping.sample, self.options, self.path)
            notes += (f"{HEADINGS}: {above}",)
        if not known:
            columns = replace(columns, metadata=further_columns(reshaping.sample, columns))
        self._keep(KeptReading(columns=columns))
        return columns, notes

    def _keep(self, reading: KeptReading) -> None:
        """Remember how the file is read.

        :raises CorpusError: if earlier files of the corpus were read in other ways.
        """
        if self.kept and reading.way not in [kept.way for kept in self.kept]:
            known = " or ".join(dict.fromkeys(str(kept) for kept in self.kept))
            raise CorpusError(
                f"{self.path} does not fit the way in which this corpus was read so far: {known}. Export it as before, "
                "or import it by hand with --new-reading."
            )
        self.kept_as = replace(reading, options=self.options)


def _lacks_order(recipe: Recipe, sample: Sequence[dict[str, Any]]) -> bool:
    """Return whether rows of turns stand in no order but their own, which a tool may not keep."""
    rows = not (recipe.turns or recipe.branch or recipe.lines or recipe.order == "as is") and len(sample) > 1
    return rows and not any(recipe.time(values) for values in sample if recipe.time)
