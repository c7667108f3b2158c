from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from conversations.dialogue import write_dialogues
from dial2vec.cli import main
from dial2vec.collection import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search import Search
from dial2vec.collection.search.exact import without
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import CorpusError


def rows(*given: list[float]) -> np.ndarray:
    return np.asarray(given, dtype=np.float32)


def test_what_is_left_of_a_query_has_nothing_in_common_with_what_is_not_wanted():
    np.testing.assert_allclose(without(rows([0.6, 0.8, 0])[0], rows([1, 0, 0])), [0, 1, 0], atol=1e-6)
    wanted, unwanted = rows([0.5, 0.5, 0.5, 0.5])[0], rows([1, 0, 0, 0], [0.6, 0.8, 0, 0], [1, 0, 0, 0])
    left = without(wanted, unwanted)
    np.testing.assert_allclose(left, [0, 0, 0.5**0.5, 0.5**0.5], atol=1e-6)
    np.testing.assert_allclose(without(wanted, unwanted[::-1]), left, atol=1e-6)


def test_a_query_that_is_all_unwanted_is_refused():
    with pytest.raises(CorpusError, match="nothing is left to search"):
        without(rows([0, 1])[0], rows([0, 1]))


@pytest.fixture(scope="module")
def collection(tmp_path_factory, student_folder) -> CollectionFolder:
    """Dialogues d0 to d9; the words of dialogue n are w<n> and w<n + 1>."""
    from tests.conftest import make_dialogue

    place = tmp_path_factory.mktemp("contrast")
    made = [make_dialogue(f"d{n}", f"a: w{n} w{n}", f"b: w{n + 1}") for n in range(10)]
    write_dialogues(place / "a.jsonl", made)
    add(place / "c", place / "a.jsonl", encoder=load_encoder(student_folder))
    return CollectionFolder(place / "c")


def test_hits_are_ordered_by_what_is_left_and_their_turns_sum_to_the_cosine(collection):
    search = Search(collection)
    hits = search.find("w3 w4", 10, unlike=("w4",), n_turns=2)
    vectors = [search.encoder.encode(search_query) for search_query in _queries("w3 w4", "w4")]
    left = without(*(vectors[0] / np.linalg.norm(vectors[0]), rows(vectors[1] / np.linalg.norm(vectors[1]))))
    cosines = collection.vectors @ left
    assert [collection.row(hit.dialogue_id) for hit in hits] == np.argsort(-cosines, kind="stable").tolist()
    for hit in hits:
        assert sum(turn.contribution for turn in hit.turns) == pytest.approx(hit.cosine, abs=1e-4)


def _queries(*texts: str):
    from tests.conftest import make_dialogue

    return [make_dialogue("", f"query: {text}") for text in texts]


def test_neither_dialogue_of_like_and_not_is_a_hit(collection):
    done = CliRunner().invoke(
        main, ["search", str(collection.folder), "--like", "d3", "--not", "d4", "--not", "w9", "-k", "20", "--json"]
    )
    assert done.exit_code == 0, done.output
    names = {json.loads(line)["dialogue_id"] for line in done.stdout.splitlines()}
    assert names == {f"d{n}" for n in range(10)} - {"d3", "d4"}
