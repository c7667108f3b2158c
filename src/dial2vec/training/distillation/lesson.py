"""The lesson of a student: bags of tokens, their targets, and the first rows of its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from conversations.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.maps import neighbour_targets, neighbourhood_size
from dial2vec.encoder.nearest import unit_rows
from dial2vec.training.distillation.bags import Bags
from dial2vec.training.distillation.learning_table import LearningTable, first_weights
from dial2vec.training.distillation.teachers import Teacher

Targets = Literal["neighbours", "vectors"]

# Strength of the ridge, in units of the mean eigenvalue.
RIDGE = 0.01


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a student learns.

    :param bags: Dialogues to learn from.
    :param targets: Vector that each dialogue should get, [n, e] float32.
    :param rows: First row of each token of the vocabulary, [V, d] float32.
    :param weights: First weight of each token, [V] float32.
    :param matrix: First matrix from rows to targets, [d, e] float32.
    """

    bags: Bags
    targets: NDArray[np.float32]
    rows: NDArray[np.float32]
    weights: NDArray[np.float32]
    matrix: NDArray[np.float32]


def lesson_of(
    teacher: Teacher, encoder: DialogueEncoder, dialogues: Sequence[Dialogue], *, targets: Targets, folder: Path
) -> Lesson:
    """Return what a student of a teacher learns from dialogues that the teacher knows.

    The rows begin as the vectors that an encoder gives to single tokens. If this encoder is the teacher, they are in
    its space already; else a matrix brings them there, fitted to the dialogues by least squares.

    :param encoder: Encoder whose tokenizer the student gets.
    :param targets: Kind of vector that a dialogue should get: "vectors", the teacher's; "neighbours", mostly the mean
        of the teacher's vectors of the nearest dialogues (`training.methods.neighbours.neighbour_targets`), where
        things that a bag of words cannot tell average out.
    :param folder: Folder that keeps the teacher's vectors.
    """
    tokenizer = student_tokenizer(encoder)
    bags = Bags.of(dialogues, tokenizer)
    goals = teacher.vectors(dialogues, folder)
    if targets == "neighbours":
        goals = neighbour_targets(goals, k=neighbourhood_size(len(goals)))
    rows = token_rows(encoder, tokenizer.get_vocab_size())
    weights = first_weights(bags, len(rows))
    matrix = np.eye(encoder.dimension, dtype=np.float32)
    if teacher.fingerprint != encoder.fingerprint():
        table = LearningTable(*map(torch.from_numpy, (rows, weights, matrix)))
        with torch.no_grad():
            matrix = least_squares(table(bags).numpy(), goals)
    return Lesson(bags, goals, rows, weights, matrix)


def student_tokenizer(encoder: DialogueEncoder) -> Tokenizer:
    """Return a copy of an encoder's tokenizer without dependence on torch or transformers."""
    tokenizer: Tokenizer = Tokenizer.from_str(encoder.tokens.tokenizer.backend_tokenizer.to_str())
    return tokenizer


def least_squares(inputs: NDArray[np.float32], targets: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the matrix [d, e] that brings inputs [n, d] nearest to targets [n, e], with a small ridge to zero."""
    x = inputs.astype(np.float64)
    gram = x.T @ x
    strength = max(RIDGE * np.trace(gram) / len(gram), 1e-12)
    solved = np.linalg.solve(gram + strength * np.eye(len(gram)), x.T @ targets.astype(np.float64))
    return np.asarray(solved, dtype=np.float32)


def token_rows(encoder: DialogueEncoder, n: int) -> NDArray[np.float32]:
    """Return an encoder's vector of each token of its vocabulary alone, unit rows [n, d] float32.

    :param n: Number of tokens.
    """
    sequences = [encoder.tokens.assemble([np.array([token], np.int32)], [0]) for token in range(n)]
    with encoder.autocast("auto"):
        return unit_rows(encoder.encode_tokens(sequences, batch_size=256))
