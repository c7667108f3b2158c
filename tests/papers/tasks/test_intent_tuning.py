from __future__ import annotations

from dataclasses import replace

import pytest

from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import CorpusError
from dial2vec_papers.tasks.fine_tuning import TuningRecipe
from dial2vec_papers.tasks.intent_tuning import INTENT_RECIPE, draw_halves, fine_tune_intents
from dial2vec_papers.tasks.intents import IntentSet, Sentences
from dial2vec_papers.tasks.kept_runs import KeptRuns

FAST = TuningRecipe(epochs=40, batch_size=4, learning_rate=1e-2, max_length=16, dropout=0.1, patience=99, check_every=2)


def words():
    """The first word of a sentence is its intent."""
    rows = [
        (f"w{intent} w{other} w{third}", f"i{intent}")
        for intent in range(3)
        for other in range(3, 7)
        for third in range(5, 9)
    ]
    return IntentSet("toy", Sentences.of(rows[::2]), Sentences.of(rows[1::2]))


def test_the_papers_settings():
    assert (INTENT_RECIPE.epochs, INTENT_RECIPE.batch_size, INTENT_RECIPE.learning_rate) == (50, 16, 3e-5)
    assert (INTENT_RECIPE.max_length, INTENT_RECIPE.dropout) == (64, 0.1)


def test_what_the_first_word_decides_is_learnt_from_two_sentences_and_the_encoder_stays_as_it_was(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    before = encoder.fingerprint()
    found = fine_tune_intents(encoder, words(), shots=(1, 2), draws=2, recipe=FAST, seed=0)
    assert encoder.fingerprint() == before
    assert (found.task, found.data, found.n) == ("intent_fine_tuning", "toy", 24)
    assert found.figures.keys() == found.spread.keys() == {"accuracy_1_shot", "accuracy_2_shot"}
    assert found.figures["accuracy_2_shot"] > 60 > 100 / 3
    again = fine_tune_intents(encoder, words(), shots=(1, 2), draws=2, recipe=FAST, seed=0)
    assert again.figures == found.figures


def test_without_training_chance_decides(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    found = fine_tune_intents(encoder, words(), shots=(2,), draws=1, recipe=replace(FAST, learning_rate=0.0), seed=0)
    assert found.figures["accuracy_2_shot"] <= 60


def test_both_halves_of_a_draw_have_the_same_number_and_no_sentence_twice():
    train = words().train
    first, second = draw_halves(train, shots=3, seed=0, draw=0)
    assert len(first.texts) == len(second.texts) == 9
    assert not {*first.texts} & {*second.texts}
    assert {*zip(first.texts, first.labels, strict=True)} <= {*zip(train.texts, train.labels, strict=True)}
    few = Sentences.of([("a", "x"), ("b", "x"), ("c", "x"), ("d", "y")])
    first, second = draw_halves(few, shots=5, seed=0, draw=0)
    assert (sorted(first.labels), list(second.labels)) == (["x", "x", "y"], ["x"])
    assert draw_halves(train, shots=3, seed=0, draw=1) != draw_halves(train, shots=3, seed=0, draw=0)


def test_finished_runs_are_not_repeated(tiny_folder, tmp_path):
    encoder, path = DialogueEncoder.from_pretrained(tiny_folder), tmp_path / "new" / "runs.jsonl"
    recipe = replace(FAST, epochs=1)
    first = fine_tune_intents(encoder, words(), shots=(1,), draws=1, recipe=recipe, kept=KeptRuns(path), seed=0)
    assert len(path.read_text().splitlines()) == 1
    more = fine_tune_intents(encoder, words(), shots=(1,), draws=3, recipe=recipe, kept=KeptRuns(path), seed=0)
    assert len(path.read_text().splitlines()) == 3
    plain = fine_tune_intents(encoder, words(), shots=(1,), draws=3, recipe=recipe, seed=0)
    assert more.figures == plain.figures
    assert first.spread == {"accuracy_1_shot": 0.0}
    fine_tune_intents(encoder, words(), shots=(1,), draws=1, recipe=recipe, kept=KeptRuns(path), seed=1)
    assert len(path.read_text().splitlines()) == 4


def test_no_sentences_are_refused(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    with pytest.raises(CorpusError, match="toy has no test sentences"):
        fine_tune_intents(encoder, replace(words(), test=Sentences()), seed=0)
