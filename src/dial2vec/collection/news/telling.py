"""The message on what is new, as text and as a record; records wait in `news` until they are sent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from conversations.files import read_json, write_json
from conversations.words import printable
from dial2vec.collection.news.impact import NAME, Impact
from dial2vec.collection.news.ledger import FOLDER, LEDGER, Ledger, read_ledger

TITLES = {"new": "New", "more": "More", "less": "Less", "gone": "Gone", "rose": "Rose", "fell": "Fell"}


@dataclass(frozen=True, slots=True)
class TopicChange:
    """A change of a topic.

    :param kind: "new", "more", "less", "gone", "rose", "fell", or "emerging" for a group near the topic.
    :param words: description of the change, such as "3% → 13% of the conversations in the last 3 days".
    :param dialogues: ids of up to three dialogues that show it.
    :param count: number of dialogues that show it.
    :param p: p-value with all tries of this look counted; 0 for a new topic, which has passed the level already.
    """

    kind: str
    cluster: int
    name: str
    words: str
    dialogues: tuple[str, ...]
    count: int
    p: float

    @property
    def sentence(self) -> str:
        """The change in words, without the dialogues."""
        name = printable(self.name, NAME)
        return f"{TITLES[self.kind]}: {name}: {self.words}" if self.kind in TITLES else f"{self.words}, near {name}"

    @property
    def line(self) -> str:
        """The change in words, with dialogues that show it."""
        return f"{self.sentence} ({', '.join(printable(name, NAME) for name in self.dialogues)})"


@dataclass(frozen=True, slots=True)
class News:
    """What is new in a collection.

    :param when: time of the look.
    :param since: time of the look before, ISO 8601.
    :param dialogues: number of new dialogues.
    :param topics: number of topics.
    :param emerging: groups of new dialogues that may become topics.
    :param impact: topics that weigh most.
    """

    when: datetime
    since: str
    dialogues: int
    topics: int
    changes: tuple[TopicChange, ...]
    emerging: tuple[TopicChange, ...]
    impact: tuple[Impact, ...]
    ledger: Ledger

    @property
    def at(self) -> str:
        """Time of the look, ISO 8601."""
        return self.when.isoformat(timespec="seconds")

    @property
    def id(self) -> str:
        """Name of the message: a receiver can tell by it that a message comes again."""
        return f"{self.when:%Y-%m-%dT%H-%M-%S}"

    def text(self, title: str) -> str:
        """Return the message as plain text."""
        since = datetime.fromisoformat(self.since)
        lines = [f"{title}: {self.dialogues:,} new conversations since {since.day} {since:%B}"]
        lines += [change.line for change in self.changes]
        if not self.changes:
            lines.append(f"Nothing is new: none of {self.topics} topics changed more than chance makes.")
        if self.emerging:
            lines += ["Perhaps emerging, not certain yet:", *(f"  {change.line}" for change in self.emerging)]
        if self.impact:
            lines += [
                "What goes badly most often, in the last four weeks:",
                *(f"  {row.sentence}" for row in self.impact),
            ]
        return "\n".join(lines)

    def record(self) -> dict[str, Any]:
        """Return the message for JSON."""
        fields = {name: [asdict(item) for item in getattr(self, name)] for name in ("changes", "emerging", "impact")}
        for name in ("changes", "emerging"):
            for item, change in zip(fields[name], getattr(self, name), strict=True):
                item["sentence"] = change.sentence
        head = {"id": self.id, "at": self.at, "since": self.since, "dialogues": self.dialogues, "topics": self.topics}
        return head | fields

    def write(self, folder: Path) -> None:
        """Write the message into a collection's folder as not sent yet, then the ledger.

        The ledger makes it valid: what a run that was killed between the two has left is removed by the next one.
        """
        own, last = folder / FOLDER, read_ledger(folder).at
        own.mkdir(exist_ok=True)
        for left in _records(folder):
            if left["at"] > last:
                (own / f"{left['id']}.json").unlink()
        write_json(own / f"{self.id}.json", self.record() | {"text": self.text(folder.name), "sent": False})
        self.ledger.write(folder)


def unsent(folder: Path) -> list[dict[str, Any]]:
    """Return the records of a collection's folder that were not sent, oldest first."""
    last = read_ledger(folder).at
    return [record for record in _records(folder) if not record["sent"] and record["at"] <= last]


def _records(folder: Path) -> list[dict[str, Any]]:
    return [read_json(path) for path in sorted((folder / FOLDER).glob("*.json")) if path.name != LEDGER]


def mark_sent(folder: Path, id: str) -> None:
    """Note that a message was sent."""
    path = folder / FOLDER / f"{id}.json"
    write_json(path, read_json(path) | {"sent": True})
