"""The number of threads follows the cores that are free, stays below what was set, and is set back at the end."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.cpu import threads
from dial2vec.encoder.cpu.threads import Moment, fitting_threads, idle_seconds, steady_threads, unclaimed_cores


@pytest.fixture
def four_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def moments(monkeypatch: pytest.MonkeyPatch, *seen: Moment, unclaimed: int = 4) -> None:
    """Let the machine be seen like this, one look after the other; the last one stays."""
    left = list(seen)
    monkeypatch.setattr(threads, "unclaimed_cores", lambda: unclaimed)
    monkeypatch.setattr(Moment, "now", classmethod(lambda cls: left.pop(0) if len(left) > 1 else left[0]))


def test_idle_seconds_are_those_of_the_cores_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads.os, "sysconf", lambda name: 100)
    text = "cpu  9 9 9 900 90 9\ncpu0 1 2 3 400 50 6\ncpu1 1 2 3 200 20 6\ncpu10 1 2 3 7000 0 6\nintr 5\n"
    assert idle_seconds(text, {0}) == 4.5
    assert idle_seconds(text, {0, 1}) == 6.7


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5 0.4 0.3 1/231 99\n", 4),
        ("9.0 4 3 2/231 99", 4),
        ("9.0 4 3 3/231 99", 3),
        ("0 0 0 12/90 9", -6),
        ("0 0 0 0/90 9", 4),
        ("what", None),
    ],
)
def test_unclaimed_cores_are_those_that_no_other_process_wants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: int | None
) -> None:
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(threads, "LOAD", tmp_path / "loadavg")
    monkeypatch.setattr(threads, "OWN_THREADS", tmp_path / "task")
    # Two threads of this process run, one of them with a name that is hard to read; one sleeps, and one has ended.
    for number, thread in enumerate(("7 (python) R 1", "8 (a) R) R 1", "9 (b R) S 1", "")):
        (tmp_path / "task" / str(number)).mkdir(parents=True)
        (tmp_path / "task" / str(number) / "stat").write_text(thread)
    assert unclaimed_cores() is None
    (tmp_path / "loadavg").write_text(text)
    assert unclaimed_cores() == expected


@pytest.mark.parametrize(("unclaimed", "expected"), [(4, 4), (3, 3), (1, 1), (-36, 1), (9, 4)])
def test_the_first_steps_leave_the_cores_that_others_want(
    four_threads: None, monkeypatch: pytest.MonkeyPatch, unclaimed: int, expected: int
) -> None:
    moments(monkeypatch, Moment(0, 0, 0), Moment(0.2, 0.2, 0), Moment(0.3, 0.3, 0.9), unclaimed=unclaimed)
    numbers = []
    with fitting_threads("cpu") as adapt:
        for _ in range(4):
            adapt()
            numbers.append(torch.get_num_threads())
    # The first step is begun without a look, the second one with the first look, the third one too early.
    assert numbers == [expected, expected, expected, 4]
    assert torch.get_num_threads() == 4


def test_work_of_one_step_does_not_look_at_all_cores(four_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "unclaimed_cores", lambda: 2)
    monkeypatch.setattr(Moment, "now", classmethod(lambda cls: pytest.fail("it read /proc/stat")))
    with fitting_threads("cpu") as adapt:
        adapt()
        assert torch.get_num_threads() == 2


def test_this_machine_says_what_its_cores_do() -> None:
    first = Moment.now()
    if first is None:
        pytest.skip("no /proc/stat here")
    sum(range(2_000_000))
    later = Moment.now()
    assert later is not None
    assert later.own > first.own
    assert later.idle >= first.idle
    assert 0 < later.free_cores(first) <= (threads.os.cpu_count() or 1) + 1


@pytest.mark.parametrize(
    ("own", "idle", "expected"),
    [
        (8.0, 0.0, 4),  # all four worked
        (2.0, 6.0, 4),  # a part that one thread does; the rest was idle
        (4.0, 0.0, 2),  # others hold two cores
        (3.0, 0.4, 1),  # 1.7 cores: two threads would wait for each other
        (3.6, 0.0, 2),  # 1.8 cores and the tolerance
        (0.5, 0.0, 1),
        (8.0, 40.0, 4),  # never more than were set
    ],
)
def test_threads_are_the_free_cores(
    four_threads: None, monkeypatch: pytest.MonkeyPatch, own: float, idle: float, expected: int
) -> None:
    moments(monkeypatch, Moment(10.0, 1.0, 5.0), Moment(12.0, 1.0 + own, 5.0 + idle))
    with fitting_threads("cpu") as adapt:
        adapt()
        adapt()
        assert torch.get_num_threads() == 4
        adapt()
        assert torch.get_num_threads() == expected
    assert torch.get_num_threads() == 4


def test_they_come_back_when_other_work_ends_and_each_change_is_said(
    four_threads: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    seen = [Moment(0, 0, 0), Moment(0.2, 0.2, 0), Moment(1, 1, 0), Moment(1.9, 1.9, 9), Moment(4, 4, 0)]
    seen.append(Moment(6, 6, 6.5))
    moments(monkeypatch, *seen)
    numbers = []
    with caplog.at_level(logging.INFO), fitting_threads("cpu") as adapt:
        adapt()
        for _ in seen:
            adapt()
            numbers.append(torch.get_num_threads())
    # The second and the fourth look were too early to tell.
    assert numbers == [4, 4, 1, 1, 1, 4]
    assert [record.getMessage() for record in caplog.records] == [
        "computing with 1 of 4 threads: 1.0 cores are free for this",
        "computing with 4 of 4 threads: 4.2 cores are free for this",
    ]


def test_a_gpu_one_thread_and_an_unknown_machine_stay_as_they_are(
    four_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments(monkeypatch, Moment(0, 0, 0), Moment(5, 1, 0), unclaimed=1)
    with fitting_threads("cuda") as adapt:
        adapt()
        assert torch.get_num_threads() == 4
    monkeypatch.undo()
    monkeypatch.setattr(threads, "LOAD", Path("/nowhere"))
    with fitting_threads("cpu") as adapt:
        adapt()
        assert torch.get_num_threads() == 4


def test_an_error_sets_the_number_back(four_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    moments(monkeypatch, Moment(0, 0, 0), Moment(5, 1, 0), unclaimed=1)

    def fail() -> None:
        with fitting_threads("cpu") as adapt:
            adapt()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert torch.get_num_threads() == 4


def test_reading_adapts_between_batches(tiny_folder: str, four_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    moments(monkeypatch, Moment(0, 0, 0), Moment(5, 5, 0), unclaimed=2)
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    used = []
    encoder.backbone.register_forward_hook(lambda *_: used.append(torch.get_num_threads()))
    encoder.encode_utterances(["w1 w2"] * 9, batch_size=3)
    assert used == [2, 2, 1]
    assert torch.get_num_threads() == 4


def test_a_training_keeps_the_number_that_it_began_with(
    tmp_path: Path, four_threads: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(threads, "LOOK", 0.0)
    moments(monkeypatch, Moment(0, 0, 0), Moment(1, 0, 2.1))
    with caplog.at_level(logging.INFO), steady_threads(tmp_path / "threads.json", "cpu"):
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == 4
    assert "computing with 2 of 4 threads" in caplog.text
    # Killed, and begun again on an idle machine.
    moments(monkeypatch, Moment(0, 0, 0), Moment(1, 0, 4))
    with steady_threads(tmp_path / "threads.json", "cpu"):
        assert torch.get_num_threads() == 2
    torch.set_num_threads(1)
    with steady_threads(tmp_path / "threads.json", "cpu"):
        assert torch.get_num_threads() == 1
