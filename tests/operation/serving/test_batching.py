"""The batcher with an encoder whose answers can be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dial2vec.operation.serving.batching import BLOCK, BYTES_PER_TOKEN, Batcher, Piece, Workload
from dial2vec.operation.serving.refusals import RefusedRequestError
from tests.conftest import make_dialogue


class Counting:
    """Words are tokens, and the number in a word is its id; windows of 4 tokens; the vector is [sum, tokens]."""

    splits_at_blanks = True

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.blocks: list[int] = []

    def tokenise(self, texts):
        self.blocks.append(sum(map(len, texts)))
        return [np.array([int(word[-2:]) for word in text.split()], dtype=np.int32) for text in texts]

    def pieces(self, dialogue, turns):
        ids = np.concatenate(turns)
        windows = [ids[first : first + 4] for first in range(0, len(ids), 4)]
        return [Piece(len(window), window) for window in windows], len(windows) > 1

    def encode(self, pieces):
        self.batches.append([int(piece.content[0]) for piece in pieces])
        if any(99 in piece.content for piece in pieces):
            raise ValueError("99 cannot be encoded")
        return np.array([[piece.content.sum(), piece.tokens] for piece in pieces], dtype=np.float32)

    def join(self, pooled):
        return np.where(pooled == 77, np.nan, pooled)


def work(*texts: str) -> Workload:
    return Workload([make_dialogue(f"d{place}", f"a: {text}") for place, text in enumerate(texts)])


def batcher(batch_tokens: int = 8, max_tokens: int = 1000) -> Batcher:
    return Batcher(Counting(), batch_tokens=batch_tokens, max_tokens=max_tokens)


def until_done(made: Batcher) -> list[list[Workload]]:
    """Return the works that ended, by steps."""
    ended = []
    while made.busy:
        ended.append(made.step().ended)
    return ended


def test_the_vectors_of_a_work_are_the_sums_of_its_pieces():
    made, some = batcher(), work("1 2 3 4 5 6", "7")
    made.add(some)
    until_done(made)
    assert some.complete
    assert some.vectors.tolist() == [[21, 6], [7, 1]]
    assert (some.tokens, some.long) == (7, 1)


def test_a_small_request_is_answered_before_a_huge_one_that_came_first():
    made, huge, small = batcher(batch_tokens=8), work(" ".join(["1"] * 400)), work("5 6", "7")
    made.add(huge)
    made.step()
    made.add(small)
    made.step()
    made.step()
    assert small.complete
    assert not huge.complete
    assert small.vectors.tolist() == [[11, 2], [7, 1]]
    until_done(made)
    assert huge.vectors.tolist() == [[400, 400]]


def test_requests_give_a_piece_each_in_turn_and_share_batches():
    made, works = batcher(batch_tokens=9), [work("10", "11", "12"), work("20", "21"), work("30")]
    for each in works:
        made.add(each)
    step = made.step()
    assert made.reader.batches == [[10, 20, 30, 11, 21, 12]]
    assert (step.tokens, step.pieces, step.requests) == (6, 6, 3)
    assert step.ended == [works[0], works[1], works[2]]


def test_a_batch_ends_at_a_piece_that_does_not_fit_and_the_next_begins_with_it():
    made = batcher(batch_tokens=5)
    for text in ("1 1 1 1", "2 2 2 2", "3"):
        made.add(work(text))
    until_done(made)
    assert made.reader.batches == [[1], [2, 3]]


def test_a_piece_larger_than_a_batch_is_a_batch_by_itself():
    made, some = batcher(batch_tokens=2), work("1 2 3 4 5")
    made.add(some)
    until_done(made)
    assert made.reader.batches == [[1], [5]]
    assert some.complete


def test_a_work_that_cannot_be_encoded_fails_alone():
    made, good, bad = batcher(), work("1 2"), work("99")
    made.add(bad)
    made.add(good)
    until_done(made)
    assert str(bad.error) == "99 cannot be encoded"
    assert good.vectors.tolist() == [[3, 2]]


def test_a_text_that_cannot_be_tokenised_fails_alone():
    made, good, bad = batcher(), work("1 2"), work("x")
    made.add(bad)
    made.add(good)
    until_done(made)
    assert isinstance(bad.error, ValueError)
    assert good.complete


def test_numbers_that_are_not_finite_are_an_error_and_no_result():
    made, some = batcher(), work("77")
    made.add(some)
    until_done(made)
    assert isinstance(some.error, FloatingPointError)
    assert not some.complete


def test_a_work_that_nobody_waits_for_costs_no_further_batch():
    made, some = batcher(batch_tokens=4), work(" ".join(["1"] * 40))
    made.add(some)
    made.step()
    some.given_up = True
    until_done(made)
    assert len(made.reader.batches) == 1


def test_more_tokens_than_allowed_are_refused_before_anything_is_encoded():
    made, some, few = batcher(max_tokens=10), work(" ".join(["1"] * 11)), work("1")
    made.add(some)
    made.add(few)
    until_done(made)
    assert isinstance(some.error, RefusedRequestError)
    assert some.error.status == 413
    assert "11 tokens or more, and a request may have 10" in str(some.error)
    assert made.reader.batches == [[1]]
    assert few.complete


def test_far_too_long_texts_are_refused_before_they_are_tokenised():
    made = batcher(max_tokens=10)
    with pytest.raises(
        RefusedRequestError, match="have 161 bytes, and a request may have 10 tokens, at most 160 bytes"
    ):
        made.add(work("1" * (10 * BYTES_PER_TOKEN + 1)))
    assert not made.busy
    assert made.reader.blocks == []


def test_a_long_turn_is_tokenised_in_blocks_between_which_others_are():
    words = BLOCK  # of two characters each
    made, long, short = batcher(batch_tokens=100_000, max_tokens=100_000), work("1 " * words), work("5")
    made.add(long)
    made.add(short)
    made.step()
    assert short.complete
    assert not long.complete
    until_done(made)
    assert long.vectors.tolist() == [[words, words]]
    assert max(made.reader.blocks) <= BLOCK


def test_a_text_without_blanks_is_not_cut():
    made, some = batcher(max_tokens=100_000), work("0" * (2 * BLOCK) + " 1")
    made.add(some)
    until_done(made)
    assert some.vectors.tolist() == [[1, 2]]


def test_the_estimate_is_the_tokens_that_are_left_at_the_speed_of_the_last_batches():
    made, some = batcher(batch_tokens=4), work(" ".join(["1"] * 40))
    assert made.seconds_ahead() == 0
    made.add(some)
    made.step()
    made.speed = 2.0
    assert made.seconds_ahead() == 18


def test_all_works_can_be_failed_at_once():
    made, works = batcher(), [work("1"), work("2")]
    for each in works:
        made.add(each)
    assert made.fail(ValueError("no")) == works
    assert not made.busy
    assert all(str(each.error) == "no" for each in works)
