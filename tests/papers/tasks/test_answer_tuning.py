from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.dialogue import Dialogue, Turn
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import CorpusError
from dial2vec_papers.tasks import answer_tuning
from dial2vec_papers.tasks.answer_tuning import (
    ANSWER_RECIPE,
    ANSWER_SHOTS,
    answer_loss,
    fine_tune_answers,
    pairs_of,
    validation_recall,
)
from dial2vec_papers.tasks.encoding import Spoken
from dial2vec_papers.tasks.fine_tuning import TuningRecipe
from tests.papers.tasks.fakes import slow_cosine

FAST = TuningRecipe(epochs=10, batch_size=8, learning_rate=1e-2, max_length=16, dropout=0.0, patience=5, check_every=2)


def talk(name, question, answer):
    return Dialogue(name, (Turn("a", question), Turn("b", answer)))


def talks(first, last):
    """An answer repeats the two words of its question after one that all answers have."""
    pairs = [(i, j) for i in range(1, 8) for j in range(1, 8)][first:last]
    return [talk(f"{i}{j}", f"w{i} w{j} w8", f"w9 w9 w{i} w{j}") for i, j in pairs]


def slow_simclr(questions, answers, temperature):
    """NT-Xent of 2 M views in double precision: each side asks for the other among all but itself."""
    views = [*questions, *answers]
    m, total = len(questions), 0.0
    for i, view in enumerate(views):
        other = (i + m) % (2 * m)
        terms = [math.exp(slow_cosine(view, views[k]) / temperature) for k in range(2 * m) if k != i]
        total -= math.log(math.exp(slow_cosine(view, views[other]) / temperature) / sum(terms))
    return total / (2 * m)


def slow_release(questions, answers):
    total = 0.0
    for i, question in enumerate(questions):
        scores = [math.exp(float(question @ answer)) for answer in answers]
        total -= math.log(scores[i] / sum(scores))
    return total / len(questions)


@given(st.integers(0, 999), st.integers(2, 6))
@settings(max_examples=20, deadline=None)
def test_both_losses_equal_their_definitions(seed, m):
    rng = np.random.default_rng(seed)
    questions, answers = rng.normal(size=(2, m, 4))
    sides = [torch.from_numpy(side) for side in (questions, answers)]
    simclr = answer_loss(*sides, loss="simclr").item()
    assert simclr == pytest.approx(slow_simclr(questions, answers, answer_tuning.TEMPERATURE), rel=1e-6)
    assert answer_loss(*sides, loss="release").item() == pytest.approx(slow_release(questions, answers), rel=1e-6)
    alone = torch.ones(1, 4, requires_grad=True)
    answer_loss(alone, alone, loss="simclr").backward()
    assert alone.grad.tolist() == [[0.0] * 4]


@given(st.integers(0, 999), st.integers(1, 9), st.sampled_from(["cosine", "dot"]))
@settings(max_examples=20, deadline=None)
def test_the_figure_for_early_stopping_equals_brute_force_in_blocks(seed, n, similarity):
    rng = np.random.default_rng(seed)
    # No zero vector: torch and numpy round its cosines differently.
    questions, answers = rng.normal(size=(2, n, 3)).round(1) + 0.05
    expected = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answer_tuning, "AMONG", 4)
        for i, question in enumerate(questions):
            block = answers[i // 4 * 4 : i // 4 * 4 + 4]
            scores = [slow_cosine(question, one) if similarity == "cosine" else float(question @ one) for one in block]
            rank = sum(score >= scores[i % 4] for score in scores)
            expected += sum(rank <= k for k in (1, 3, 5, 10)) / n
        sides = (torch.from_numpy(side) for side in (questions, answers))
        assert validation_recall(*sides, similarity=similarity) == pytest.approx(expected, abs=1e-9)


def test_equal_vectors_find_nothing_for_sure():
    assert validation_recall(torch.ones(20, 2), torch.ones(20, 2), similarity="dot") == 0.0


def test_a_pair_is_a_turn_of_the_second_speaker_and_the_one_before_and_comes_once():
    dialogue = Dialogue("d", (Turn("a", "q"), Turn("b", "r"), Turn("b", "s"), Turn("a", "t"), Turn("b", "u")))
    expected = [
        (Spoken("q", 0), Spoken("r", 1)),
        (Spoken("r", 1), Spoken("s", 1)),
        (Spoken("t", 0), Spoken("u", 1)),
    ]
    assert pairs_of([dialogue, dialogue]) == expected


def test_the_papers_settings():
    assert (ANSWER_SHOTS, ANSWER_RECIPE.learning_rate, ANSWER_RECIPE.epochs) == ((500, 1000), 3e-5, 50)


@pytest.mark.parametrize("loss", ["simclr", "release"])
def test_answers_are_found_better_after_training_and_the_encoder_stays_as_it_was(tiny_folder, loss):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    before, tests = encoder.fingerprint(), talks(36, 49)

    def run(**options):
        common = {"data": "toy", "draws": 2, "negatives": 9, "seed": 0, "loss": loss} | options
        return fine_tune_answers(encoder, talks(0, 24), talks(24, 36), tests, **common)

    found = run(shots=(8, 24), recipe=FAST)
    untrained = run(shots=(24,), recipe=TuningRecipe(1, 8, 0.0, 16, 0.0, 5, 2))
    assert encoder.fingerprint() == before
    assert found.n == 13
    assert found.figures.keys() == {
        f"{name}_{k}_shot" for name in ("recall_at_1", "recall_at_3", "mrr") for k in (8, 24)
    }
    assert found.figures["mrr_24_shot"] > untrained.figures["mrr_24_shot"]
    assert found.settings["loss"] == loss


def test_too_few_pairs_are_refused(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    with pytest.raises(
        CorpusError, match=r"toy has 24 training pairs and 12 validation pairs .*; expected at least 500"
    ):
        fine_tune_answers(encoder, talks(0, 24), talks(24, 36), talks(36, 49), data="toy", shots=(500,), seed=0)
