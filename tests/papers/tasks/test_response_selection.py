import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.dialogue import Dialogue, Turn
from dial2vec.errors import CorpusError
from dial2vec_papers.tasks import response_selection
from dial2vec_papers.tasks.response_selection import TOP, draw_queries, ranks_of_first, select_responses
from tests.papers.tasks.fakes import Hashed, Known, collapsed, context, reading, slow_cosine


def dialogue(name, *texts):
    return Dialogue(name, tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts)))


def corpus(n=6, turns=5):
    # "ok" is said in every dialogue.
    return [dialogue(f"d{i}", *(f"{i}.{j}" if j != 3 else "ok" for j in range(turns))) for i in range(n)]


def selected(reader, dialogues, *, top=TOP, turns=None, **draw):
    return select_responses(reader, draw_queries(dialogues, data="toy", **draw), top=top, turns=turns)


def slow_poly(by_code, candidate):
    """A candidate's dot product with its own mixture of the vectors of a context's codes."""
    by_code, candidate = by_code.astype(np.float64), candidate.astype(np.float64)
    weights = np.array([np.exp(vector @ candidate) for vector in by_code])
    return float((weights[:, None] * by_code).sum(0) @ candidate / weights.sum())


def first_ranks(asked, vectors, offered, similarity):
    return ranks_of_first(asked, vectors, offered, n_right=np.ones(len(asked), dtype=int), similarity=similarity)


def slow_rank(vectors, asked, offered, similarity):
    scores = []
    for row in offered:
        dot = float(vectors[asked].astype(np.float64) @ vectors[row])
        scores.append(slow_cosine(vectors[asked], vectors[row]) if similarity == "cosine" else dot)
    return 1 + sum(score >= scores[0] for score in scores[1:])


