"""What is new in a help desk that is looked at every Monday."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from conversations.dialogue import Dialogue, write_dialogues
from dial2vec.collection.adding import add
from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.news import News, mark_sent, unsent, whats_new
from dial2vec.collection.news.ledger import read_ledger
from dial2vec.collection.news.looking import level_of
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import ArtifactError
from tests.collection.planted import planted

FIRST, LAST = datetime(2026, 3, 30, tzinfo=UTC), datetime(2026, 4, 27, tzinfo=UTC)


class Desk:
    """A help desk by week, in the folder of a collection."""

    def __init__(self, folder: Path, *, quiet: bool = False) -> None:
        self.folder, self.encoder, self.dialogues = folder / "desk", load_encoder("general"), planted(quiet=quiet)
        self.folder.mkdir()
        self.until = datetime(2026, 1, 1, tzinfo=UTC)

    def grow(self, until: datetime) -> CollectionFolder:
        """Add the dialogues before a date, and cluster."""
        new = [dialogue for dialogue in self.dialogues if self.until <= _date(dialogue) < until]
        write_dialogues(self.folder.with_name("new.jsonl"), new)
        add(self.folder, self.folder.with_name("new.jsonl"), encoder=self.encoder, progress=False, turns=False)
        self.until = until
        collection = CollectionFolder(self.folder)
        cluster(collection, level=level_of(self.folder, until))
        return CollectionFolder(self.folder)

    def look(self, until: datetime) -> News:
        """Return what is new at a date, and write it."""
        news = whats_new(self.grow(until), at=until)
        news.write(self.folder)
        return news

    def mondays(self) -> list[News]:
        """Return what is new each Monday."""
        weeks = (LAST - FIRST).days // 7
        return [self.look(FIRST + timedelta(weeks=week)) for week in range(weeks + 1)]


def _date(dialogue: Dialogue) -> datetime:
    assert dialogue.date
    return datetime.fromisoformat(dialogue.date).replace(tzinfo=UTC)


@pytest.fixture(scope="module")
def mondays(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, list[News]]:
    desk = Desk(tmp_path_factory.mktemp("busy"))
    return desk, desk.mondays()


def test_what_was_planted_is_told_and_told_once(mondays):
    desk, news = mondays
    labels = {dialogue.dialogue_id: dialogue.labels[0] for dialogue in desk.dialogues}
    told = [(change.kind, {labels[name] for name in change.dialogues}) for each in news for change in each.changes]
    assert ("new", {"keyboards"}) in told
    assert ("more", {"cards"}) in told
    assert {frozenset(about) for _, about in told} <= {frozenset({name}) for name in ("cards", "pizza", "keyboards")}
    kinds = [(kind, min(about)) for kind, about in told]
    assert len(kinds) == len(set(kinds))


def test_where_nothing_changes_nothing_is_told(tmp_path):
    news = Desk(tmp_path, quiet=True).mondays()
    assert [change.sentence for each in news for change in each.changes] == []
    assert "Nothing is new: none of" in news[-1].text("desk")


def test_the_message_names_each_change_with_three_conversations_and_what_weighs_most(mondays):
    _, news = mondays
    [each] = [each for each in news if any(change.kind == "new" for change in each.changes)]
    text = each.text("desk")
    [line] = [line for line in text.splitlines() if line.startswith("New: ")]
    assert line.count("T-") == 3
    assert f"desk: {each.dialogues} new conversations since" in text
    weighs = text[text.index("What weighs most") :]
    assert "Lost card" in weighs
    assert "CSAT" in weighs
    assert "I want to order" not in text


def test_a_record_waits_until_it_was_sent(mondays):
    desk, news = mondays
    waiting = unsent(desk.folder)
    assert [record["id"] for record in waiting] == [each.id for each in news]
    assert waiting[-1]["changes"] == news[-1].record()["changes"]
    mark_sent(desk.folder, news[0].id)
    assert [record["id"] for record in unsent(desk.folder)] == [each.id for each in news[1:]]


def test_a_look_that_was_killed_before_its_end_is_not_sent_and_comes_again(tmp_path, monkeypatch):
    desk = Desk(tmp_path)
    desk.look(FIRST)
    news = whats_new(desk.grow(LAST), at=LAST)
    with monkeypatch.context() as patch:
        patch.setattr("dial2vec.collection.news.ledger.write_json", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            news.write(desk.folder)
    assert len(unsent(desk.folder)) == 1
    again = whats_new(CollectionFolder(desk.folder), at=LAST + timedelta(minutes=5))
    again.write(desk.folder)
    assert [change.sentence for change in again.changes] == [change.sentence for change in news.changes] != []
    assert [record["at"] for record in unsent(desk.folder)] == [FIRST.isoformat(), again.at]


def test_topics_of_a_new_clustering_are_not_new(tmp_path):
    desk = Desk(tmp_path)
    desk.look(LAST - timedelta(weeks=1))
    desk.grow(LAST)
    cluster(CollectionFolder(desk.folder), k=14)
    assert "new" not in {change.kind for change in whats_new(CollectionFolder(desk.folder), at=LAST).changes}


def test_metadata_that_falls_in_a_topic_is_told_once(tmp_path):
    desk = Desk(tmp_path, quiet=True)
    late = [dialogue for dialogue in desk.dialogues if _date(dialogue) >= LAST - timedelta(weeks=1)]
    for dialogue in late:
        if dialogue.labels == ("pizza",):
            dialogue.metadata["channel"] = "email"
    desk.look(LAST - timedelta(weeks=1))
    [change] = desk.look(LAST).changes
    assert (change.kind, change.name) == ("rose", "Order of pizza")
    assert change.words.startswith("email (channel) grew from 2")
    assert whats_new(CollectionFolder(desk.folder), at=LAST + timedelta(days=7)).changes == ()


def test_a_damaged_ledger_is_one_sentence(tmp_path):
    desk = Desk(tmp_path)
    desk.look(FIRST)
    (desk.folder / "news" / "ledger.json").write_text('{"at": ""')
    with pytest.raises(ArtifactError, match=r"ledger.json .*Remove .*news: the next look is then the first one"):
        read_ledger(desk.folder)
