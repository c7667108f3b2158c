"""The page and the picture of an explanation, and the command that writes them."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from conversations.dialogue import write_dialogues
from dial2vec.cli import main
from tests.conftest import make_dialogue

TWO = [make_dialogue("one", "ann: w1 <b>w2</b>", "bob: w3", "ann: w4 w5"), make_dialogue("two", "ann: w1", "ann: w2")]
LONG = make_dialogue("long", *[f"{'ab'[t % 2]}: w{t % 40} w7" for t in range(150)])


@pytest.fixture
def explained(tmp_path, tiny_folder, monkeypatch):
    """Call the command on a file of the given dialogues, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(dialogues, *arguments, name="calls.jsonl"):
        if name.endswith(".json"):
            (tmp_path / name).write_text(json.dumps(dialogues[0].to_record(), indent=2))
        else:
            write_dialogues(tmp_path / name, dialogues)
        return CliRunner().invoke(main, ["explain", name, "--model", tiny_folder, "--output", "page.html", *arguments])

    return call


def test_the_page_needs_no_network_and_shows_every_turn_with_its_share(explained, tmp_path):
    done = explained(TWO[:1], name="dialogue.json")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.html").read_text()
    assert not re.search(r"(src|href)=\"(?!#)|@import|url\(", page)
    assert "w1 &lt;b&gt;w2&lt;/b&gt;" in page
    assert page.count("<li id=") == 3
    assert page.count("<rect") == 2
    # Speakers and numbers of turns stand at the axes.
    assert "<b>turns of bob</b>" in page
    assert "<b>turns of ann</b>" in page
    assert re.findall(r"<span style=\"--at: ([\d.]+)%\">(\d+)</span>", page) == [
        ("50.00", "2"),
        ("25.00", "1"),
        ("75.00", "3"),
    ]
    assert page.count('<td class="number">0.') + page.count('<td class="number">−0.') == 1
    shares = [float(share.replace("−", "-")) for share in re.findall(r"<b>([−\d.]+) %</b>", page)]
    assert sum(shares) == pytest.approx(100, abs=0.2)
    assert "of 3 turns make half of the vector" in done.output
    assert "wrote page.html" in done.output


def test_a_long_dialogue_is_shown_in_blocks_and_says_so(explained, tmp_path):
    assert explained([LONG]).exit_code == 0
    page = (tmp_path / "page.html").read_text()
    assert page.count("<rect") == 60 * 60
    assert page.count("<li id=") == 150
    assert "a cell is the mean of its pairs" in page
    assert "The most similar turns" not in page
    numbers = [int(number) for number in re.findall(r"--at: [\d.]+%\">(\d+)<", page)]
    assert len(numbers) == 24
    assert numbers[0] == 2
    assert re.search(r"in \d+ windows", page)


def test_a_monologue_has_a_page_and_no_matrix(explained, tmp_path):
    assert explained(TWO, "--id", "two").exit_code == 0
    assert "nothing to match" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "holds 2 dialogues; expected one. Say which: --id one"),
        (("--id", "on"), "has no dialogue 'on', only one, two. Did you mean 'one'?"),
        (("--output", "page.pdf"), "page.pdf does not end in .html"),
    ],
)
def test_what_cannot_be_explained_gets_one_sentence(explained, arguments, message):
    done = explained(TWO, *arguments)
    assert done.exit_code == 1
    assert message in done.output


@pytest.mark.parametrize(
    ("text", "message"),
    [('{"turns": []}', "expected dialogues"), ("{", "not valid JSON"), (None, "not exist")],
)
def test_a_json_file_that_is_no_dialogue_is_named(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "calls.json").write_text(text)
    done = CliRunner().invoke(main, ["explain", "calls.json", "--output", "page.html"])
    assert done.exit_code == 1
    assert "calls.json" in done.output
    assert message in done.output
