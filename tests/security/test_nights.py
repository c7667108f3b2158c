"""Attacks on the nights: what a notice gives away, how long it may take, and what a verdict shows."""

from __future__ import annotations

import json
import os
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from dial2vec.addresses import masked
from dial2vec.config import Schedule
from dial2vec.operation import notify as notice
from dial2vec.operation.schedule import rehearsal
from dial2vec.operation.schedule.inbox import Arrival, take_in
from dial2vec.operation.schedule.rehearsal import without_quotes
from dial2vec.operation.schedule.result import CorpusResult, Retraining
from dial2vec.project import dvc

SECRET = "T0K3N"


def told(hook: str, root: Path) -> str:
    return notice.notify(Schedule(notify=hook), {"failed": ""}, text="", root=root)


@contextmanager
def answering(*blocks: bytes, pause: float = 0) -> Iterator[tuple[str, list[bytes]]]:
    """A server that sends these blocks to everybody, and what it has received."""
    got: list[bytes] = []

    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                got.extend(filter(None, [connection.recv(65536)]))
                for block in blocks:
                    connection.sendall(block)
                    ended.wait(pause)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        place = listening.getsockname()
        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        yield f"127.0.0.1:{place[1]}", got
        ended.set()
        # The thread is not left at a socket whose number the next server gets.
        with suppress(OSError):
            socket.create_connection(place).close()
        serving.join()


@pytest.mark.parametrize(
    "hook",
    [
        f"http://127.0.0.1:9/hooks/{SECRET}",
        f"http://127.0.0.1:9/?key={SECRET}#{SECRET}",
        f"http://bot:{SECRET}@127.0.0.1:9/hook",
        f"HTTP://bot:a/{SECRET}@127.0.0.1:9/hook",
        f"http://127.0.0.1:9/a blank {SECRET}",
        f"echo failed at http://127.0.0.1:9/{SECRET} >&2; exit 1",
        f"KEY={SECRET} false",
        f"no-such-command {SECRET}",
    ],
)
def test_a_reason_never_shows_the_secret_of_the_address_or_command(tmp_path, hook):
    said = told(hook, tmp_path)
    assert "could not be told" in said
    assert SECRET not in said


def test_only_scheme_and_host_of_an_address_are_shown():
    assert masked(f"https://bot:{SECRET}@chat.example:8443/a/{SECRET}?x={SECRET}") == "https://chat.example:8443/…"
    assert masked("see http://127.0.0.1:5000 first") == "see http://127.0.0.1:5000 first"


def test_a_password_in_the_address_is_sent_as_a_header(tmp_path):
    with answering(b"HTTP/1.0 204 none\r\n\r\n") as (place, got):
        assert told(f"http://bot:a%2Fb@{place}/hook", tmp_path) == ""
    assert b"Authorization: Basic Ym90OmEvYg==" in got[0]
    assert got[0].startswith(b"POST /hook HTTP")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_not_followed(tmp_path, status):
    with (
        answering(b"HTTP/1.0 200 fine\r\n\r\n") as (other, theirs),
        answering(f"HTTP/1.0 {status} moved\r\nLocation: http://{other}/{SECRET}\r\n\r\n".encode()) as (place, _),
    ):
        said = told(f"http://{place}/hook", tmp_path)
    assert said.endswith(f"could not be told: it answered with status {status}; redirects are not followed")
    assert theirs == []


@pytest.mark.parametrize("first", [b"HTTP/1.0 200 fine\r\n", b"HTTP/1.1 100 go on\r\n\r\n"])
def test_an_answer_that_never_ends_is_cut_off_after_the_whole_time(tmp_path, monkeypatch, first):
    monkeypatch.setattr(notice, "SECONDS", 2)
    more = first if b"100" in first else b"X: y\r\n"
    began = time.monotonic()
    with answering(first, *[more] * 60, pause=0.2) as (place, _):
        assert "timed out after 2 seconds" in told(f"http://{place}/hook", tmp_path)
    assert time.monotonic() - began < 5


def test_an_endless_body_of_an_answer_is_not_read(tmp_path):
    with answering(b"HTTP/1.0 200 fine\r\n\r\n", *[b"x" * 1_000_000] * 50) as (place, _):
        assert told(f"http://{place}/hook", tmp_path) == ""


