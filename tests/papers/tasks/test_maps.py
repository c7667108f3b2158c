from __future__ import annotations

import pytest

from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.errors import CorpusError
from dial2vec_papers.tasks import maps
from dial2vec_papers.tasks.intents import IntentSet, Sentences
from dial2vec_papers.tasks.maps import draw_answers, draw_intents, draw_maps
from dial2vec_papers.tasks.sources import Sources
from tests.papers.tasks.fakes import Hashed, reading

PNG = b"\x89PNG"


def intents(out=5):
    rows = [(f"{letter} {i}", letter) for letter in "abcdefghijkl" for i in range(4)]
    return IntentSet("toy", Sentences.of(rows), Sentences.of(rows), out_of_scope=tuple(f"out {i}" for i in range(out)))


@pytest.fixture
def drawn(monkeypatch):
    """What each picture's layout was given."""
    seen = []
    lay_out = maps.lay_out
    monkeypatch.setattr(maps, "lay_out", lambda vectors, **options: seen.append(vectors) or lay_out(vectors, **options))
    return seen


def test_ten_intents_and_the_sentences_out_of_scope_are_drawn_and_the_same_each_time(tmp_path, drawn):
    for name in ("one.png", "two.png"):
        draw_intents(reading(Hashed(8)), intents(), tmp_path / name, seed=1)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    assert (tmp_path / "one.png").read_bytes().startswith(PNG)
    assert len(drawn[0]) == 10 * 4 + 5
    draw_intents(reading(Hashed(8)), intents(out=0), tmp_path / "three.png", seed=1)
    assert len(drawn[2]) == 10 * 4
    with pytest.raises(CorpusError, match="empty has no test sentences"):
        draw_intents(reading(Hashed()), IntentSet("empty", Sentences(), Sentences()), tmp_path / "x.png", seed=1)


def test_twenty_questions_with_their_answers_and_a_hundred_other_answers(tmp_path, drawn):
    talks = [Dialogue(str(n), (Turn("a", f"q{n}"), Turn("b", f"r{n}"))) for n in range(130)]
    draw_answers(reading(Hashed(8)), talks, tmp_path / "one.png", data="talks", seed=1)
    assert len(drawn[0]) == 2 * 20 + 100
    draw_answers(reading(Hashed(8)), talks[:3], tmp_path / "two.png", data="talks", seed=1)
    assert len(drawn[1]) == 2 * 3
    with pytest.raises(CorpusError, match="talks has no turn of the second speaker after another"):
        draw_answers(reading(Hashed()), [], tmp_path / "x.png", data="talks", seed=1)


def test_each_corpus_has_its_map_in_the_folder(tmp_path):
    write_dialogues(tmp_path / "test.jsonl", [Dialogue("1", (Turn("a", "q"), Turn("b", "r")))])
    sources = Sources(dialogues=(("calls", tmp_path / "test.jsonl"),))
    paths = draw_maps(reading(Hashed(8)), sources, tmp_path / "new", seed=1)
    assert paths == [tmp_path / "new" / "calls_answers.png"]
    assert paths[0].read_bytes().startswith(PNG)
