from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from conversations.dialogue import Origin, Quarantined, read_dialogues
from conversations.result import ImportResult
from dial2vec.errors import CorpusError, Dial2vecError, VersioningError
from dial2vec.operation.schedule import inbox, inbox_files, rehearsal
from dial2vec.operation.schedule.inbox import take_in

OLD = time.time() - 600


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(corpus, name) of what was imported; a file that holds "bad" cannot be."""
    calls: list[tuple[str, str]] = []

    def import_export(root: Path, source: Path, *, corpus: str, **options: object) -> ImportResult:
        if source.read_text() == "bad":
            raise CorpusError("no dialogue of it can be used.")
        calls.append((corpus, source.name))
        return ImportResult(quarantine=[Quarantined(Origin(source.name, 1), "c-1", "its id is known")])

    monkeypatch.setattr(inbox, "import_export", import_export)
    monkeypatch.setattr(inbox, "rehearse", lambda *a, **k: "")
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
    below = (path.relative_to(root / "inbox") for path in (root / "inbox").rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in below if path.parts[0] != inbox.RECEIPTS)


def lines(numbers: range, form: str) -> str:
    """Dialogues of 3 turns, as JSON Lines or as rows of CSV."""
    if form == "csv":
        return "".join(f"d{n},{'ab'[turn % 2]},text {turn}\n" for n in numbers for turn in range(3))
    turns = [{"speaker": "ab"[turn % 2], "text": f"text {turn}"} for turn in range(3)]
    return "".join(json.dumps({"dialogue_id": f"d{n}", "turns": turns}) + "\n" for n in numbers)


def corpus(root: Path) -> dict[str, int]:
    """Turn count of each dialogue of the corpus; no id comes twice."""
    dialogues = [one for path in (root / "data" / "calls").glob("*") for one in read_dialogues(path, quarantine=[])]
    assert len({one.dialogue_id for one in dialogues}) == len(dialogues)
    return {one.dialogue_id: len(one.turns) for one in dialogues}


def test_an_export_becomes_part_of_its_corpus_and_is_moved_aside(tmp_path, imported):
    put(tmp_path / "inbox" / "calls", "export.csv")
    [arrival] = take(tmp_path)
    assert (arrival.corpus, arrival.refused, arrival.dialogues, arrival.set_aside) == ("calls", "", 0, 1)
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


def test_a_reason_names_the_file_where_it_is_now(tmp_path, imported, monkeypatch):
    monkeypatch.setattr(inbox, "rehearse", lambda root, path, **_: f"{path} is not UTF-8.")
    put(tmp_path / "inbox" / "calls", "odd.csv")
    [arrival] = take(tmp_path)
    assert arrival.refused == f"{next((tmp_path / 'inbox/refused/calls').glob('odd-*.csv'))} is not UTF-8."


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
    assert all("stays in place: expected inbox/<corpus>/<file>" in line for line in said)


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
    assert "link.csv stays in place: it is a link" in said[0]
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


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_what_a_writer_adds_after_a_pause_is_imported_too(project, form):
    path = project / "inbox" / "calls" / f"export.{form}"
    path.parent.mkdir(parents=True)
    whole = ("dialogue_id,speaker,text\n" if form == "csv" else "") + lines(range(20), form)
    # In the middle of the eleventh dialogue, and of a line.
    cut = whole.index("d10") + len(lines(range(10, 11), form)) // 2
    with path.open("w") as writer:
        writer.write(whole[:cut])
        writer.flush()
        os.utime(path, (OLD, OLD))
        assert len(take(project)) == 1
        assert len(corpus(project)) in (10, 11)
        writer.write(whole[cut:])
    [moved] = (project / "inbox" / "imported" / "calls").iterdir()
    assert take(project) == []
    os.utime(moved, (OLD, OLD))
    assert [(one.dialogues, one.set_aside, one.refused) for one in take(project)] == [(20, 0, "")]
    assert corpus(project) == {f"d{n}": 3 for n in range(20)}
    assert moved.read_text() == whole
    assert take(project) == []


def test_an_export_that_was_refused_by_half_is_imported_when_it_is_whole(project):
    whole = json.dumps([json.loads(line) for line in lines(range(5), "jsonl").splitlines()])
    put(project / "inbox" / "calls", "export.json", whole[:200])
    [half] = take(project)
    assert "not valid JSON" in half.refused
    put(project / "inbox" / "refused" / "calls", half.name, whole)
    assert [(one.name, one.refused, one.dialogues) for one in take(project)] == [(half.name, "", 5)]
    assert files(project) == [f"imported/calls/{half.name}"]


def test_a_file_that_grows_while_it_is_read_waits_for_the_next_time(tmp_path, imported, monkeypatch):
    put(tmp_path / "inbox" / "calls", "export.csv")
    import_export = inbox.import_export

    def growing(root: Path, source: Path, **options: Any) -> ImportResult:
        result = import_export(root, source, **options)
        source.write_text("ab")
        return result

    said: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(inbox, "import_export", growing)
        assert len(take(tmp_path, said)) == 1
    assert said == ["export-ca978112.csv was written to while it was read: it is imported again the next time"]
    assert files(tmp_path) == [".taken/calls/export-ca978112.csv"]
    assert take(tmp_path) == []
    os.utime(tmp_path / "inbox" / ".taken" / "calls" / "export-ca978112.csv", (OLD, OLD))
    assert len(take(tmp_path)) == 1
    assert files(tmp_path) == ["imported/calls/export-ca978112.csv"]


def test_a_file_that_begins_as_another_did_does_not_replace_it(tmp_path, imported):
    put(tmp_path / "inbox" / "calls", "export.csv")
    take(tmp_path)
    put(tmp_path / "inbox" / "imported" / "calls", "export-ca978112.csv", "ab")
    put(tmp_path / "inbox" / "calls", "export.csv")
    assert [arrival.name for arrival in take(tmp_path)] == ["export-ca978112-2.csv", "export-ca978112.csv"]
    assert (tmp_path / "inbox" / "imported" / "calls" / "export-ca978112.csv").read_text() == "ab"


@pytest.mark.parametrize("text", ["ab", "bad"])
@pytest.mark.parametrize("step", range(1, 9))
def test_a_grown_file_is_imported_whole_wherever_its_import_is_killed(tmp_path, imported, monkeypatch, step, text):
    put(tmp_path / "inbox" / "calls", "export.csv")
    take(tmp_path)
    name = "export-ca978112.csv"
    put(tmp_path / "inbox" / "imported" / "calls", name, text)
    steps = []

    def killed(work: Any) -> Any:
        def wrapped(*values: Any, **options: Any) -> Any:
            steps.append(work)
            if len(steps) == step:
                raise KeyboardInterrupt
            return work(*values, **options)

        return wrapped

    with monkeypatch.context() as patch:
        for work in ("move", "write_json", "import_export"):
            patch.setattr(inbox, work, killed(getattr(inbox, work)))
        patch.setattr(Path, "unlink", killed(Path.unlink))
        try:
            take(tmp_path)
        except KeyboardInterrupt:
            assert len(files(tmp_path)) <= 2
    take(tmp_path)
    done = [f"refused/calls/{name}", f"refused/calls/{name}.reason.txt"]
    assert files(tmp_path) == ([f"imported/calls/{name}"] if text == "ab" else done)
    assert text == "bad" or imported[-1] == ("calls", name)
    assert take(tmp_path) == []


def test_a_file_that_grows_while_it_is_copied_to_another_disk_is_copied_again(tmp_path, monkeypatch):
    source, target = put(tmp_path, "a.csv"), tmp_path / "other" / "a.csv"
    copy, replace = shutil.copy2, Path.replace

    def growing(path: Path, temporary: Path) -> None:
        copy(path, temporary)
        if path.read_text() == "a":
            path.write_text("ab")

    def other_disk(self: Path, to: Path) -> Path:
        if self == source:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return replace(self, to)

    monkeypatch.setattr(shutil, "copy2", growing)
    monkeypatch.setattr(Path, "replace", other_disk)
    inbox_files.move(source, target)
    assert target.read_text() == "ab"
    assert not source.exists()


@pytest.mark.parametrize("text", ["a", "bad"])
def test_a_name_that_is_long_or_not_utf8_does_not_stop_the_others(tmp_path, imported, text):
    folder = tmp_path / "inbox" / "calls"
    for name in ("x" * 246 + ".csv", "é" * 120 + ".jsonl.gz", os.fsdecode(b"caf\xe9.csv"), "y." * 120 + "csv"):
        put(folder, name, text)
    put(folder, "well.csv")
    said: list[str] = []
    names = sorted(arrival.name for arrival in take(tmp_path, said))
    assert len(names) == 5
    assert all(len(name.encode()) <= 180 for name in names)
    assert names[0].startswith("caf_xe9-")
    assert [name.partition(".")[2] for name in names if "é" in name] == ["jsonl.gz"]
    json.dumps(said, ensure_ascii=False).encode()
    assert len([name for name in files(tmp_path) if name.startswith("imported/")]) == (1 if text == "bad" else 5)
    assert take(tmp_path) == []


@pytest.mark.parametrize(
    "fault",
    [MemoryError(), RecursionError("too deep"), ValueError("\udce9"), UnicodeEncodeError("ascii", "é", 0, 1, "")],
)
def test_an_error_that_nobody_foresaw_refuses_its_file_alone(tmp_path, imported, monkeypatch, fault):
    import_export = inbox.import_export

    def failing(root: Path, source: Path, **options: Any) -> ImportResult:
        if source.name.startswith("odd"):
            raise fault
        return import_export(root, source, **options)

    monkeypatch.setattr(inbox, "import_export", failing)
    for name in ("odd.csv", "well.csv"):
        put(tmp_path / "inbox" / "calls", name)
    odd, well = take(tmp_path)
    assert type(fault).__name__ in odd.refused
    odd.refused.encode()
    assert not well.refused


def test_a_file_that_cannot_be_read_stays_and_the_others_go_on(tmp_path, imported, monkeypatch):
    receipt_of = inbox.receipt_of

    def broken(path: Path) -> dict[str, Any]:
        if path.name == "odd.csv":
            raise OSError(errno.EIO, "Input/output error")
        return receipt_of(path)

    monkeypatch.setattr(inbox, "receipt_of", broken)
    for name in ("odd.csv", "well.csv"):
        put(tmp_path / "inbox" / "calls", name)
    said: list[str] = []
    assert len(take(tmp_path, said)) == 1
    assert said[0].endswith("odd.csv stays in place: Input/output error")


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(project, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    monkeypatch.setattr(rehearsal, "MOST_MEMORY", 2 << 30)
    folder = project / "inbox" / "calls"
    put(folder, "well.jsonl", lines(range(2), "jsonl"))
    put(folder, "broken.parquet", "PAR1 and no more")
    # Within the bounds of importing, because the other column does not pack.
    text = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 3900, pyarrow.int32()), ["x" * 1_000_000])
    ids, noise = [f"d{number}" for number in range(3900)], [os.urandom(3400).hex() for _ in range(3900)]
    path = folder / "bomb.parquet"
    columns = {"dialogue_id": ids, "speaker": ["a"] * 3900, "noise": noise, "text": text}
    parquet.write_table(pyarrow.table(columns), path)
    assert path.stat().st_size < 40_000_000
    os.utime(path, (OLD, OLD))
    bomb, broken, well = take(project)
    assert "within 2 GB of memory" in bomb.refused
    assert "expected a whole Parquet file" in broken.refused
    assert (well.refused, well.dialogues) == ("", 2)


def test_a_stopped_service_refuses_no_file(project, monkeypatch):
    put(project / "inbox" / "calls", "export.jsonl", lines(range(2), "jsonl"))
    with monkeypatch.context() as patch:
        done = subprocess.CompletedProcess([], -signal.SIGTERM, stderr="")
        patch.setattr(rehearsal.subprocess, "run", lambda *a, **k: done)
        with pytest.raises(Dial2vecError, match="was stopped"):
            take(project)
    assert [arrival.refused for arrival in take(project)] == [""]