def test_an_endless_error_output_takes_no_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(notice, "SECONDS", 3)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "timed out" in told("yes nonsense >&2", tmp_path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_a_long_reason_is_cut(tmp_path):
    assert len(told("head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1", tmp_path)) < 400


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """The inbox of the corpus `calls`, in a project."""
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).touch()
    folder = tmp_path / "inbox" / "calls"
    folder.mkdir(parents=True)
    return folder


def taken(box: Path) -> tuple[list[Arrival], str]:
    """What was taken from the inbox, and what was said."""
    said: list[str] = []
    root = box.parents[1]
    return take_in(root, root / "inbox", ["calls"], redact=False, say=said.append), "\n".join(said)


def test_what_is_no_file_is_told_and_never_opened(box, monkeypatch):
    os.mkfifo(box / "pipe.jsonl")
    os.mkfifo(box.parent / "outside.jsonl")
    (box / "week").mkdir()
    (box / "lost.csv").symlink_to("nowhere")
    # By a short name: such addresses hold about 100 bytes.
    monkeypatch.chdir(box)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("door")
        arrivals, said = taken(box)
    assert arrivals == []
    for name, kind in {
        "pipe.jsonl": "a named pipe",
        "week": "a folder",
        "lost.csv": "a link",
        "door": "a socket",
    }.items():
        assert f"{box / name} stays in place: it is {kind}" in said
    assert f"{box.parent / 'outside.jsonl'} stays in place" in said


def test_a_file_that_takes_too_long_to_read_is_set_aside_with_the_reason(box, monkeypatch):
    # One cell, without an end of its own.
    (box / "endless.csv").write_bytes(b'id,speaker,text\n1,a,"' + bytes(10_000_000))
    os.utime(box / "endless.csv", (1, 1))
    monkeypatch.setattr(rehearsal, "LONGEST_READING", 0.3)
    [arrival], _ = taken(box)
    assert "reading it took longer than 0.005 minutes and was ended" in arrival.refused
    [aside] = (box.parent / "refused" / "calls").glob("*.reason.txt")
    assert aside.read_text().strip() == arrival.refused
    assert not list(box.iterdir())


@pytest.mark.parametrize(
    "text", ["[x](javascript:alert(1))", "<javascript:alert(1)>", "![x](javascript:y)", "[x]: javascript:y"]
)
def test_a_verdict_has_no_link_from_outside(text):
    markdown = pytest.importorskip("markdown")
    done = Retraining(corpora=[CorpusResult("calls", failed=text)], notes=[f"\n\n{text}"])
    done.arrived([Arrival("calls", f"{text}.csv"), Arrival("calls", f"\\{text}.csv", f"\\{text}")])
    page = markdown.markdown(done.to_markdown(page="http://here"))
    for tag in ("<a", "<img", "<javascript"):
        assert tag not in page
    assert text in "".join(page).replace("&lt;", "<").replace("&gt;", ">")


def test_a_night_says_how_many_dialogues_came_and_nothing_that_is_in_them(tmp_path, monkeypatch):
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).touch()
    for name in ("restore_data", "add_data"):
        monkeypatch.setattr(dvc, name, lambda root: None)
    turns = "my hamster zzhamster ran and then it came back at night"
    exports = {
        "may.csv": "id,speaker,text\nd1,agent,good day\nd1,Marta,my hamster zzhamster\n",
        # The turns are one text, which the reason of the refusal quotes.
        "bad.jsonl": json.dumps({"dialogue_id": "d2", "turns": turns}),
    }
    for name, text in exports.items():
        path = tmp_path / "inbox" / "calls" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (0, 0))
    said: list[str] = []
    done = Retraining()
    done.arrived(take_in(tmp_path, tmp_path / "inbox", ["calls"], redact=False, say=said.append))
    assert [line for line in said if "1 can be used, 0 quarantined" in line]
    assert done.refused
    told = "\n".join([*said, done.to_markdown(page=""), done.to_text("project")])
    assert not [word for word in ("zzhamster", "Marta", "good day") if word in told]


def test_a_reason_in_a_log_quotes_no_long_text():
    reason = "x's column 'speaker' holds {}, which names nobody's voice"
    text = repr("I have lost my card, it isn't here")
    assert without_quotes(reason.format(text)) == reason.format("'...'")
