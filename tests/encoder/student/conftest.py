from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from dial2vec.encoder.student import StudentEncoder, TokenTable


@pytest.fixture
def student(tiny_folder):
    """A student with random rows of width 8 for the tiny tokenizer."""
    draws = np.random.default_rng(0)
    table = TokenTable(draws.standard_normal((45, 8), dtype=np.float32), draws.uniform(0.01, 1, 45).astype(np.float32))
    tokenizer = Tokenizer.from_file(str(Path(tiny_folder) / "tokenizer.json"))
    return StudentEncoder(table, tokenizer, name="start", teacher="teacher")
