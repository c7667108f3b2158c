"""The number of threads: measured in long work only, never above what was set, and set back at the end."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import torch

from dial2vec.encoder import DialogueEncoder, threads
from dial2vec.encoder.threads import counts, fitting_threads, measure


@pytest.fixture
def four_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    for name, value in (("most", 0), ("chosen", 0), ("moment", float("-inf"))):
        monkeypatch.setattr(threads._Known, name, value)
    yield
    torch.set_num_threads(before)


def measured(monkeypatch: pytest.MonkeyPatch, *rounds: dict[int, float]) -> list[list[int]]:
    """Replace each measurement by the next one of these; return what was asked."""
    asked: list[list[int]] = []
    left = list(rounds)

    def take(numbers: list[int]) -> dict[int, float]:
        asked.append(list(numbers))
        return left.pop(0)

    monkeypatch.setattr(threads, "measure", take)
    return asked


@pytest.mark.parametrize(("most", "expected"), [(1, [1]), (2, [2, 1]), (6, [6, 3, 1]), (16, [16, 8, 4, 2, 1])])
def test_all_threads_and_one_are_always_tried(most: int, expected: list[int]) -> None:
    assert counts(most) == expected


def test_the_fastest_number_is_used_and_said_and_set_back(
    four_threads: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked = measured(monkeypatch, {4: 0.8, 2: 0.1, 1: 0.2})
    with caplog.at_level(logging.WARNING), fitting_threads(1000, "cpu") as adapt:
        assert torch.get_num_threads() == 2
        adapt()
    assert torch.get_num_threads() == 4
    assert asked == [[4, 2, 1]]
    assert "computing with 2 of 4 threads" in caplog.text
    assert "8.0 times as long" in caplog.text


def test_it_is_measured_again_after_a_while_and_said_only_when_it_changes(
    four_threads: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    monkeypatch.setattr(threads.time, "monotonic", lambda: now[0])
    slow, idle = {4: 3.0, 2: 2.0, 1: 1.0}, {4: 1.0, 2: 2.0, 1: 3.0}
    asked = measured(monkeypatch, slow, slow, idle)
    numbers = []
    with caplog.at_level(logging.WARNING), fitting_threads(1000, "cpu") as adapt:
        for moment in (0.0, 59.0, 61.0, 122.0):
            now[0] = moment
            adapt()
            numbers.append(torch.get_num_threads())
    assert numbers == [1, 1, 1, 4]
    assert len(asked) == 3
    assert len(caplog.records) == 1


@pytest.mark.parametrize(("n", "device"), [(3, "cpu"), (1000, "cuda")])
def test_short_work_and_a_gpu_are_not_measured(
    four_threads: None, monkeypatch: pytest.MonkeyPatch, n: int, device: str
) -> None:
    asked = measured(monkeypatch)
    with fitting_threads(n, device) as adapt:
        adapt()
        assert torch.get_num_threads() == 4
    assert asked == []


def test_one_thread_stays_one(four_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    asked = measured(monkeypatch)
    with fitting_threads(1000, "cpu"):
        assert torch.get_num_threads() == 1
    assert asked == []


def test_an_error_sets_the_number_back(four_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    measured(monkeypatch, {4: 2.0, 2: 2.0, 1: 1.0})
    with pytest.raises(RuntimeError), fitting_threads(1000, "cpu"):
        raise RuntimeError
    assert torch.get_num_threads() == 4


def test_measuring_times_every_number(four_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    monkeypatch.setattr(threads, "_work", lambda *_: used.append(torch.get_num_threads()))
    taken = measure([4, 1])
    assert set(taken) == {4, 1}
    assert used == [4, 4, 1, 1] * threads.RUNS
    assert all(seconds >= 0 for seconds in taken.values())


def test_reading_many_dialogues_adapts(tiny_folder: str, four_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    asked = measured(monkeypatch, {4: 3.0, 2: 2.0, 1: 1.0})
    few = encoder.encode_utterances(["w1 w2"] * 3)
    assert asked == []
    many = encoder.encode_utterances(["w1 w2"] * 250)
    assert asked == [[4, 2, 1]]
    assert torch.get_num_threads() == 4
    torch.testing.assert_close(torch.from_numpy(many[:3]), torch.from_numpy(few))
