import json
from dataclasses import replace

import numpy as np

from dial2vec_papers.tasks.encoding import Spoken
from dial2vec_papers.tasks.response_selection import TOP, draw_queries
from dial2vec_papers.tasks.robustness import select_responses_perturbed
from tests.papers.tasks.fakes import Hashed, Known, context, reading
from tests.papers.tasks.test_response_selection import corpus, dialogue, selected


def perturbed(reader, dialogues, ways, *, top=TOP, **draw):
    queries = draw_queries(dialogues, data="toy", **draw)
    return select_responses_perturbed(reader, queries, ways, top=top, seed=draw["seed"])


def shuffled(turns, rng):
    rng.shuffle(turns)
    return turns


def last(turns, _):
    return turns[-1:]


def unchanged(turns, _):
    return turns


def test_a_perturbation_that_changes_nothing_costs_nothing_and_is_not_encoded_again():
    encode, plain = Hashed(), Hashed()
    clean = selected(reading(plain), corpus(), negatives=4, seed=1)
    found = perturbed(reading(encode), corpus(), {"none": unchanged}, negatives=4, seed=1)
    for name, figure in clean.figures.items():
        assert found.figures[f"clean_{name}"] == found.figures[f"none_{name}"] == figure
        assert found.figures[f"none_{name}_drop"] == 0
    assert sorted(encode.asked) == sorted(plain.asked)
    json.dumps(found.to_record())


def test_a_drop_by_hand():
    # Each answer is its question's vector; without the question, the context of the second dialogue points elsewhere.
    encode = Known({"q1": [1, 0], "q2": [0, 1], "r1": [1, 0], "r2": [0, 1], "": [1, 0]})
    dialogues = [dialogue("d1", "q1", "r1"), dialogue("d2", "q2", "r2")]
    found = perturbed(reading(encode), dialogues, {"empty": lambda *_: []}, negatives=1, top=(1,), seed=0)
    assert found.figures == {
        **{"clean_recall_at_1": 100.0, "clean_mrr": 100.0},
        **{"empty_recall_at_1": 50.0, "empty_recall_at_1_drop": 50.0, "empty_mrr": 75.0, "empty_mrr_drop": 25.0},
    }
    assert (found.task, found.n) == ("robustness", 2)


def test_neither_order_nor_other_perturbations_change_a_perturbation():
    alone = perturbed(reading(Hashed()), corpus(turns=9), {"shuffled": shuffled}, negatives=4, seed=1).figures
    among = perturbed(
        reading(Hashed()), corpus(turns=9)[::-1], {"last": last, "shuffled": shuffled}, negatives=4, seed=1
    ).figures
    assert alone.items() <= among.items()


def test_a_perturbation_cannot_harm_the_clean_contexts():
    def emptied(turns, _):
        turns.clear()
        return ["0.0"]

    found = perturbed(reading(Hashed()), corpus(), {"emptied": emptied}, negatives=4, seed=1)
    clean = selected(reading(Hashed()), corpus(), negatives=4, seed=1)
    assert found.figures["clean_mrr"] == clean.figures["mrr"]


def test_the_generator_of_a_context_is_its_own():
    drawn = []

    def note(turns, rng):
        drawn.append(int(rng.integers(10**12)))
        return turns

    perturbed(reading(Hashed()), corpus(), {"a": note, "b": note}, negatives=4, seed=1)
    assert len(set(drawn)) == len(drawn) == 2 * len(np.unique([d.dialogue_id for d in corpus()])) * 2


def test_what_is_left_of_a_context_keeps_its_speakers():
    read = []
    reader = replace(reading(Hashed()), contexts=lambda found: read.extend(found) or reading(Hashed()).contexts(found))
    ways = {"last": last, "longer": lambda turns, _: ["before", *turns], "empty": lambda *_: []}
    perturbed(reader, corpus(n=2), ways, negatives=1, seed=1)
    assert context("0.2") in read
    assert (Spoken("before", 0), *context("0.0", "0.1", "0.2")) in read
    assert context("") in read
