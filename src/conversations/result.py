"""What an import gives: usable dialogues, unusable ones with their reasons, and counts of what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from random import Random

from conversations.dialogue import (
    MAX_KEY,
    MAX_KEYS,
    Dialogue,
    Origin,
    Quarantined,
    RecordError,
    Turn,
    dialogue_from_record,
)
from conversations.guessing.columns import Columns

DAMAGED = "it holds bytes that are not valid characters"
UNORDERED = "some of its times cannot be read, and its turns are not in order"
AMBIGUOUS = "dates such as 03/04/2024 may begin with the day or the month: dialogues have no date"
NOT_HELD = (
    f"metadata that a dialogue cannot hold are left out: keys beyond the first {MAX_KEYS}, names over {MAX_KEY} "
    "characters, integers over 64 bits"
)
# Decides which dialogues a sample has.
SEED = 1
# Kind of a turn whose speaker is blank.
NAMELESS = "no speaker"


def all_left_out(kinds: Iterable[str]) -> str:
    """Return why a dialogue whose turns are all left out cannot be used."""
    shown = ", ".join(dict.fromkeys(kinds))
    return "no turn names its speaker" if shown == NAMELESS else f"every turn is left out ({shown})"


# Dialogues that a summary shows.
SHOWN_DIALOGUES = 3


@dataclass(frozen=True, slots=True)
class Description:
    """Format, encoding and columns of a file, as they were guessed or given.

    :param format: Key of `FORMATS`, "workbook" or "database".
    :param encoding: Encoding as shown to people; "" for Parquet.
    :param delimiter: Name of the delimiter; "" for other formats.
    :param columns: Meanings of the columns; None for text and captions.
    :param unused: Paths of fields of which nothing is kept.
    :param notes: Sentences for the summary.
    :param recipe: Name of the recipe; "" if the columns were guessed.
    """

    format: str = ""
    encoding: str = ""
    delimiter: str = ""
    columns: Columns | None = None
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    recipe: str = ""


@dataclass
class Tally:
    """Counts of usable dialogues, which need not be in memory any more.

    :param usable: Number of dialogues.
    :param turns: Number of turns by speaker.
    :param labels: Number of dialogues by label.
    """

    usable: int = 0
    turns: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    first: list[Dialogue] = field(default_factory=list)

    @classmethod
    def of(cls, dialogues: list[Dialogue]) -> Tally:
        """Count dialogues."""
        turns = Counter(turn.speaker for dialogue in dialogues for turn in dialogue.turns)
        labels = Counter(label for dialogue in dialogues for label in dialogue.labels)
        return cls(len(dialogues), turns, labels, dialogues[:SHOWN_DIALOGUES])

    def add(self, more: Tally) -> None:
        """Add the counts of later dialogues."""
        self.usable += more.usable
        self.turns.update(more.turns)
        self.labels.update(more.labels)
        self.first = [*self.first, *more.first][:SHOWN_DIALOGUES]


@dataclass
class ImportResult:
    """Result of an import: every dialogue of the export is in one of the two lists.

    :param quarantine: One entry per unusable dialogue, or per row without a dialogue.
    :param rows: Number of rows, records or transcripts read.
    :param blank: Number of turns left out because they are blank.
    :param left_out: Number of turns left out because they are not speech, by kind.
    :param repeated: Number of rows left out because another row, or an earlier file, has the same content.
    :param unread: Times that cannot be read.
    :param varying: Fields that differ between the turns of a dialogue and so are not kept, by number of dialogues.
    :param notes: Sentences for the summary.
    :param speakers: Names of all speakers, also of quarantined dialogues.
    :param cuts: Conversations of each chat that lasts for months, by its origin and its id.
    """

    dialogues: list[Dialogue] = field(default_factory=list)
    quarantine: list[Quarantined] = field(default_factory=list)
    rows: int = 0
    blank: int = 0
    repeated: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    varying: Counter[str] = field(default_factory=Counter)
    notes: dict[str, None] = field(default_factory=dict)
    speakers: dict[str, None] = field(default_factory=dict)
    cuts: dict[tuple[Origin | None, str], list[Dialogue]] = field(default_factory=dict)

    def relocate(self, shown: Callable[[str], str]) -> None:
        """Rename the files in all origins, by a function from the old to the new name."""
        for number, dialogue in enumerate(self.dialogues):
            if dialogue.origin and (name := shown(dialogue.origin.source)) != dialogue.origin.source:
                self.dialogues[number] = replace(dialogue, origin=Origin(name, dialogue.origin.line))
        self.quarantine[:] = [
            Quarantined(Origin(shown(item.origin.source), item.origin.line), item.dialogue_id, shown(item.reason))
            for item in self.quarantine
        ]

    def add(self, more: ImportResult) -> None:
        """Add the result of another file."""
        self.rows += more.rows
        self.blank += more.blank
        self.repeated += more.repeated
        self.left_out.update(more.left_out)
        self.unread.update(more.unread)
        self.varying.update(more.varying)
        self.notes |= more.notes
        self.speakers |= more.speakers
        self.cuts |= more.cuts
        self.dialogues += more.dialogues
        self.quarantine += more.quarantine

    def draw(self, sample: int | None) -> None:
        """Keep so many dialogues, drawn at random, the same ones each time; None keeps all."""
        if sample is not None and sample < len(self.dialogues):
            drawn = sorted(Random(SEED).sample(range(len(self.dialogues)), sample))
            self.notes[f"{sample:,} of {len(self.dialogues):,} dialogues were drawn at random"] = None
            self.dialogues[:] = [self.dialogues[at] for at in drawn]

    def join_parts(self) -> None:
        """Join dialogues with the same id, in the order of their files."""
        joined: dict[str, Dialogue] = {}
        for dialogue in self.dialogues:
            if before := joined.get(dialogue.dialogue_id):
                labels = tuple(dict.fromkeys((*before.labels, *dialogue.labels)))
                metadata = {**dialogue.metadata, **before.metadata}
                dialogue = replace(before, turns=before.turns + dialogue.turns, labels=labels, metadata=metadata)
            joined[dialogue.dialogue_id] = dialogue
        self.dialogues[:] = joined.values()

    def refuse(self, source: str, line: int, name: str, reason: str) -> None:
        """Quarantine a dialogue."""
        shown = name[:200].encode("utf-8", "replace").decode()
        self.quarantine.append(Quarantined(Origin(source, line), shown, reason))

    def accept(
        self,
        source: str,
        line: int,
        name: str,
        turns: Iterable[Turn],
        labels: Iterable[str],
        *,
        date: str | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add a dialogue, or quarantine it if `Dialogue` does not allow it."""
        turns = list(turns)
        record = {
            "dialogue_id": name,
            "turns": [{"speaker": turn.speaker, "text": turn.text} for turn in turns],
            "labels": list(labels),
            "date": date,
            "metadata": self._held(metadata or {}),
        }
        self.speakers.update(dict.fromkeys(turn.speaker for turn in turns))
        try:
            dialogue = dialogue_from_record(record, origin=Origin(source, line))
        except RecordError as error:
            self.refuse(source, line, name, str(error))
        else:
            self.blank += len(turns) - len(dialogue.turns)
            self.dialogues.append(dialogue)

    def _held(self, metadata: Mapping[str, object]) -> dict[str, object]:
        """Return the metadata that a dialogue can hold: no column costs the dialogue."""
        filled = {key: value for key, value in metadata.items() if value is not None and value != ""}
        held = {key: value for key, value in filled.items() if len(key.strip()) > 0 and len(key) <= MAX_KEY}
        held = {key: value for key, value in held.items() if not isinstance(value, int) or -(2**63) <= value < 2**63}
        held = dict(islice(held.items(), MAX_KEYS))
        if len(held) < len(filled):
            self.notes[NOT_HELD] = None
        return held
