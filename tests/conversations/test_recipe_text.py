"""What was understood of an export is a recipe that reads it in the same way."""

from __future__ import annotations

import json

import pytest

from conversations.by_recipe.recipe import known_recipes
from conversations.options import Options
from conversations.reading import read_export
from conversations.recipe_text import recipe_text
from dial2vec.errors import CorpusError

TABLE = (
    "Case No,Sent On,Person Name,Message Text,Queue,Is Internal\n"
    "7,2024-03-05 10:00,Ana,Hello there,cards,false\n"
    "7,2024-03-05 10:01,Bo,She is angry,cards,true\n"
    "7,2024-03-05 10:02,Bo,Hi you,cards,false\n"
    "8,2024-03-05 10:03,Cy,Is it open?,loans,false\n"
    "8,2024-03-05 10:04,Bo,Until six.,loans,false\n"
)
EXCHANGES = (
    "session_id,question,answer\n1,Is it open?,Until six.\n1,And on Sunday?,We are closed.\n2,Hi there,Hello you\n"
)
RECORDS = [
    {
        "ref": f"r{n}",
        "opening": {"party": "Ana", "words": "My card is lost"},
        "steps": [{"party": "Bo", "words": "Which one?"}, {"party": "Ana", "words": "The blue one."}],
    }
    for n in range(3)
]


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("table.csv", TABLE, Options()),
        ("exchanges.csv", EXCHANGES, Options()),
        ("records.json", json.dumps(RECORDS), Options(turns="steps", speaker="party", text="words", dialogue_id="ref")),
    ],
)
def test_a_saved_recipe_reads_like_the_guess(tmp_path, name, text, options):
    (tmp_path / name).write_text(text)
    guessed = read_export(tmp_path / name, options)
    (tmp_path / "mine.yaml").write_text(recipe_text(guessed))
    export = read_export(tmp_path / name, Options(recipe=str(tmp_path / "mine.yaml")))

    def spoken(dialogues):
        return [(dialogue.dialogue_id, dialogue.turns, dialogue.labels) for dialogue in dialogues]

    assert spoken(export.result.dialogues) == spoken(guessed.result.dialogues)
    assert export.result.left_out == guessed.result.left_out


def test_a_known_export_gives_the_file_of_its_recipe(tmp_path):
    example = known_recipes()["intercom"].examples[0]
    (tmp_path / example.file).write_text(example.text)
    assert recipe_text(read_export(tmp_path / example.file, Options())).startswith("title: Intercom")


def test_a_transcript_needs_no_recipe(tmp_path):
    (tmp_path / "call.txt").write_text("Agent: Hello\nCustomer: Hi\n")
    with pytest.raises(CorpusError, match="need no recipe"):
        recipe_text(read_export(tmp_path / "call.txt", Options()))
