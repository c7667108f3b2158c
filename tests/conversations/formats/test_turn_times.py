from __future__ import annotations

import random

import pytest

from conversations.formats.plain_text import turn_order
from conversations.values.times import ClockReading
from tests.conversations.exports import imported

SAID = ["Kim: Is it open?", "Ann: Until 8", "Kim: Good", "Ann: Bye"]


def read(tmp_path, lines, name="chat.txt", **options):
    result = imported(tmp_path, name, "\n".join(lines) + "\n", **options)
    return [[f"{turn.speaker}: {turn.text}" for turn in item.turns] for item in result.dialogues], result


def stamped(form, at=(1, 2, 3, 4), said=SAID):
    return [form.format(minute, *line.split(": ", 1)) for minute, line in zip(at, said, strict=True)]


@pytest.mark.parametrize(
    "form",
    [
        "2024-03-01 10:0{} | {} | {}",
        "[2024-03-01T10:0{}:00Z] {}: {}",
        "{1}, Mar 1, 2024, 10:0{0} AM\n{2}\n",
        "{1}\n3/1/2024 10:0{0} AM\n{2}\n",
        "[2024-03-01 10:0{}]{}: {}",
        "[2024-03-01 10:0{}] {}: {}",
    ],
)
def test_times_of_lines_sort_the_turns_and_date_the_dialogue(tmp_path, form):
    for lines in (stamped(form), stamped(form)[::-1]):
        found, result = read(tmp_path, lines)
        assert found == [SAID]
        assert (result.dialogues[0].date or "").startswith("2024-03-01" if "3/1" not in form else "2024-0")


def test_a_date_above_clocks_dates_them_and_keeps_the_days_apart(tmp_path):
    lines = ["2024-03-01", *stamped("1{}:00 {}: {}")[:2], "2024-03-02", *stamped("0{}:00 {}: {}")[2:]]
    found, result = read(tmp_path, lines)
    assert found == [SAID]
    assert result.dialogues[0].date == "2024-03-01T11:00:00+00:00"


def test_two_channels_and_overlaps_are_sorted_by_clock(tmp_path):
    channels = [stamped("[00:0{}] {}: {}")[at] for at in (0, 2, 1, 3)]
    assert read(tmp_path, channels)[0] == [SAID]
    overlap = stamped("[00:00:0{}] {}: {}")
    assert read(tmp_path, [overlap[1], overlap[0], *overlap[2:]])[0] == [SAID]


def test_a_clock_without_a_date_may_begin_another_day(tmp_path):
    assert read(tmp_path, stamped("{}0:15 {}: {}", (1, 2, 1, 2)))[0] == [SAID]
    assert read(tmp_path, stamped("{}0:15:00 {}: {}", (1, 2, 0, 1)))[0] == [SAID]


@pytest.mark.parametrize("seed", range(20))
def test_any_order_of_dated_turns_gives_the_same_dialogue(seed):
    times = [f"2024-03-{day:02} 10:00" for day in range(1, 9)]
    shuffled = random.Random(seed).sample(times, len(times))
    speakers = ["a", "b"] * 4
    assert [shuffled[at] for at in turn_order(shuffled, speakers, ClockReading())] == times
    missing = ["", *shuffled[1:]]
    assert turn_order(missing, speakers, ClockReading()) == list(range(8))


def test_a_system_beside_two_people_says_nothing(tmp_path):
    lines = ["System: Chat started", *SAID, "System: Chat ended"]
    found, result = read(tmp_path, lines)
    assert found == [SAID]
    assert result.left_out == {"system": 2}
    assert len(read(tmp_path, lines, keep=("system",))[0][0]) == 6
    assert read(tmp_path, ["User: A taxi", "System: Where to?"])[0] == [["User: A taxi", "System: Where to?"]]
    cell = ["id,transcript", *(f'{at},"' + "\n".join(lines) + '"' for at in (1, 2))]
    assert read(tmp_path, cell, "calls.csv")[0] == [SAID, SAID]
