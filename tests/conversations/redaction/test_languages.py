"""Planted details in five languages: what is left of them is what the manual says, no more and no less."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from conversations.redaction.folding import folded
from dial2vec.cli import main

ROOT = Path(__file__).parents[3]
PLANTED = yaml.safe_load(Path(__file__).with_name("planted.yaml").read_text("utf-8"))
COUNTRIES = {"English": ("US", "GB"), "German": ("DE",), "Spanish": ("ES",), "Russian": ("RU",), "Japanese": ("JP",)}
DETAIL = re.compile(r"\{(.+?)\}", re.DOTALL)


def imported(folder, monkeypatch, language):
    """Import the turns of a language with masks, and return everything that was written or shown, folded."""
    planted = PLANTED[language]
    monkeypatch.chdir(folder)
    with (folder / "calls.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["dialogue_id", "speaker", "text"])
        for at, turn in enumerate([*planted["masked"], *planted["left"].values()]):
            speakers = planted["speakers"]
            table.writerow([f"d{at // 3}", speakers[at % len(speakers)], DETAIL.sub(r"\1", turn)])
        table.writerows([f"e{at}", name, "ok"] for at, name in enumerate(planted["speakers"]))
    countries = (argument for country in COUNTRIES[language] for argument in ("--phone-country", country))
    done = CliRunner().invoke(main, ["import", "calls.csv", "--output", "out/calls.jsonl", "--redact", *countries])
    assert done.exit_code == 0, done.output
    files = [path.read_text("utf-8") for path in (folder / "out").rglob("*") if path.is_file()]
    return folded("\n".join([done.output, *files]))


def details(turn):
    return [folded(detail) for detail in DETAIL.findall(turn)]


@pytest.mark.parametrize("language", PLANTED)
def test_what_is_left_of_planted_details_is_what_the_manual_says(tmp_path, monkeypatch, language):
    written = imported(tmp_path, monkeypatch, language)
    assert [detail for turn in PLANTED[language]["masked"] for detail in details(turn) if detail in written] == []
    left = {name for name, turn in PLANTED[language]["left"].items() if all(map(written.count, details(turn)))}
    assert left == PLANTED[language]["left"].keys()


def test_the_manual_lists_what_is_left_and_each_has_a_planted_detail():
    page = " ".join((ROOT / "docs" / "import.md").read_text("utf-8").split())
    listed = re.search(r"\*\*Not masked: (.+?)\.\*\*", page)[1].split(", ")
    assert sorted(listed) == sorted(
        {name for planted in PLANTED.values() for name in planted["left"]} | {"names of files"}
    )


def test_the_name_of_a_file_is_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Anna Lee.csv").write_text("dialogue_id,speaker,text\n1,Anna Lee,hello\n1,agent,hi\n")
    done = CliRunner().invoke(main, ["import", "Anna Lee.csv", "--output", "calls.jsonl", "--redact"])
    assert done.exit_code == 0, done.output
    assert "Anna Lee.csv" in (tmp_path / ".calls.import.json").read_text()
