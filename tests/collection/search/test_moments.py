from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from conversations.dialogue import Dialogue, Turn, write_dialogues
from conversations.files import read_json
from dial2vec.cli import main
from dial2vec.collection import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search import Search, calibration, moments, turns, words
from dial2vec.collection.search.calibration import read_calibration
from dial2vec.collection.search.moments import Signs, open_moments, weight_of_themes
from dial2vec.collection.search.turns import open_turns, update_turns
from dial2vec.collection.search.words import open_words
from dial2vec.encoder import DialogueEncoder, StudentEncoder
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import ArtifactError
from tests.collection.made import indexed
from tests.students import tiny_student


def dialogues(n: int, *, first: int = 0) -> list[Dialogue]:
    """Dialogues of two to four turns; each has one turn with words of its own."""
    return [
        Dialogue(
            f"d{at}",
            (
                *(Turn("ann", f"w{at % 7} w{turn}") for turn in range(1 + at % 3)),
                Turn("bob", f"w{20 + at % 30} w{21 + at % 29} w{at % 31}"),
            ),
        )
        for at in range(first, first + n)
    ]


@pytest.fixture(scope="module")
def encoder(tiny_folder) -> DialogueEncoder:
    return load_encoder(tiny_folder, device="cpu")


@pytest.fixture
def folder(tmp_path, encoder) -> Path:
    return indexed(tmp_path / "c", dialogues(30), encoder).folder


def test_each_turn_has_the_vector_that_it_has_alone_to_within_8_bits(folder, encoder):
    collection = CollectionFolder(folder)
    opened = open_turns(collection)
    texts = [turn.text for dialogue in collection.dialogues() for turn in dialogue.turns]
    alone = encoder.encode_utterances(texts)
    alone /= np.linalg.norm(alone, axis=1, keepdims=True)
    np.testing.assert_allclose(opened.vectors(slice(None)), alone, atol=np.abs(alone).max() / 254 + 1e-6)
    np.testing.assert_allclose(opened.cosines(alone[:2]), alone @ alone[:2].T, atol=0.02)


def test_turns_of_dialogues_are_numbered_over_the_collection(folder):
    opened = open_turns(CollectionFolder(folder))
    # Dialogues of 2, 3 and 4 turns, over and over: the fifth begins at turn 2 + 3 + 4 + 2.
    numbers, begins = opened.of_dialogues(np.array([1, 4]))
    assert numbers.tolist() == [2, 3, 4, 11, 12, 13]
    assert begins.tolist() == [0, 3]


def test_turns_far_apart_have_the_vectors_that_they_have_together(folder, encoder, monkeypatch):
    opened = open_turns(CollectionFolder(folder))
    together, query = opened.vectors(slice(None)), encoder.encode_utterances(["w25"])
    turns_far_apart = np.array([0, opened.record.turns - 1])
    monkeypatch.setattr(opened, "_codes", None)
    np.testing.assert_array_equal(opened.vectors(turns_far_apart), together[turns_far_apart])
    expected = together[turns_far_apart] @ query.T
    np.testing.assert_allclose(opened.cosines(query, turns_far_apart), expected, atol=1e-5)


def test_signs_agree_with_the_dialogue_whose_turn_has_the_vector(folder, encoder):
    opened = open_turns(CollectionFolder(folder))
    texts = [turn.text for dialogue in CollectionFolder(folder).dialogues() for turn in dialogue.turns]
    vectors, starts = encoder.encode_utterances(texts), opened.starts
    agreement = opened.agreement(vectors[4])
    alike = ((vectors > 0) == (vectors[4] > 0)).sum(1)
    expected = [alike[first:last].max() for first, last in pairwise(starts)]
    assert agreement.tolist() == expected
    assert agreement[1] == opened.record.dimension


def test_new_dialogues_add_turns_and_the_old_ones_stay_as_they_are(folder, encoder, tmp_path, monkeypatch):
    before = (folder / "turns" / "vectors.i8").read_bytes()
    monkeypatch.setattr(words, "PART", 25)
    write_dialogues(tmp_path / "b.jsonl", dialogues(30, first=30))
    add(folder, tmp_path / "b.jsonl", encoder=encoder)
    assert (folder / "turns" / "vectors.i8").read_bytes().startswith(before)
    assert read_json(folder / "turns" / "words" / "words.json") == {"parts": [[0, 25], [25, 60]]}
    opened = open_words(CollectionFolder(folder))
    assert len(opened.of_turns("w1")) == open_turns(CollectionFolder(folder)).record.turns
    assert len(opened.of_dialogues("w1")) == 60


