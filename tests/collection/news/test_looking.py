"""What is new in a help desk that is looked at every Monday."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from conversations.dialogue import Dialogue, write_dialogues
from dial2vec.collection.adding import add
from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.clustering.clusters import read_clusters
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.news import News, mark_sent, unsent, whats_new
from dial2vec.collection.news.ledger import Ledger, read_ledger
from dial2vec.collection.news.looking import level_of
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import ArtifactError
from tests.collection.planted import planted

FIRST, BEFORE, LAST = (datetime(2026, month, day, tzinfo=UTC) for month, day in ((3, 30), (4, 20), (4, 27)))


class Desk:
    """A help desk by week, in the folder of a collection."""

    def __init__(self, folder: Path, *, quiet: bool = False) -> None:
        self.folder, self.encoder = folder / "desk", load_encoder("general")
        made = planted(quiet=quiet)
        self.labels = {dialogue.dialogue_id: dialogue.labels[0] for dialogue in made}
        # As an export has them.
        self.dialogues = [replace(dialogue, labels=()) for dialogue in made]
        self.folder.mkdir()
        self.until = datetime(2026, 1, 1, tzinfo=UTC)

    def grow(self, until: datetime) -> CollectionFolder:
        """Add the dialogues before a date, and cluster."""
        new = [dialogue for dialogue in self.dialogues if self.until <= _date(dialogue) < until]
        write_dialogues(self.folder.with_name("new.jsonl"), new)
        add(self.folder, self.folder.with_name("new.jsonl"), encoder=self.encoder, progress=False, turns=False)
        self.until = until
        collection = CollectionFolder(self.folder)
        cluster(collection, level=level_of(collection, until))
        return CollectionFolder(self.folder)

    def look(self, until: datetime) -> News:
        """Return what is new at a date, and write it."""
        news = whats_new(self.grow(until), at=until)
        news.write(self.folder)
        return news

    def mondays(self, first: datetime = FIRST, last: datetime = LAST) -> list[News]:
        """Return what is new each Monday."""
        return [self.look(first + timedelta(weeks=week)) for week in range((last - first).days // 7 + 1)]

    def copy(self, folder: Path) -> Desk:
        """Return the same help desk in another folder."""
        desk = Desk.__new__(Desk)
        desk.__dict__ |= self.__dict__ | {"folder": folder / "desk"}
        shutil.copytree(self.folder, desk.folder)
        return desk


def _date(dialogue: Dialogue) -> datetime:
    assert dialogue.date
    return datetime.fromisoformat(dialogue.date).replace(tzinfo=UTC)


@pytest.fixture(scope="module", autouse=True)
def few():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dial2vec.collection.clustering.stability.HALVES", 2)
        yield


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, list[News]]:
    """The help desk two weeks before the end, and what was new."""
    desk = Desk(tmp_path_factory.mktemp("busy"))
    return desk, desk.mondays(last=BEFORE - timedelta(weeks=1))


@pytest.fixture(scope="module")
def mondays(earlier, tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, list[News]]:
    desk = earlier[0].copy(tmp_path_factory.mktemp("later"))
    return desk, [*earlier[1], desk.look(BEFORE), desk.look(LAST)]


def test_what_was_planted_is_told_and_told_once(mondays):
    desk, news = mondays
    told = [
        (change.kind, *{desk.labels[name] for name in change.dialogues}) for each in news for change in each.changes
    ]
    assert ("new", "keyboards") in told
    assert ("more", "cards") in told
    assert set(told) <= {("new", "keyboards"), ("more", "cards"), ("less", "pizza"), ("fell", "cards")}
    assert len(told) == len(set(told))


def test_where_nothing_changes_nothing_is_told(tmp_path):
    news = Desk(tmp_path, quiet=True).mondays(first=BEFORE - timedelta(weeks=1))
    assert [change.sentence for each in news for change in each.changes] == []
    assert "Nothing is new: none of" in news[-1].text("desk")


def test_the_message_names_each_change_with_three_conversations_and_what_goes_badly(mondays):
    _, news = mondays
    [each] = [each for each in news if any(change.kind == "new" for change in each.changes)]
    text = each.text("desk")
    [line] = [line for line in text.splitlines() if line.startswith("New: ")]
    assert line.count("T-") == 3
    assert f"desk: {each.dialogues} new conversations since" in text
    badly = text[text.index("What goes badly most often") :]
    assert "Lost card" in badly
    assert "CSAT" in badly
    assert "I want to order" not in text


def test_a_record_waits_until_it_was_sent(mondays):
    desk, news = mondays
    waiting = unsent(desk.folder)
    assert [record["id"] for record in waiting] == [each.id for each in news]
    assert [change["sentence"] for change in waiting[-1]["changes"]] == [change.sentence for change in news[-1].changes]
    mark_sent(desk.folder, news[0].id)
    assert [record["id"] for record in unsent(desk.folder)] == [each.id for each in news[1:]]


def test_a_look_that_was_killed_before_its_end_is_not_sent_and_comes_again(earlier, tmp_path, monkeypatch):
    desk, before = earlier[0].copy(tmp_path), earlier[1]
    news = whats_new(desk.grow(BEFORE), at=BEFORE)
    with monkeypatch.context() as patch:
        patch.setattr("dial2vec.collection.news.ledger.write_json", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            news.write(desk.folder)
    assert [record["id"] for record in unsent(desk.folder)] == [each.id for each in before]
    again = whats_new(CollectionFolder(desk.folder), at=BEFORE + timedelta(minutes=5))
    again.write(desk.folder)
    assert [change.sentence for change in again.changes] == [change.sentence for change in news.changes] != []
    assert [record["at"] for record in unsent(desk.folder)] == [*(each.at for each in before), again.at]


def test_topics_of_a_clustering_from_scratch_are_not_new(earlier, tmp_path):
    desk = earlier[0].copy(tmp_path)
    cluster(desk.grow(LAST), k=14)
    changes = whats_new(CollectionFolder(desk.folder), at=LAST).changes
    assert {desk.labels[name] for change in changes if change.kind == "new" for name in change.dialogues} <= {
        "keyboards"
    }


def test_metadata_that_changes_in_a_topic_is_told_once(tmp_path):
    desk = Desk(tmp_path, quiet=True)
    desk.dialogues = [
        replace(dialogue, metadata={**dialogue.metadata, "channel": "email"})
        if desk.labels[dialogue.dialogue_id] == "pizza" and _date(dialogue) >= BEFORE
        else dialogue
        for dialogue in desk.dialogues
    ]
    desk.look(BEFORE)
    [change] = desk.look(LAST).changes
    assert (change.kind, change.name) == ("rose", "Order of pizza")
    assert change.words.startswith("email (channel) grew from 2")
    assert whats_new(CollectionFolder(desk.folder), at=LAST + timedelta(days=7)).changes == ()


def test_a_look_a_minute_later_spends_what_the_days_of_its_new_dialogues_allow():
    ledger = Ledger(FIRST.isoformat(), 10, last=20_000)
    minute = FIRST + timedelta(minutes=1)
    assert ledger.days_until(minute, 20_007) == 7
    assert ledger.days_until(minute, 20_000) == pytest.approx(1 / 1440)
    assert ledger.days_until(FIRST + timedelta(days=3), 20_001) == 3
    assert Ledger().days_until(FIRST, 20_000) == 1


def test_hourly_looks_spend_no_more_days_than_go_by():
    ledger, spent = Ledger(), []
    for hour in range(24 * 7 + 1):
        # New dialogues come every day; their day changes at once, the clock's from hour to hour.
        at, last = FIRST + timedelta(hours=hour), 20_000 + hour // 24
        spent.append(ledger.days_until(at, last))
        ledger = ledger.after(at, last, dialogues=hour, settled=0, topics={})
    assert (spent[0], sum(spent[1:])) == (1, pytest.approx(7))
    # An older ledger does not know when it began.
    old = Ledger(FIRST.isoformat(), 10, last=20_000).after(
        FIRST + timedelta(days=2), 20_001, dialogues=20, settled=0, topics={}
    )
    assert (old.began, old.first, old.spent) == (FIRST.isoformat(), 20_000, 2)


def test_a_topic_of_topics_yaml_is_never_new(earlier, tmp_path):
    desk = earlier[0].copy(tmp_path)
    said = "I want to order two electronic keyboards for our band"
    (desk.folder / "topics.yaml").write_text(f"- name: Keyboards\n  description: {said}\n", encoding="utf-8")
    news = whats_new(desk.grow(LAST), at=LAST)
    stored = read_clusters(CollectionFolder(desk.folder))
    assert stored is not None
    assert any(each.known == "Keyboards" and each.size > 20 for each in stored[0].clusters)
    assert [change for change in news.changes if change.kind == "new"] == []


def test_a_date_in_the_future_counts_as_the_day_of_the_addition(tmp_path):
    desk = Desk(tmp_path)
    begin, late = desk.dialogues[0], replace(desk.dialogues[1], date="2199-01-01T10:00:00")
    write_dialogues(tmp_path / "two.jsonl", [begin, late])
    add(desk.folder, tmp_path / "two.jsonl", encoder=desk.encoder, progress=False, turns=False)
    today = np.datetime64(datetime.now(UTC).date()).astype(int)
    assert CollectionFolder(desk.folder).days.tolist() == [np.datetime64("2026-01-05").astype(int), today]


def test_a_damaged_ledger_is_one_sentence(tmp_path):
    desk = Desk(tmp_path)
    desk.look(FIRST)
    (desk.folder / "news" / "ledger.json").write_text('{"at": ""')
    with pytest.raises(ArtifactError, match=r"ledger.json .*Remove .*news: the next look is then the first one"):
        read_ledger(desk.folder)
