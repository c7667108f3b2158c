"""A tiny student: random rows for the words w0 to w39, without torch."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

from dial2vec.encoder.student import StudentEncoder, TokenTable

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


def without(*modules: str) -> str:
    """Return the first lines of a script for which these modules are not installed."""
    return textwrap.dedent(f"""
        import sys
        from importlib.machinery import PathFinder

        def installed(name, path=None, target=None, find=PathFinder.find_spec):
            return None if name.split(".")[0] in {modules!r} else find(name, path, target)

        PathFinder.find_spec = staticmethod(installed)
    """)


def run_without_torch(script: str, folder: Path) -> str:
    """Return the last line that a script prints, run in a folder by a Python that cannot import torch."""
    command = [sys.executable, "-c", without("torch", "transformers") + script]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]
