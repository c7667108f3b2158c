"""What a user may say about an export if the guess is wrong."""

from __future__ import annotations

from dataclasses import dataclass, fields

from conversations.errors import CorpusError, did_you_mean

FORMATS = {
    "csv": "one row per turn, or per dialogue; delimited by commas, semicolons, tabs or pipes",
    "tsv": "the same, delimited by tabs",
    "json": "a list of objects, or an object that holds one",
    "jsonl": "one JSON object per line",
    "parquet": "a table",
    "rows": "a line per column of each row, as databases print them",
    "log": "named values in each line, as in `role=user msg=Hello`",
    "text": "`Speaker: text` lines",
    "vtt": "WebVTT captions that name their speakers",
    "srt": "SRT captions that name their speakers",
}
# Part of a turn, while the others are kinds of whole turns.
QUOTED = "quoted"
# Kinds of non-speech messages; `--keep` takes them in.
KINDS = ("note", "notice", "system", "tool", "thought", "deleted", "edited", "draft", "media", QUOTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedColumns:
    """Names of columns by their meaning, None if one is missing or unknown, and how their turns become dialogues.

    :param dialogue_id: Column of the dialogue's id.
    :param speaker: Column of the speaker, in the rows or in the turns of a record.
    :param text: Column of the text, in the rows or in the turns of a record.
    :param labels: Columns of domain labels, in the rows or in the records.
    :param time: Column that orders the turns of a dialogue.
    :param turns: Column that holds a whole dialogue per record; None for one row per turn.
    """

    dialogue_id: str | None = None
    speaker: str | None = None
    text: str | None = None
    labels: tuple[str, ...] = ()
    time: str | None = None
    turns: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(NamedColumns):
    """Overrides for the guesses about an export; None means guess.

    :param format: Key of `FORMATS`.
    :param encoding: Name of an encoding that Python knows, such as "cp1252".
    :param delimiter: Character between the cells of a table.
    :param recipe: Name of a known recipe, or path of a recipe; "none" looks for no recipe.
    :param where: Conditions that a row or a turn must meet.
    :param drop: Conditions by which a row or a turn is left out.
    :param table: Sheet of a workbook, or table of a database.
    :param keep: Kinds of non-speech that count as speech (`KINDS`).
    :param blank_speaker: Speaker of the turns that name none.
    :param join: Seconds within which consecutive turns of one speaker are one turn; None joins none.
    :param pause: Hours without a turn after which a new dialogue begins; 0 begins none, None only in a chat of months.
    :param parts: True if a dialogue may go on in another file.
    :param header: True if the first row of a table names its columns; otherwise they are "1", "2", ...
    :raises CorpusError: if a kind is unknown.
    """

    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    recipe: str | None = None
    where: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    table: str | None = None
    keep: tuple[str, ...] = ()
    blank_speaker: str | None = None
    join: float | None = None
    pause: float | None = None
    parts: bool = False
    header: bool = True

    def __post_init__(self) -> None:
        for kind in self.keep:
            if kind not in KINDS:
                raise CorpusError(
                    f"{kind!r} (--keep) is no kind of non-speech.{did_you_mean(kind, KINDS)} Expected kinds out "
                    f"of {', '.join(KINDS)}, with commas between them. Correct --keep."
                )

    def __str__(self) -> str:
        """Return the options that differ from the defaults, such as `where=('public == true',)`."""
        values = ((item.name, getattr(self, item.name), item.default) for item in fields(self))
        return ", ".join(f"{name}={value!r}" for name, value, default in values if value != default)

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """The columns that the user named, by meaning."""
        single = {"id": self.dialogue_id, "speaker": self.speaker, "text": self.text, "time": self.time}
        given = {meaning: (name,) for meaning, name in (single | {"turns": self.turns}).items() if name}
        return given | ({"label": self.labels} if self.labels else {})