def test_a_killed_run_leaves_turns_that_the_next_one_completes(folder, encoder, tmp_path, monkeypatch):
    write_dialogues(tmp_path / "b.jsonl", dialogues(30, first=30))

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(turns, "write_checked_json", killed)
        with pytest.raises(KeyboardInterrupt):
            add(folder, tmp_path / "b.jsonl", encoder=encoder)
    assert open_moments(CollectionFolder(folder)) is None
    assert Search(CollectionFolder(folder)).answer("w1 w2").way == "themes"
    assert add(folder, tmp_path / "b.jsonl", encoder=encoder).dialogues == 0
    record = open_turns(CollectionFolder(folder)).record
    assert (folder / "turns" / "vectors.i8").stat().st_size == record.turns * record.dimension


def test_turns_that_are_there_are_not_read_again(folder, encoder):
    assert update_turns(CollectionFolder(folder), encoder) == 0


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "name", ["scales.f32", "vectors.i8", "signs.u64", "words/000000000-000000030/turns/data.csc.index.npy"]
)
def test_what_is_damaged_is_told_left_out_and_made_again(folder, encoder, caplog, name):
    path = folder / "turns" / name
    whole = path.read_bytes()
    flip(path)
    assert open_moments(CollectionFolder(folder)) is None
    [said] = {record.getMessage() for record in caplog.records}
    assert said.startswith(f"{path} is damaged: its bytes 0 to {len(whole)} have the MD5 ")
    assert said.endswith("It is left out until `dial2vec index` makes it again.")
    assert add(folder, folder / "dialogues.jsonl", encoder=encoder).dialogues == 0
    assert path.read_bytes() == whole
    assert open_moments(CollectionFolder(folder)) is not None


def test_a_truncated_file_is_told_and_made_again(folder, encoder, caplog):
    (folder / "turns" / "scales.f32").write_bytes(b"1234")
    assert open_turns(CollectionFolder(folder)) is None
    assert "scales.f32 has 4 bytes; expected at least" in caplog.text
    add(folder, folder / "dialogues.jsonl", encoder=encoder)
    assert open_turns(CollectionFolder(folder)) is not None


def test_turns_of_an_older_version_have_no_checksums_and_grow(folder, encoder, tmp_path):
    (folder / "turns" / "checksums.json").unlink()
    write_dialogues(tmp_path / "b.jsonl", dialogues(30, first=30))
    add(folder, tmp_path / "b.jsonl", encoder=encoder)
    assert open_moments(CollectionFolder(folder)) is not None


def test_words_of_one_turn_find_its_dialogue_and_show_the_turn(folder):
    search = Search(CollectionFolder(folder))
    wanted = next(search.collection.dialogues([11]))
    answer = search.answer(wanted.turns[-1].text, 3, way="moments")
    assert answer.way == "moments"
    assert answer.hits[0].dialogue_id == wanted.dialogue_id
    assert answer.hits[0].turns[0].text == wanted.turns[-1].text
    assert answer.hits[0].cosine == pytest.approx(1, abs=0.02)


def test_a_collection_without_turns_is_searched_by_themes_and_the_command_that_it_names_adds_them(folder):
    shutil.rmtree(folder / "turns")
    search = Search(CollectionFolder(folder))
    assert search.answer("w1 w2").way == "themes"
    with pytest.raises(ArtifactError, match=r"has no vectors of its turns") as raised:
        search.find("w1 w2", way="moments")
    done = CliRunner().invoke(main, ["search", str(folder), "w1 w2"])
    assert done.exit_code == 0, done.output
    assert f"Whole dialogues are searched: {raised.value}" in done.stderr
    command = str(raised.value).split("`")[1]
    assert CliRunner().invoke(main, command.split()[1:]).exit_code == 0
    assert Search(CollectionFolder(folder)).answer("w1 w2", way="moments").way == "moments"


def test_a_dialogue_is_a_theme_unless_moments_are_asked_for(folder):
    search = Search(CollectionFolder(folder))
    dialogue = next(search.collection.dialogues([4]))
    assert search.answer(dialogue).way == "themes"
    hits = search.find(dialogue, 30, way="moments")
    assert len(hits) == 29
    assert dialogue.dialogue_id not in [hit.dialogue_id for hit in hits]


