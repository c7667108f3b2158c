"""Vectors in pieces are the vectors of `encode`, for every pooling and input, with and without a head."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import torch

from conversations.dialogue import Dialogue, Turn
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.head import Head
from dial2vec.operation.serving.batching import Batcher, Workload
from dial2vec.operation.serving.readers import reader_of
from tests.conftest import make_dialogue
from tests.students import tiny_student


def random_dialogues(count: int, *, seed: int, longest: int) -> list[Dialogue]:
    draw = random.Random(seed)
    return [
        Dialogue(
            f"d{number}",
            tuple(
                Turn(draw.choice("abc"), " ".join(f"w{draw.randrange(45)}" for _ in range(draw.randint(1, longest))))
                for _ in range(draw.randint(1, 9))
            ),
        )
        for number in range(count)
    ]


def in_pieces(encoder, *requests: list[Dialogue], batch_tokens: int) -> list[np.ndarray]:
    """Return the vectors of requests that are encoded together."""
    batcher = Batcher(reader_of(encoder), batch_tokens=batch_tokens, max_tokens=10**6)
    works = [Workload(dialogues) for dialogues in requests]
    for work in works:
        batcher.add(work)
    while batcher.busy:
        batcher.step()
    assert all(work.complete for work in works)
    return [work.vectors for work in works]


@pytest.mark.parametrize("batch_tokens", [100, 5000])
@pytest.mark.parametrize(
    ("pooling", "input"),
    [
        ("role", "text"),
        ("mean", "text"),
        ("turns", "text"),
        ("cls", "text"),
        ("separators", "separators"),
        ("role", "turns"),
        ("mean", "closed"),
    ],
)
def test_pieces_of_several_requests_give_the_vectors_of_encode(tiny_folder, pooling, input, batch_tokens):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, pooling=pooling, input=input)
    # Some dialogues have one window, others a dozen.
    requests = [random_dialogues(count, seed=count, longest=longest) for count, longest in ((7, 3), (3, 60), (1, 100))]
    for vectors, dialogues in zip(in_pieces(encoder, *requests, batch_tokens=batch_tokens), requests, strict=True):
        np.testing.assert_allclose(vectors, encoder.encode(dialogues), atol=2e-5)


def test_turns_that_are_read_alone_are_cut_between_turns(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, input="turns")
    reader, [dialogue] = reader_of(encoder), random_dialogues(1, seed=4, longest=40)
    dialogue = Dialogue("d", dialogue.turns * 9)
    pieces, _ = reader.pieces(dialogue, reader.tokenise([turn.text for turn in dialogue.turns]))
    sequences = [piece.content[0] for piece in pieces]
    assert len(pieces) > 3
    assert max(piece.tokens for piece in pieces) <= encoder.max_length
    assert all(a.turns[-1] < b.turns[0] for a, b in itertools.pairwise(sequences))
    assert sum(piece.tokens for piece in pieces) == len(encoder.tokens.dialogues([dialogue])[0].ids)


def test_the_head_maps_vectors_that_were_pooled_from_pieces(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    draw = torch.Generator().manual_seed(0)
    width = encoder.dimension
    encoder.head = Head(torch.randn(width, generator=draw), torch.randn(width, width, generator=draw))
    dialogues = random_dialogues(5, seed=1, longest=60)
    [vectors] = in_pieces(encoder, dialogues, batch_tokens=200)
    np.testing.assert_allclose(vectors, encoder.encode(dialogues), atol=2e-5)


@pytest.mark.parametrize("batch_tokens", [1, 5000])
def test_a_student_in_pieces_gives_the_vectors_of_encode(batch_tokens):
    student = tiny_student()
    requests = [random_dialogues(6, seed=2, longest=50), [make_dialogue("d", "a: ?", "b: w1")]]
    for vectors, dialogues in zip(in_pieces(student, *requests, batch_tokens=batch_tokens), requests, strict=True):
        np.testing.assert_allclose(vectors, student.encode(dialogues), atol=1e-5)


def test_a_turn_that_is_cut_into_blocks_has_the_same_tokens(tiny_folder):
    encoder, student = DialogueEncoder.from_pretrained(tiny_folder), tiny_student()
    long = make_dialogue("d", "a: " + "w1 w2  w3 " * 3000, "b: w4")
    for each in (encoder, student):
        assert reader_of(each).splits_at_blanks
        [vectors] = in_pieces(each, [long], batch_tokens=5000)
        np.testing.assert_allclose(vectors, each.encode([long]), atol=2e-5)
