from __future__ import annotations

import json

import pytest

from dial2vec.collection import Collection
from dial2vec.collection.clustering.notes import MOST, notes_file, read_notes, write_note
from dial2vec.errors import ArtifactError, BusyError, CorpusError
from dial2vec.files import folder_lock


def test_a_note_is_a_line_sorted_by_dialogue_and_a_new_one_takes_its_place(make):
    collection = make.add(0, 1, 2)
    write_note(collection, "d2", "first")
    write_note(collection, "d1", " two\nlines\u2028\t")
    note = write_note(collection, "d2", "„second“")
    lines = [json.loads(line) for line in notes_file(make.folder).read_text(encoding="utf-8").split("\n")[:-1]]
    assert [line["dialogue_id"] for line in lines] == ["d1", "d2"]
    assert read_notes(make.folder)["d1"].text == "two\nlines"
    assert read_notes(make.folder)["d2"] == note
    assert note.text == "„second“"


def test_half_of_a_character_in_a_note_is_a_question_mark(make):
    assert write_note(make.add(0, 1), "d0", "lost \ud83d").text == "lost ?"
    assert read_notes(make.folder)["d0"].text == "lost ?"


def test_a_blank_note_removes_it_and_the_last_one_the_file(make):
    collection = make.add(0, 1)
    write_note(collection, "d0", "x")
    write_note(collection, "d1", "y")
    assert write_note(collection, "d0", " \n") is None
    assert list(read_notes(make.folder)) == ["d1"]
    write_note(collection, "d1", "")
    assert not notes_file(make.folder).exists()
    assert read_notes(make.folder) == {}


def test_what_is_no_note_is_refused_in_one_sentence(make):
    collection = make.add(0, 1)
    with pytest.raises(CorpusError, match="has no dialogue 'd9'"):
        write_note(collection, "d9", "x")
    with pytest.raises(CorpusError, match="found a note of 10,001 characters; expected at most 10,000"):
        write_note(collection, "d0", "x" * (MOST + 1))
    with folder_lock(make.folder, "adds dialogues to"), pytest.raises(BusyError, match="another process"):
        write_note(collection, "d0", "x")
    assert not notes_file(make.folder).exists()


@pytest.mark.parametrize("line", ["{", "[]", '{"dialogue_id": "d0"}', '{"dialogue_id": "d0", "date": "", "text": 3}'])
def test_a_damaged_file_is_named_with_its_line_and_not_written_over(make, line):
    collection = make.add(0, 1)
    write_note(collection, "d0", "x")
    with notes_file(make.folder).open("a") as handle:
        handle.write(line + "\n")
    before = notes_file(make.folder).read_text()
    for call in (lambda: read_notes(make.folder), lambda: write_note(Collection(make.folder), "d1", "y")):
        with pytest.raises(ArtifactError, match=r"notes\.jsonl cannot be read \(.*line 2\)"):
            call()
    assert notes_file(make.folder).read_text() == before
