import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec_papers.tasks.sentence_pairs import SentencePairs, pair_relatedness, read_sentence_pairs
from tests.papers.tasks.fakes import Hashed, Known, collapsed, reading, slow_cosine


def test_cosines_in_the_order_of_the_scores_are_a_hundred_points():
    encode = Known({"a": [1, 0], "near": [2, 1], "far": [0, 1], "behind": [-3, 0]})
    found = pair_relatedness(
        reading(encode), SentencePairs((1, 5, 3), ("a",) * 3, ("behind", "near", "far")), data="toy"
    )
    assert found.figures == {"spearman": 100.0}
    assert (found.task, found.data, found.n, found.spread) == ("sentence_pairs", "toy", 3, {})
    assert sorted(encode.asked) == ["a", "behind", "far", "near"]


@given(st.lists(st.tuples(st.integers(1, 5), st.text("abc", max_size=2), st.text("abc", max_size=2)), min_size=3))
@settings(max_examples=30, deadline=None)
def test_spearman_is_scipys_with_ties(rows):
    scores, first, second = zip(*rows, strict=True)
    encode = Hashed()
    cosines = [slow_cosine(encode.vector(a), encode.vector(b)) for a, b in zip(first, second, strict=True)]
    if len(set(scores)) < 2:
        with pytest.raises(Dial2vecError, match="pairs with 1 different scores in toy; expected at least two"):
            pair_relatedness(reading(encode), SentencePairs(scores, first, second), data="toy")
        return
    expected = 100 * spearmanr(cosines, scores).statistic if len(set(cosines)) > 1 else 0.0
    found = pair_relatedness(reading(encode), SentencePairs(scores, first, second), data="toy").figures["spearman"]
    assert found == pytest.approx(expected, abs=1e-4)


def test_collapsed_vectors_have_no_correlation():
    pairs = SentencePairs((1, 2, 3), ("a", "b", "c"), ("d", "e", "f"))
    assert pair_relatedness(reading(collapsed), pairs, data="toy").figures == {"spearman": 0.0}


def test_sts_lines_are_read_with_their_quotation_marks(tmp_path):
    path = tmp_path / "sts.txt"
    path.write_bytes('\ufeff5\t"你好\u2028吗\t您好\r\n\n1\t在\t再见'.encode())
    assert read_sentence_pairs(path) == SentencePairs((5.0, 1.0), ('"你好\u2028吗', "在"), ("您好", "再见"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"3\ta\tb\n2\ta\n", r"sts.txt:2: found 2 cells parted by tabs, expected 3 \(score, sentence, sentence\)"),
        (b"3\ta\tb\ngood\ta\tb\n", r"sts.txt:2: found the score 'good', expected a number"),
        (b"nan\ta\tb\n", r"sts.txt:1: found the score 'nan', expected a number"),
        (b"3\ta\t \n", r"sts.txt:1: found a blank sentence, expected two sentences"),
        (b"", r"sts.txt is empty; expected lines of score, sentence, sentence"),
        (b"3\ta\t\xff\n", r"sts.txt is not UTF-8 .*Save it as UTF-8"),
    ],
)
def test_a_bad_line_is_named_with_file_and_number(tmp_path, content, message):
    (tmp_path / "sts.txt").write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        read_sentence_pairs(tmp_path / "sts.txt")


def test_a_missing_file_or_a_folder_is_one_sentence(tmp_path):
    with pytest.raises(CorpusError, match=r"sts.txt does not exist; expected a file with 3 columns"):
        read_sentence_pairs(tmp_path / "sts.txt")
    with pytest.raises(CorpusError, match="cannot be read: it is a folder; expected a file with 3 columns"):
        read_sentence_pairs(tmp_path)


def test_scale_and_order_of_the_pairs_do_not_matter():
    rows = [(float(i % 4), f"a{i}", f"b{i % 5}") for i in range(12)]
    encode = Hashed()
    found = [
        pair_relatedness(
            reading(lambda texts, by=by: by * encode(texts)), SentencePairs(*zip(*order, strict=True)), data="toy"
        )
        for by, order in ((1, rows), (np.float32(8), rows[::-1]))
    ]
    assert found[0].figures == found[1].figures
