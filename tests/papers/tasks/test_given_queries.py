"""Response selection among given candidates."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.dialogue import Turn
from dial2vec.cli import main
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.response_queries import ResponseQuery, write_queries
from dial2vec_papers.tasks.encoding import Spoken
from dial2vec_papers.tasks.response_selection import given_queries, select_responses
from dial2vec_papers.tasks.robustness import select_responses_perturbed
from tests.papers.tasks.fakes import Hashed, Known, reading, slow_cosine


def query(number, asked, responses, *correct, speaker="b"):
    return ResponseQuery(f"test/{number}", (Turn("a", asked),), speaker, tuple(responses), correct)


def selected(reader, queries, **options):
    return select_responses(reader, given_queries(queries, data="toy", seed=0, **options))


def test_figures_by_hand():
    encode = Known({"q": [1, 0], "near": [1, 0.1], "middle": [1, 1], "far": [0, 1], "away": [-1, 0]})
    queries = [
        query(0, "q", ["far", "near", "middle", "away"], 1),
        query(1, "q", ["far", "near", "middle", "away"], 0),
        # Two are right, and the nearer one counts; only two others are there.
        query(2, "q", ["middle", "near", "away", "far"], 0, 3),
    ]
    result = selected(reading(encode), queries)
    assert result.figures == {
        "recall_at_1": pytest.approx(100 / 3, abs=1e-3),
        "recall_at_3": 100.0,
        "mrr": pytest.approx(100 * (1 + 1 / 3 + 1 / 2) / 3, abs=1e-3),
    }
    assert (result.task, result.data, result.n, result.left_out) == ("response_selection", "toy", 3, 0)
    assert result.settings == {"given": 4, "limit": None, "seed": 0, "similarity": "cosine"}


@given(st.integers(0, 999), st.sampled_from(["cosine", "dot"]))
@settings(max_examples=30, deadline=None)
def test_ranks_equal_brute_force_with_any_number_of_candidates_and_right_ones(seed, similarity):
    rng, encode = np.random.default_rng(seed), Hashed()
    queries, ranks = [], []
    for number in range(5):
        texts = [f"r{place}" for place in rng.choice(30, size=rng.integers(2, 12), replace=False)]
        right = sorted(rng.choice(len(texts), size=rng.integers(1, len(texts)), replace=False).tolist())
        queries.append(query(number, f"q{number}", texts, *right))
        asked, score = encode.vector(f"q{number}"), {}
        for text in texts:
            vector = encode.vector(text)
            score[text] = slow_cosine(asked, vector) if similarity == "cosine" else float(asked @ vector)
        best = max(score[texts[place]] for place in right)
        ranks.append(1 + sum(score[text] >= best for place, text in enumerate(texts) if place not in right))
    figures = selected(reading(encode, similarity), queries).figures
    assert figures["mrr"] == pytest.approx(100 * np.mean(1 / np.array(ranks)), abs=1e-3)
    assert figures["recall_at_1"] == pytest.approx(100 * np.mean(np.array(ranks) == 1), abs=1e-3)


def test_a_twin_of_the_right_text_is_no_rival_and_a_query_of_right_ones_alone_is_left_out():
    encode = Known({"q": [1, 0], "yes": [1, 0], "no": [0, 1]})
    result = selected(reading(encode), [query(0, "q", ["yes", "yes", "no"], 0), query(1, "q", ["yes", "no"], 0, 1)])
    assert (result.n, result.left_out, result.figures["recall_at_1"], result.settings["given"]) == (1, 1, 100.0, 2)
    with pytest.raises(CorpusError, match=r"toy has no query with a wrong candidate; expected at least one"):
        selected(reading(encode), [query(0, "q", ["yes", "yes"], 0)])


def test_a_response_is_read_as_its_speakers_and_that_of_an_unknown_one_as_the_seconds():
    read = []
    reader = replace(reading(Hashed()), contexts=lambda some: read.extend(some) or reading(Hashed()).contexts(some))
    selected(reader, [query(0, "q", ["mine", "x"], 0, speaker="a"), query(1, "q", ["whose", "x"], 0, speaker="")])
    answers = {(Spoken("mine", 0),), (Spoken("x", 0),), (Spoken("whose", 1),), (Spoken("x", 1),)}
    assert set(read) == answers | {(Spoken("q", 0),)}


def test_the_limit_draws_queries_by_the_seed():
    queries = [query(number, f"q{number}", ["x", "y"], 0) for number in range(9)]
    names = [given_queries(queries[::step], data="toy", limit=4, seed=3).names for step in (1, -1)]
    assert names[0] == names[1]
    assert names[0] != given_queries(queries, data="toy", limit=4, seed=4).names
    assert len(names[0]) == 4


def test_a_perturbed_context_is_ranked_against_the_same_candidates():
    encode = Known({"q": [1, 0], "": [0, 1], "yes": [1, 0], "no": [0, 1]})
    queries = given_queries([query(0, "q", ["no", "yes"], 1)], data="toy", seed=0)
    result = select_responses_perturbed(reading(encode), queries, {"empty": lambda *_: []}, seed=0)
    assert (result.figures["clean_recall_at_1"], result.figures["empty_recall_at_1_drop"]) == (100.0, 100.0)
    assert (result.figures["empty_mrr"], result.settings["given"]) == (50.0, 2)


def test_the_command_ranks_the_candidates_of_a_file(tmp_path, tiny_folder):
    path, output = tmp_path / "ubuntu.jsonl", tmp_path / "results.jsonl"
    write_queries(path, [query(n, f"w{n}", [f"w{n}", *(f"w{9 - m}" for m in range(4))], 0) for n in range(3)])
    done = CliRunner().invoke(
        main, ["papers", "evaluate", "--model", tiny_folder, "--queries", str(path), "--output", str(output)]
    )
    assert done.exit_code == 0, done.output
    assert "response selection, ubuntu, of 5 given (3, " in done.output
    records = [json.loads(line) for line in output.read_text().splitlines()]
    assert [record["task"] for record in records] == ["response_selection", "robustness"]
    # The right response repeats its context.
    assert records[0]["figures"]["mrr"] == 100.0
    path.write_text("{}\n")
    done = CliRunner().invoke(main, ["papers", "evaluate", "--model", tiny_folder, "--queries", str(path)])
    assert (done.exit_code, "`dial2vec papers queries` writes it" in done.output) == (1, True)
