"""An explanation names each field of the first records with what it became."""

from __future__ import annotations

from conversations.by_recipe.recipe import known_recipes
from conversations.explaining import explanation, known_exports
from conversations.options import Options
from conversations.reading import read_export


def explained(path):
    """Meaning by field, of the first record."""
    text = explanation(read_export(path, Options())).split("  record 2")[0]
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.startswith("    ")]
    return dict(line for line in lines if len(line) == 2), text


def test_fields_of_a_known_export_have_what_they_change(tmp_path):
    example = known_recipes()["intercom"].examples[0]
    (tmp_path / example.file).write_text(example.text)
    fields, text = explained(tmp_path / example.file)
    assert "read by the recipe intercom" in text
    assert fields["source.body"].startswith("text ")
    assert fields["source.author.name"].startswith("speaker ")
    assert fields["tags.tags[0].name"].startswith("label ")
    assert fields["source.author.type"].startswith("not used ")
    first = next(name for name in fields if name.endswith("[0].part_type"))
    assert fields[first].startswith("sign of what nobody said")


def test_columns_that_were_guessed_have_their_meanings(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("call_id,speaker,text,channel,is_deleted\n7,a,Hello,phone,no\n7,b,Hi,phone,no\n7,a,Bye,phone,yes\n")
    fields, text = explained(path)
    assert "no recipe fits" in text
    assert [fields[name].split("  ")[0] for name in ("call_id", "speaker", "text", "channel")] == [
        "dialogue id",
        "speaker",
        "text",
        "metadata of the dialogue",
    ]
    assert fields["is_deleted"].startswith("sign of what nobody said")


def test_known_exports_are_listed_by_name_and_title():
    assert len(known_exports().splitlines()) == len(known_recipes()) >= 90
    assert "intercom " in known_exports()
