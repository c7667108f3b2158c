"""What was told of each topic of a collection, and when, in `news/ledger.json` of its folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from conversations.files import read_json, write_json
from dial2vec.collection.collection_folder import readable

FOLDER, LEDGER = "news", "ledger.json"
# Days that the first look may spend.
FIRST = 1.0


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """From when on the past of a topic counts, in days since 1970; 0 for all of it.

    :param since: first day for its share: it appeared, or was told, then.
    :param rated: first day for its metadata.
    """

    since: int = 0
    rated: int = 0


@dataclass(frozen=True, slots=True)
class Ledger:
    """The state after a look.

    :param at: time of the look, ISO 8601; "" before the first one.
    :param dialogues: number of dialogues of the collection then.
    :param last: last day of its dialogues, in days since 1970.
    :param settled: number of dialogues at the last clustering from scratch before the look.
    :param topics: record of each topic, by its id.
    :param began: time of the first look; "" in older ledgers, as if the look had been the first.
    :param first: last day of the dialogues at that look.
    :param spent: days that the looks since then have spent.
    """

    at: str = ""
    dialogues: int = 0
    last: int = 0
    settled: int = 0
    topics: dict[str, TopicRecord] = field(default_factory=dict)
    began: str = ""
    first: int = 0
    spent: float = 0.0

    def days_until(self, at: datetime, last: int) -> float:
        """Return the days that a look may spend: one at the first, then those since the first less what was spent.

        Days are those of the clock, or of the dialogues if these are more. They are counted from the first look on, so
        that many looks spend no more than few.

        :param last: last day of the dialogues now.
        """
        if not self.at:
            return FIRST
        began, first = self._beginning()
        seconds = (at - datetime.fromisoformat(began)).total_seconds()
        return max(0.0, max(seconds / 86400, float(last - first)) - self.spent)

    def after(self, at: datetime, last: int, *, dialogues: int, settled: int, topics: dict[str, TopicRecord]) -> Ledger:
        """Return the state after a further look, which spends what it may."""
        time = at.isoformat(timespec="seconds")
        if not self.at:
            return Ledger(time, dialogues, last, settled, topics, began=time, first=last)
        began, first = self._beginning()
        spent = self.spent + self.days_until(at, last)
        return Ledger(time, dialogues, last, settled, topics, began=began, first=first, spent=spent)

    def _beginning(self) -> tuple[str, int]:
        return (self.began, self.first) if self.began else (self.at, self.last)

    def write(self, folder: Path) -> None:
        """Write the ledger into a collection's folder, atomically."""
        write_json(folder / FOLDER / LEDGER, asdict(self))


def read_ledger(folder: Path) -> Ledger:
    """Read the ledger of a collection's folder; an empty one before the first look.

    :raises ArtifactError: if it is damaged.
    """
    path = folder / FOLDER / LEDGER
    if not path.exists():
        return Ledger()
    with readable(path, f". Remove {path.parent}: the next look is then the first one."):
        record = read_json(path)
        topics = {key: TopicRecord(**value) for key, value in record.pop("topics").items()}
        return Ledger(**record, topics=topics)
