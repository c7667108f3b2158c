from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from conversations.files import write_text
from dial2vec.config import Schedule
from dial2vec.operation.schedule import supervisor
from dial2vec.operation.schedule.runs import (
    GRACE_SECONDS,
    alive,
    has_dead,
    last_begin,
    missed_nights,
    running_folder,
    tell,
    verdict_file,
)

NIGHTLY = Schedule(cron="0 3 * * *")
HOUR = 3600


def at(day: int, hour: int) -> float:
    return datetime(2026, 3, day, hour, tzinfo=UTC).timestamp()


def begin(root: Path, when: float) -> None:
    with alive(root, "run"):
        os.utime(root / ".prefect" / "last-retraining", (when, when))


@pytest.mark.parametrize("begun", [3, 3.9])
def test_a_night_that_began_is_not_missed(tmp_path, begun):
    assert missed_nights(tmp_path, NIGHTLY, now=at(1, 20)) == ""
    begin(tmp_path, at(2, 0) + begun * HOUR)
    assert missed_nights(tmp_path, NIGHTLY, now=at(2, 8)) == ""
    assert missed_nights(tmp_path, NIGHTLY, now=at(2, 9)) == ""


def test_a_missed_night_is_told_once_and_only_after_a_while(tmp_path):
    missed_nights(tmp_path, NIGHTLY, now=at(1, 20))
    begin(tmp_path, at(1, 21))
    assert missed_nights(tmp_path, NIGHTLY, now=at(2, 3) + GRACE_SECONDS - 60) == ""
    said = missed_nights(tmp_path, NIGHTLY, now=at(2, 8))
    assert said.startswith("no retraining began at 2026-03-02 03:00 (UTC): the machine or the schedule was off")
    assert missed_nights(tmp_path, NIGHTLY, now=at(2, 9)) == ""


def test_several_missed_nights_are_one_sentence(tmp_path):
    missed_nights(tmp_path, NIGHTLY, now=at(1, 20))
    assert "at 2026-03-05 03:00 (UTC) and 3 before" in missed_nights(tmp_path, NIGHTLY, now=at(5, 8))


def test_the_first_start_and_a_changed_time_miss_nothing(tmp_path):
    assert missed_nights(tmp_path, NIGHTLY, now=at(1, 20)) == ""
    assert missed_nights(tmp_path, Schedule(cron="0 4 * * *"), now=at(9, 20)) == ""
    assert "2026-03-10 04:00" in missed_nights(tmp_path, Schedule(cron="0 4 * * *"), now=at(10, 8))


def test_a_clock_that_was_years_ahead_does_not_end_the_watch(tmp_path):
    missed_nights(tmp_path, NIGHTLY, now=at(1, 20) + 4 * 365 * 24 * HOUR)
    assert missed_nights(tmp_path, NIGHTLY, now=at(1, 20)) == ""
    assert "2026-03-02 03:00" in missed_nights(tmp_path, NIGHTLY, now=at(2, 8))


def test_the_hour_that_summer_time_skips_is_not_missed(tmp_path):
    schedule = Schedule(cron="30 2 * * *", timezone="Europe/Berlin")
    missed_nights(tmp_path, schedule, now=at(28, 20))
    begin(tmp_path, datetime(2026, 3, 29, 1, 30, tzinfo=UTC).timestamp())
    assert missed_nights(tmp_path, schedule, now=at(29, 20)) == ""


def test_a_night_without_a_verdict_is_told_in_the_form_of_a_verdict(tmp_path):
    assert tell(tmp_path, Schedule(notify="cat > told.json"), "it was killed") == ""
    record = json.loads((tmp_path / "told.json").read_text())
    assert record["failed"] == "all corpora: it was killed"
    assert tell(tmp_path, Schedule(notify="cat > told.json", notify_form="text"), "it was killed") == ""
    assert (
        f"{tmp_path.name}: retraining failed\nall corpora: failed: it was killed"
        == (json.loads((tmp_path / "told.json").read_text())["text"])
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_run_is_told_once_by_the_schedule(tmp_path, monkeypatch, number):
    script = (
        "import os, sys; from pathlib import Path; from dial2vec.operation.schedule.runs import alive\n"
        f"with alive(Path(sys.argv[1]), 'otter'): os.kill(os.getpid(), {number:d})"
    )
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)]).returncode == -number
    assert last_begin(tmp_path) > 0

    def mark_dead(root: Path, environment: object, *, strangers: bool) -> list[str]:
        for path in running_folder(root).iterdir():
            path.unlink()
        return ["calm-otter"]

    monkeypatch.setattr(supervisor, "_mark_dead", mark_dead)
    said: list[str] = []
    watch = supervisor._Watch(tmp_path, Schedule(notify="cat >> told"), {}, said.append)
    for _ in range(2):
        watch.looked = 0.0
        watch.look_again()
    assert said == [
        "the retraining calm-otter was killed before it had a verdict; the next one continues where it stopped"
    ]
    assert (tmp_path / "told").read_text().count('"began"') == 1


def test_the_schedule_prints_each_verdict_once(tmp_path):
    said: list[str] = []
    write_text(verdict_file(tmp_path), "an old one\n")
    watch = supervisor._Watch(tmp_path, Schedule(), {}, said.append, last_verdict=time.time() + 1)
    watch.say_verdict()
    write_text(verdict_file(tmp_path), "calls: promoted\n")
    os.utime(verdict_file(tmp_path), (watch.last_verdict + 1, watch.last_verdict + 1))
    watch.say_verdict()
    watch.say_verdict()
    assert said == ["calls: promoted"]


def test_a_run_that_ends_is_not_called_killed(tmp_path):
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), alive(tmp_path, "run"):
            raise error
    assert not has_dead(tmp_path)
