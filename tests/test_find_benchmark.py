from __future__ import annotations

import shutil
import sys

import numpy as np
import pytest

from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.files import find_root

sys.path.insert(0, str(find_root() / "benchmarks"))

import find


def dialogues(n: int) -> list[Dialogue]:
    """Dialogues of five turns of seven words; each has words of its own in each turn."""
    return [
        Dialogue(
            f"d{at}",
            tuple(Turn("ab"[turn % 2], f"w1 w2 w3 w4 w5 w6 own{at}x{turn}") for turn in range(5)),
            labels=(("RentalCars_1", "RentalCars_2", "music_and_movies")[at % 3],),
        )
        for at in range(n)
    ]


def test_a_label_is_asked_for_in_words():
    assert find.domain_of("RentalCars_1") == "rental cars"
    assert find.domain_of("music_and_movies") == "music and movies"


def test_each_kind_of_question_asks_for_other_dialogues_and_only_one_kind_takes_the_turn_out():
    given = dialogues(60)
    kept, questions = find.prepare(given, 10, seed=1)
    single = [question for question in questions if question.row != "a topic"]
    assert [len([one for one in single if one.row == row]) for row in find.ROWS[:3]] == [10, 10, 10]
    assert len({int(question.answers[0]) for question in single}) == 30
    out = {int(question.answers[0]) for question in single if question.row == find.ROWS[1]}
    assert {row for row in range(60) if len(kept[row].turns) == 4} == out
    # Only the word that is the dialogue's own, and the first of those that are in every turn.
    words = next(question for question in single if question.row == find.ROWS[2])
    assert words.text.startswith("w1 w2 own")


def test_topics_are_asked_for_in_several_ways_and_services_of_a_domain_are_one():
    asked = find.topical(dialogues(60))
    assert len(asked) == 2 * len(find.ASKED)
    assert {len(question.answers) for question in asked if "rental cars" in question.text} == {40}


def test_rank_fusion_sums_inverse_ranks():
    first, second = np.array([0.9, 0.5, 0.1]), np.array([0.1, 0.9, 0.5])
    np.testing.assert_allclose(
        find.fused(first, second), [1 / 60 + 1 / 62, 1 / 61 + 1 / 60, 1 / 62 + 1 / 61], rtol=1e-6
    )


def test_one_answer_is_recall_and_many_are_precision():
    found = np.arange(10)
    assert find.share(found, np.array([3])) == 100
    assert find.share(found, np.array([33])) == 0
    assert find.share(found, np.array([1, 2, 33])) == pytest.approx(20)


def test_the_table_is_made_with_a_real_collection_and_its_best_figures_are_bold(
    tmp_path, tiny_folder, monkeypatch, capsys
):
    splits = tmp_path / "artifacts" / "toy" / "splits"
    splits.mkdir(parents=True)
    write_dialogues(splits / "test.jsonl", dialogues(40))
    write_dialogues(splits / "dev.jsonl", dialogues(60)[40:])
    shutil.copytree(tiny_folder, tmp_path / "artifacts" / "toy" / "model")
    arguments = ["find.py", "toy", "--artifacts", tmp_path / "artifacts", "--work", tmp_path / "work"]
    arguments += ["--start", tiny_folder, "--questions", "4"]
    monkeypatch.setattr(sys, "argv", [str(argument) for argument in arguments])
    monkeypatch.setattr(find, "ASKED", find.ASKED[:2])
    find.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" (")[0] for line in lines[2:6]] == [f"| toy, {row}" for row in find.ROWS]
    # BM25 finds the word that only one dialogue has; so do moments.
    cells = lines[4].split("|")
    assert cells[2].strip() == cells[-3].strip() == "**100.0**"
    assert lines[6].startswith("toy. Told that nothing is close: a turn, paraphrased ")