def test_many_turns_are_compared_only_for_candidates_which_have_the_best(folder, monkeypatch):
    opened = open_moments(CollectionFolder(folder))
    themes = np.zeros(30, dtype=np.float32)
    every = opened.score("w25 w26", themes, rows=None, auto=False)
    monkeypatch.setattr(moments, "ALL_TURNS", 10)
    monkeypatch.setattr(moments, "BEST", 5)
    some = opened.score("w25 w26", themes, rows=None, auto=False)
    assert len(some.rows) < len(every.rows) == 30
    assert some.rows[0] == every.rows[0]
    assert len(opened.score("w25 w26", themes, rows=None, auto=False, exact=True).rows) == 30


def test_filters_leave_only_their_rows(folder):
    opened = open_moments(CollectionFolder(folder))
    themes = np.zeros(30, dtype=np.float32)
    rows = np.array([3, 7, 8])
    assert sorted(opened.score("w25", themes, rows=rows, auto=True).rows.tolist()) == [3, 7, 8]
    assert not len(opened.score("w25", themes, rows=rows[:0], auto=True).rows)


def test_one_dialogue_that_stands_out_leaves_themes_out():
    said = Signs(gap=5, words=8, about=-1, agreement=0, shared=0.5, quoted=False)
    assert weight_of_themes(said) == 0
    asked = Signs(gap=0.5, words=2, about=4, agreement=3, shared=0.5, quoted=False)
    assert weight_of_themes(asked) == pytest.approx(10)


def test_a_question_for_conversations_gives_themes_more_weight_than_words_of_a_turn():
    said, asked = (weight_of_themes(Signs(1, 5, about, 3, 0.5, False)) for about in (-1, 3))
    assert asked > 1 > said


def test_words_that_stand_together_in_few_turns_ask_for_these():
    together, apart = (weight_of_themes(Signs(1, 3, 1.2, 2.4, shared, shared == 1)) for shared in (1, 0.67))
    assert together < 1 < apart


def test_the_words_of_a_question_are_counted_in_each_turn_once(folder):
    collection = CollectionFolder(folder)
    texts = [set(turn.text.split()) for dialogue in collection.dialogues() for turn in dialogue.turns]
    found = open_words(collection).matches("w25 nowhere w25 W26!")
    assert found.tolist() == [len(text & {"w25", "w26", "nowhere"}) for text in texts]


def test_random_questions_are_measured_once_and_are_not_close(folder, encoder, monkeypatch):
    measured = read_calibration(CollectionFolder(folder))
    assert measured.dialogues == 30
    assert not measured.is_close(measured.turn, measured.theme)
    assert measured.is_close(measured.turn + 0.01, measured.theme)
    opened = open_moments(CollectionFolder(folder))
    monkeypatch.setattr(calibration, "QUESTIONS", 1)
    assert calibration.calibrate(opened.collection, encoder, opened.turns, opened.words) == measured


def test_a_turn_is_close_if_it_is_closer_than_turns_of_dialogues_about_other_things(folder, monkeypatch):
    monkeypatch.setattr(calibration, "SENTENCES", (1, 12))
    collection, opened = CollectionFolder(folder), open_moments(CollectionFolder(folder))
    found = calibration._across_topics(collection, opened.turns, np.random.default_rng(1))
    vectors, owner = opened.turns.vectors(slice(None)), np.repeat(np.arange(30), np.diff(opened.turns.starts))
    alike = collection.vectors @ collection.vectors.T
    # Which turn of a dialogue is asked is drawn, so the median lies between those of the least and the most.
    nearest = [
        [
            max(vectors[turn] @ vectors[other] for other in np.flatnonzero(alike[row][owner] <= np.median(alike[row])))
            for turn in np.flatnonzero(owner == row)
        ]
        for row in range(30)
    ]
    assert np.median([min(own) for own in nearest]) - 1e-5 <= found <= np.median([max(own) for own in nearest]) + 1e-5
    monkeypatch.setattr(calibration, "SENTENCES", (99, 99))
    assert calibration._across_topics(collection, opened.turns, np.random.default_rng(1)) == -1


def test_a_student_reads_questions_for_turns_although_it_has_the_name_of_its_start(tmp_path):
    tiny = tiny_student()
    student = StudentEncoder(tiny.table, tiny.tokenizer, name="all-MiniLM-L6-v2", teacher="tiny teacher")
    write_dialogues(tmp_path / "calls.jsonl", dialogues(6))
    add(tmp_path / "calls", tmp_path / "calls.jsonl", encoder=student, progress=False)
    opened = open_turns(CollectionFolder(tmp_path / "calls"))
    assert opened is not None
    assert opened.encoder.fingerprint() == opened.record.fingerprint == student.fingerprint()
