"""A tiny student: random rows for the words w0 to w39, without torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from dial2vec.encoder.student import StudentEncoder, TokenTable
from tokenizers import Tokenizer, models, pre_tokenizers

WORDS = [f"w{number}" for number in range(40)]


def tiny_student(*, dimension: int = 16, seed: int = 0) -> StudentEncoder:
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(["[UNK]", *WORDS])}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(1 + len(WORDS), dimension)).astype(np.float32)
    weights = rng.uniform(0.2, 1, 1 + len(WORDS)).astype(np.float32)
    return StudentEncoder(TokenTable(rows, weights), tokenizer, name="tiny", teacher="tiny teacher")


def save_student(folder: Path, **options: int) -> str:
    """Write a tiny student into a new folder, and return it."""
    tiny_student(**options).save_pretrained(folder)
    return str(folder)
