from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from conversations.by_recipe.known import known_recipes
from conversations.explaining import explanation, refusal
from conversations.options import Options
from conversations.reading import read_export
from dial2vec.cli import main
from dial2vec.errors import CorpusError


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.json", json.dumps({"data": [{"no": 1, "said": {"who": "hi"}}], "next": "x"}), "a.json: json, UTF-8"),
        ("a.csv", "a;text\n1;2\n", "a.csv: csv, UTF-8, delimiter semicolon"),
    ],
)
def test_a_refused_file_is_explained_as_far_as_it_was_read(tmp_path, name, content, found):
    (tmp_path / name).write_text(content)
    with pytest.raises(CorpusError) as refused:
        read_export(tmp_path / name, Options())
    text = refusal(refused.value)
    assert text.startswith(found)
    assert "record 1" in text
    assert "by its name" in text
    command = ["import", str(tmp_path / name), "--output", str(tmp_path / "out.jsonl"), "--explain"]
    output = CliRunner().invoke(main, command).output
    assert text in output
    assert output.index("record 1") < output.index(str(refused.value)[:40])


def test_the_fields_of_a_known_export_stand_above_the_expressions(tmp_path):
    example = known_recipes()["intercom"].examples[0]
    (tmp_path / example.file).write_text(example.text)
    text = explanation(read_export(tmp_path / example.file, Options()))
    assert text.index("source.body") < text.index("expressions are JMESPath")


def test_a_refused_transcript_is_told_once_where_and_never_to_name_columns(tmp_path):
    (tmp_path / "a.vtt").write_text("WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nhello\n")
    command = ["import", str(tmp_path / "a.vtt"), "--output", str(tmp_path / "out.jsonl"), "--explain"]
    output = CliRunner().invoke(main, command).output
    assert "it was read as vtt" in output
    last = output.strip().splitlines()[-1]
    assert last.count("a.vtt") == 1
    assert "--text" not in last
