import json

import numpy as np
import pytest

from dial2vec.draws import rng_for, stable_hash
from dial2vec.errors import Dial2vecError
from dial2vec_papers.tasks.encoding import encode_distinct
from dial2vec_papers.tasks.records import TaskResult, kind_of, library_versions, points
from tests.papers.tasks.fakes import Hashed


def test_a_result_goes_into_json_and_comes_back():
    result = TaskResult(
        "task", "data", 3, {"mrr": 50.0}, {}, 0.1, library_versions("numpy"), {"seed": 1, "limit": None}, 2
    )
    assert TaskResult(**json.loads(json.dumps(result.to_record()))) == result
    assert result.versions == {"numpy": np.__version__}


def test_a_library_that_is_not_installed_has_no_version():
    assert library_versions("no-such-library-anywhere") == {"no-such-library-anywhere": "unknown"}


def test_points_are_rounded_hundredths():
    assert points(2 / 3) == 66.6667


def test_each_text_is_encoded_once_in_an_order_that_does_not_depend_on_the_data():
    encode, other = Hashed(), Hashed()
    encoded = encode_distinct(encode, ["b", "a", "b"])
    encode_distinct(other, ["a", "a", "b"])
    assert encode.asked == other.asked == ["a", "b"]
    assert np.array_equal(encoded.vectors[encoded.rows(["b", "a", "b"])], encode(["b", "a", "b"]))


def test_a_vector_that_is_not_finite_is_refused_with_its_text():
    with pytest.raises(Dial2vecError, match="1 of 2 vectors hold NaN or infinity, the first for the text 'b'"):
        encode_distinct(lambda texts: np.array([[0.0], [np.nan]], dtype=np.float32), ["a", "b"])


def test_a_stream_belongs_to_its_names_and_to_no_others():
    assert rng_for(1, "a").integers(10**9) == rng_for(1, "a").integers(10**9)
    names = [(1, "a", "bc"), (1, "ab", "c"), (2, "a", "bc"), ("a", 1, "bc"), (1, "a")]
    assert len({stable_hash(*name) for name in names}) == 5


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, ""),
        ({"draws": 10, "seed": 1, "prototype": "units"}, ""),
        ({"draws": 10, "seed": 1, "prototype": "mean"}, "prototype mean"),
        ({"rule": "paper"}, "paper"),
        ({"negatives": 99, "turns": 1}, "of 100, last 1 turn"),
        ({"negatives": 99, "turns": 2}, "of 100, last 2 turns"),
        ({"candidates": 100, "positives": 30}, "at most 30 relevant"),
    ],
)
def test_a_variant_has_its_words_and_the_usual_has_none(settings, kind):
    assert kind_of(settings) == kind
