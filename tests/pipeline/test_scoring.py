from dataclasses import replace

import pytest

from dial2vec.config import Evaluate, Settings
from dial2vec.dialogue import Dialogue, Turn, dialogue_writer
from dial2vec.pipeline.scoring import measured_dialogues


@pytest.fixture
def split(tmp_path):
    """Thirty dialogues, every third of them without a label."""
    path = tmp_path / "test.jsonl"
    with dialogue_writer(path) as write:
        for number in range(30):
            labels = () if number % 3 == 0 else (f"topic{number % 2}",)
            write(Dialogue(f"d{number:02}", (Turn("a", "hello"), Turn("b", "hi")), labels=labels))
    return path


def drawn(path, **options):
    seed = options.pop("seed", 42)
    settings = replace(Settings(), seed=seed, evaluate=Evaluate(**options))
    return [dialogue.dialogue_id for dialogue in measured_dialogues(path, settings)]


@pytest.mark.parametrize("most", [None, 20, 10_000])
def test_all_dialogues_are_measured_if_there_are_no_more_with_a_label_than_may_be(split, most):
    assert drawn(split, max_dialogues=most) == [f"d{number:02}" for number in range(30)]


def test_of_more_so_many_with_a_label_are_drawn_by_the_seed_in_their_order(split):
    first = drawn(split, max_dialogues=12)
    assert len(set(first)) == 12
    assert first == sorted(first)
    assert not {f"d{number:02}" for number in range(0, 30, 3)} & set(first)
    assert first == drawn(split, max_dialogues=12)
    assert first != drawn(split, max_dialogues=12, seed=43)
    # A larger sample holds the smaller one, so that figures of both have most dialogues in common.
    assert set(first) < set(drawn(split, max_dialogues=15))
