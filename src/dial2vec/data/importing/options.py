"""What a person may say about an export where the guess is wrong."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Overrides of what is guessed; None leaves it to the guess.

    :param format: a key of `FORMATS`.
    :param encoding: any name that Python knows, such as "cp1252".
    :param delimiter: one character between the cells of a table.
    :param header: whether the first row of a table names its columns; without it they are "1", "2", ...
    :param dialogue_id: column of the dialogue's id.
    :param speaker: column of the speaker, in the rows or in the turns of a record.
    :param text: column of what was said.
    :param labels: columns of domain labels.
    :param time: column by which the turns of a dialogue are put in order.
    :param turns: column that holds a whole dialogue.
    """

    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: bool = True
    dialogue_id: str | None = None
    speaker: str | None = None
    text: str | None = None
    labels: tuple[str, ...] = ()
    time: str | None = None
    turns: str | None = None

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """The columns that were named, by meaning."""
        single = {"id": self.dialogue_id, "speaker": self.speaker, "text": self.text, "time": self.time}
        given = {meaning: (name,) for meaning, name in (single | {"turns": self.turns}).items() if name}
        return given | ({"label": self.labels} if self.labels else {})
