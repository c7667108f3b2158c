from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from dial2vec.data.importing.assembling import Outcome
from dial2vec.dialogue import Origin, Quarantined
from dial2vec.errors import CorpusError, Dial2vecError, VersioningError
from dial2vec.operation.schedule import inbox
from dial2vec.operation.schedule.inbox import take_in

OLD = time.time() - 600


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(corpus, name) of what was imported; a file that holds "bad" cannot be."""
    calls: list[tuple[str, str]] = []

    def import_export(root: Path, source: Path, *, corpus: str, **options: object) -> Outcome:
        if source.read_text() == "bad":
            raise CorpusError("no dialogue of it can be used.")
        calls.append((corpus, source.name))
        return Outcome(quarantine=[Quarantined(Origin(source.name, 1), "c-1", "its id is known")])

    monkeypatch.setattr(inbox, "import_export", import_export)
    return calls


def put(folder: Path, name: str, text: str = "a", *, written: float = OLD) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (written, written))
    return path


def take(root: Path, said: list[str] | None = None) -> list[inbox.Arrival]:
    return take_in(root, root / "inbox", ["calls"], redact=False, say=(said if said is not None else []).append)


def files(root: Path) -> list[str]:
    return sorted(path.relative_to(root / "inbox").as_posix() for path in root.rglob("*") if path.is_file())


def test_an_export_becomes_part_of_its_corpus_and_is_moved_aside(tmp_path, imported):
    put(tmp_path / "inbox" / "calls", "export.csv")
    [arrival] = take(tmp_path)
    assert (arrival.corpus, arrival.refused, arrival.dialogues, arrival.aside) == ("calls", "", 0, 1)
    assert imported == [("calls", "export-ca978112.csv")]
    assert files(tmp_path) == ["imported/calls/export-ca978112.csv"]
    assert take(tmp_path) == []


def test_tomorrows_export_of_the_same_name_is_another_file(tmp_path, imported):
    for text in "ab":
        put(tmp_path / "inbox" / "calls", "export.csv.gz", text)
        take(tmp_path)
    assert files(tmp_path) == ["imported/calls/export-3e23e816.csv.gz", "imported/calls/export-ca978112.csv.gz"]


def test_what_cannot_be_used_is_kept_with_its_reason(tmp_path, imported):
    put(tmp_path / "inbox" / "calls", "odd.csv", "bad")
    put(tmp_path / "inbox" / "calls", "well.csv")
    said: list[str] = []
    assert [arrival.refused for arrival in take(tmp_path, said)] == ["no dialogue of it can be used.", ""]
    assert len(said) == 1
    assert said[0].endswith(".csv was refused: no dialogue of it can be used.")
    refused = tmp_path / "inbox" / "refused" / "calls"
    [reason] = refused.glob("odd-*.reason.txt")
    assert reason.read_text() == "no dialogue of it can be used.\n"
    assert len(list(refused.glob("odd-*.csv"))) == 1
    assert len(imported) == 1


@pytest.mark.parametrize("name", [".hidden.csv", "~lock.csv", "half.csv.part", "half.tmp"])
def test_what_is_not_finished_stays(tmp_path, imported, name):
    put(tmp_path / "inbox" / "calls", name)
    assert take(tmp_path) == []
    assert files(tmp_path) == [f"calls/{name}"]


def test_a_file_that_was_just_written_to_waits_for_the_next_time(tmp_path, imported):
    path = put(tmp_path / "inbox" / "calls", "export.csv", written=time.time() - 1)
    assert take(tmp_path) == []
    os.utime(path, (OLD, OLD))
    assert len(take(tmp_path)) == 1


def test_a_clock_that_was_set_back_does_not_hold_a_file_for_ever(tmp_path, imported):
    put(tmp_path / "inbox" / "calls", "export.csv", written=time.time() + 3600)
    assert len(take(tmp_path)) == 1


def test_what_belongs_to_no_corpus_stays_and_is_named(tmp_path, imported):
    put(tmp_path / "inbox", "loose.csv")
    put(tmp_path / "inbox" / "chats", "export.csv")
    said: list[str] = []
    assert take(tmp_path, said) == []
    assert [line.split(" ")[0].rpartition("/")[2] for line in said] == ["chats", "loose.csv"]
    assert all("stays where it is: expected inbox/<corpus>/<file>" in line for line in said)


def test_an_import_that_was_killed_is_taken_up_again(tmp_path, imported, monkeypatch):
    put(tmp_path / "inbox" / "calls", "export.csv")
    with monkeypatch.context() as patch:
        patch.setattr(inbox, "import_export", lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            take(tmp_path)
    assert files(tmp_path) == [".taken/calls/export-ca978112.csv"]
    assert len(take(tmp_path)) == 1
    assert files(tmp_path) == ["imported/calls/export-ca978112.csv"]


@pytest.mark.parametrize("fault", [VersioningError("DVC is busy."), Dial2vecError("the disk is full.")])
def test_what_is_no_fault_of_the_file_does_not_refuse_it(tmp_path, imported, monkeypatch, fault):
    put(tmp_path / "inbox" / "calls", "export.csv")
    with monkeypatch.context() as patch:
        patch.setattr(inbox, "import_export", lambda *a, **k: (_ for _ in ()).throw(fault))
        with pytest.raises(type(fault)):
            take(tmp_path)
    assert files(tmp_path) == [".taken/calls/export-ca978112.csv"]
    take(tmp_path)
    assert files(tmp_path) == ["imported/calls/export-ca978112.csv"]


def test_a_link_stays_and_is_named(tmp_path, imported):
    secret = put(tmp_path / "elsewhere", "secret.csv")
    (tmp_path / "inbox" / "calls").mkdir(parents=True)
    (tmp_path / "inbox" / "calls" / "link.csv").symlink_to(secret)
    said: list[str] = []
    assert take(tmp_path, said) == []
    assert "link.csv stays where it is: it is a link" in said[0]
    assert imported == []


def test_an_inbox_on_another_disk_is_emptied_all_the_same(tmp_path, imported, monkeypatch):
    put(tmp_path / "inbox" / "calls", "export.csv")
    replace, refused = Path.replace, []

    def other_disk(self: Path, target: Path) -> Path:
        if self.parent.name == "calls" and not refused and ".taken" in str(target):
            refused.append(self)
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", other_disk)
    assert len(take(tmp_path)) == len(refused) == 1
    assert files(tmp_path) == ["imported/calls/export-ca978112.csv"]


def test_without_an_inbox_nothing_comes(tmp_path):
    assert take(tmp_path) == []
