from __future__ import annotations

import csv
import io
import json

import pytest
from click.testing import CliRunner

from dial2vec.cli import main

from .conftest import call
from .test_comparing import CALLS


def run(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(main, [str(word) for word in words], env={"COLUMNS": "120"})
    assert result.exit_code == status, result.output
    return result.stdout if not status else result.stderr


@pytest.fixture
def folder(make):
    return make(CALLS, k=3).folder


def test_groups_shows_sizes_means_and_what_stands_out(folder):
    lines = run("groups", folder).splitlines()
    assert lines[0].split() == ["id", "size", "share", "name", "csat"]
    # 40 ratings of 4 and 20 of 2: mean 10/3, variance 60 · 8/9 / 59.
    assert lines[1].split() == ["10", "60", "54.5%", "cards", "3.3", "±", "0.95"]
    assert lines[2].strip() == "* 33% by chat (others 0%); csat 3.3 (others 4.0)"
    assert lines[-1].startswith("* differs clearly")


def test_groups_as_json_and_csv(folder):
    records = json.loads(run("groups", folder, "--json"))
    assert [record["id"] for record in records] == [10, 12, 11]
    assert records[0]["mean.csat"] == pytest.approx(10 / 3)
    [first, *_] = csv.DictReader(io.StringIO(run("groups", folder, "--csv")))
    assert (first["name"], first["size"], first["area"]) == ("cards", "60", "money")


def test_groups_over_time_names_the_changes(folder):
    text = run("groups", folder, "--over", "month")
    assert "2026-04    2026-05" in text
    assert "2026-05  cards (10) shrank from 80% to 33% (" in text
    assert "2026-05  fraud (12) is new, from 0% to 50% (" in text
    [first, *_] = json.loads(run("groups", folder, "--over", "month", "--json"))
    assert first["period"].startswith("2026-04-01T00:00:00")
    assert first["p"] is None


def test_groups_over_time_says_that_nothing_changed(make):
    collection = make([one | {"date": f"2026-0{month}-01"} for month in (4, 5) for one in (*call(0, 4), *call(1, 4))])
    assert run("groups", collection.folder, "--over", "month").splitlines()[-1] == "  none"


def test_a_text_that_a_spreadsheet_would_take_for_a_formula_is_marked(make):
    calls = [*call(0, 20, metadata={"=key": "x"}), *call(1, 20, metadata={"=key": "y"})]
    [first, *_] = csv.DictReader(io.StringIO(run("groups", make(calls).folder, "--csv")))
    assert first["stands_out"].startswith("'=key = ")


def test_compare_shows_changes_with_dialogues(folder):
    text = run("compare", folder, "--before", "2026-05-01", "--after", "2026-05-01")
    assert text.startswith("50 dialogues before, 60 after\nGroups: 1 clear change\n  fraud (12) is new, from 0% to 50%")
    assert "  all dialogues: csat fell from 4.0 to 3.3 (" in text
    assert "  cards (10): channel = chat is new, from 0% to 100% (" in text
    # The turn that has the term, not the opening.
    assert "  cards (10): card is gone, from 100% to 0% (" in text
    assert "  my card is lost\n" in text


def test_compare_as_json(folder):
    record = json.loads(run("compare", folder, "--after", "2026-05-01", "--json"))
    assert list(record) == ["since", "n_before", "n_after", "groups", "metadata", "terms", "dialogues"]
    assert record["groups"][0]["group"] == 12
    assert record["groups"][-1]["group"] is None
    assert record["dialogues"][0]["side"] == "after"


def test_compare_takes_two_collections(make, folder):
    more = make(CALLS[50:80], name="more", k=0)
    assert run("compare", folder, more.folder).startswith("110 dialogues before, 30 after")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("groups", "--json", "--csv"), "found both --json and --csv; expected one of them. Leave one out."),
        (("groups", "--over", "week", "--key", "csat"), "found --key with --over, which shows no metadata"),
        (("groups", "--key", "cast"), "has metadata 'cast'; expected one of: channel, csat. Did you mean 'csat'?"),
        (("compare", "--before", "2020-01-01"), "has no dialogue before 2020-01-01"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_sentence(folder, words, message):
    command, *options = words
    text = run(command, folder, *options, status=1)
    assert text.startswith("Error: ")
    assert message in text
    assert text.count("\n") == 1