@given(st.integers(0, 999), st.sampled_from(["cosine", "dot"]), st.integers(1, 60))
@settings(max_examples=30, deadline=None)
def test_ranks_equal_brute_force_with_ties_and_zero_vectors_whatever_the_block(seed, similarity, cells):
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-2, 3, (8, 3)).astype(np.float32)
    asked, offered = rng.integers(0, 8, 6), rng.integers(0, 8, (6, 4))
    expected = [slow_rank(vectors, *pair, similarity) for pair in zip(asked, offered, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(response_selection, "CELLS", cells)
        assert first_ranks(vectors[asked], vectors, offered, similarity).tolist() == expected


@given(st.integers(0, 999), st.integers(1, 60))
@settings(max_examples=30, deadline=None)
def test_a_poly_encoders_ranks_equal_brute_force_whatever_the_block(seed, cells):
    rng = np.random.default_rng(seed)
    vectors, by_code = rng.normal(size=(8, 3)).astype(np.float32), rng.normal(size=(6, 4, 3)).astype(np.float32)
    vectors[3], by_code[2] = vectors[5], 0
    offered = np.array([rng.permutation(8)[:4] for _ in range(6)])
    expected = []
    for codes, row in zip(by_code, offered, strict=True):
        scores = [round(slow_poly(codes, vectors[place]), 9) for place in row]
        expected.append(1 + sum(score >= scores[0] for score in scores[1:]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(response_selection, "CELLS", cells)
        assert first_ranks(by_code.reshape(6, 12), vectors, offered, "poly").tolist() == expected


def test_a_poly_encoder_reads_contexts_by_code_and_answers_plainly():
    plain = reading(Hashed())
    reader = replace(
        plain,
        similarity="poly",
        by_code=lambda read: np.hstack([plain.contexts(read), 2 * plain.contexts(read)[:, ::-1]]),
    )
    dialogues = corpus()
    queries = draw_queries(dialogues, negatives=3, limit=None, seed=0, data="toy")
    answers = plain.contexts(queries.answers)
    ranks = []
    for context_, row in zip(queries.contexts, queries.candidates, strict=True):
        by_code = reader.by_code([context_]).reshape(2, -1)
        scores = [round(slow_poly(by_code, answers[place]), 9) for place in row]
        ranks.append(1 + sum(score >= scores[0] for score in scores[1:]))
    found = selected(reader, dialogues, negatives=3, seed=0, limit=None)
    assert found.figures["mrr"] == pytest.approx(100 * np.mean(1 / np.array(ranks)), abs=1e-3)


def test_figures_by_hand():
    # Three queries, each against both other answers: the true one comes first, second (behind one) and third.
    encode = Known(
        {"q1": [1, 0, 0], "q2": [0, 1, 0.1], "q3": [1, 1, 0], "r1": [1, 0, 0], "r2": [0, 0, 1], "r3": [0, 0, -1]}
    )
    encode.vectors["r2"] = np.array([0, 0.1, 1], dtype=np.float32)
    dialogues = [dialogue(f"d{i}", f"q{i}", f"r{i}") for i in (1, 2, 3)]
    found = selected(reading(encode), dialogues, negatives=2, top=(1, 2), seed=0)
    assert (found.task, found.data, found.n) == ("response_selection", "toy", 3)
    assert found.figures == {
        "recall_at_1": pytest.approx(200 / 3, abs=1e-4),
        "recall_at_2": pytest.approx(200 / 3, abs=1e-4),
        "mrr": pytest.approx(100 * (1 + 1 + 1 / 3) / 3, abs=1e-4),
    }
    assert len(encode.asked) == len(set(encode.asked)) == 6
    json.dumps(found.to_record())


def test_the_dot_product_prefers_the_longer_of_two_in_one_direction():
    encode = Known({"q1": [1, 0], "q2": [0, 1], "r1": [1, 0.1], "r2": [5, 1]})
    dialogues = [dialogue("d1", "q1", "r1"), dialogue("d2", "q2", "r2")]
    found = {
        similarity: selected(reading(encode, similarity), dialogues, negatives=1, top=(1,), seed=0).figures[
            "recall_at_1"
        ]
        for similarity in ("cosine", "dot")
    }
    assert found == {"cosine": 100.0, "dot": 50.0}


def test_every_answer_is_a_query_and_its_context_is_all_that_came_before():
    queries = draw_queries(corpus(2), negatives=1, seed=0, data="toy")
    assert queries.names == (("d0", 1), ("d0", 3), ("d1", 1), ("d1", 3))
    assert queries.contexts[1] == context("0.0", "0.1", "0.2")
    assert [queries.answers[row][0].text for row in queries.candidates[:, 0]] == ["0.1", "ok", "1.1", "ok"]


def test_negatives_are_other_texts_of_the_role_from_other_dialogues_and_none_comes_twice():
    queries = draw_queries(corpus(6, turns=7), negatives=5, seed=0, data="toy")
    for (name, turn), row in zip(queries.names, queries.candidates, strict=True):
        true, *others = (queries.answers[place][0].text for place in row)
        assert true == ("ok" if turn == 3 else f"{name[1]}.{turn}")
        assert true not in others
        assert not [text for text in others if text.startswith(f"{name[1]}.")]
        said = [text for text in others if text != "ok"]
        assert len(said) == len(set(said))
        assert {text[-1] for text in said} <= {"1", "5"}


def test_negatives_are_drawn_evenly():
    texts = [f"r{i}" for i in range(11)]
    counts = dict.fromkeys(texts[1:], 0)
    for seed in range(400):
        queries = draw_queries([dialogue(f"d{t}", "q", t) for t in texts], negatives=3, limit=11, seed=seed, data="toy")
        for place in queries.candidates[0, 1:]:
            counts[queries.answers[place][0].text] += 1
    # 1,200 draws of 10: 120 each, with a standard deviation of sqrt(400 x 0.3 x 0.7) = 9.2.
    assert all(abs(count - 120) < 5 * 9.2 for count in counts.values())


def test_neither_order_nor_limit_change_what_a_turn_is_ranked_against():
    def told(queries):
        rows = zip(queries.names, queries.contexts, queries.candidates, strict=True)
        return {name: (context, [queries.answers[i][0].text for i in row]) for name, context, row in rows}

    dialogues = corpus()
    everything = told(draw_queries(dialogues, negatives=4, seed=5, data="toy"))
    assert told(draw_queries(dialogues[::-1], negatives=4, seed=5, data="toy")) == everything
    some = told(draw_queries(dialogues, negatives=4, limit=3, seed=5, data="toy"))
    assert len(some) == 3
    assert some.items() <= everything.items()
    assert told(draw_queries(dialogues, negatives=4, seed=6, data="toy")) != everything


def test_contexts_are_handed_over_as_turns_and_those_that_were_cut_are_counted():
    asked = []

    def contexts(found):
        asked.extend(found)
        return Hashed()([" ".join(turn.text for turn in turns) for turns in found])

    reader = replace(reading(Hashed()), contexts=contexts)
    found = selected(reader, corpus(2, turns=7), negatives=1, seed=0)
    assert context("0.0", "0.1", "0.2") in asked
    # Of each dialogue the contexts of turns 1, 3 and 5; only the last has more than three turns. "ok" is one answer.
    assert (len(asked), found.cut) == (6 + 5, 2)
    assert {turn.role for (*_, turn) in asked} == {0, 1}
    silent = replace(reader, count_cut=None)
    assert selected(silent, corpus(2, turns=7), negatives=1, seed=0).cut is None


def test_collapsed_vectors_find_nothing():
    found = selected(reading(collapsed), corpus(), negatives=4, top=(1, 3), seed=0).figures
    assert found == {"recall_at_1": 0.0, "recall_at_3": 0.0, "mrr": 20.0}


def test_scale_and_order_do_not_matter_to_cosine():
    encode = Hashed()
    first = selected(reading(encode), corpus(), negatives=4, seed=0)
    second = selected(reading(lambda t: np.float32(8) * encode(t)), corpus()[::-1], negatives=4, seed=0)
    assert first.figures == second.figures


def test_a_corpus_without_answers_or_with_too_few_is_refused():
    with pytest.raises(CorpusError, match="toy has no turn of a second speaker that answers another turn"):
        selected(reading(Hashed()), [dialogue("d", "alone")], seed=0)
    with pytest.raises(CorpusError, match="toy has no turn"):
        selected(reading(Hashed()), [], seed=0)
    with pytest.raises(
        CorpusError, match="toy has 10 other turns to stand against turn 2 of dialogue 'd0'; expected 11 with another"
    ):
        selected(reading(Hashed()), corpus(), negatives=11, seed=0)


def test_with_one_turn_the_query_is_the_utterance_before_the_answer():
    asked = []

    def contexts(found):
        asked.extend(found)
        return Hashed()([" ".join(turn.text for turn in turns) for turns in found])

    reader = replace(reading(Hashed()), contexts=contexts)
    found = selected(reader, corpus(2, turns=7), negatives=1, turns=1, seed=0)
    assert {len(turns) for turns in asked} == {1}
    assert context("0.2") in asked
    assert (found.settings["turns"], found.cut) == (1, 0)
    whole = selected(reader, corpus(2, turns=7), negatives=1, seed=0)
    assert "turns" not in whole.settings
