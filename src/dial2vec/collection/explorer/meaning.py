"""Search by meaning on a page without a server: vectors, and the collection's student, small enough for a page.

Dialogues of one collection differ in few directions, so vectors and tokens are projected on the directions in which the
dialogues vary most. Each number is rounded to a multiple of a step, which is the smaller the more the dialogues vary in
its direction (docs/explorer.md, "One file", has what this costs).
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.packing import packed_numbers
from dial2vec.collection.search import moments
from dial2vec.collection.search.calibration import read_calibration
from dial2vec.encoder.folder import is_student
from dial2vec.encoder.student import StudentEncoder

# What `meaning.js` can do.
TOKENIZER = {"normalizer": "BertNormalizer", "pre_tokenizer": "BertPreTokenizer", "model": "WordPiece"}
# Constants of the choice between moments and themes, which `finding.js` makes.
CONSTANTS = (
    *("GAP", "LENGTH", "ABOUT", "AGREEMENT", "SHARED", "QUOTED", "LEVEL", "MOST", "LEAST"),
    *("TURN_WORDS", "DIALOGUE_WORDS", "THEME_WORDS", "RIVAL", "FEW"),
)
# Directions that are kept, and steps of the numbers of dialogues and of tokens.
DIRECTIONS, STEP, TOKEN_STEP = 128, 1 / 2048, 0.003
# Numbers that fit into two bytes (`packed_numbers`), and the spread of a direction in which dialogues do not vary.
LARGEST, LEAST_SPREAD = 16_383, 1e-3


def packed_meaning(collection: CollectionFolder, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return the vectors of these dialogues for JSON, and the student if one that a page can run made them.

    :param rows: rows of the collection in the order of the page, int64 [n].
    :return: `dimension`, `steps` of each direction and the numbers `vectors`; with a student also `student`, which has
        `tokens` and how to read them, `factors` of the tokens, their numbers `rows`, `far` (`calibration.json`, or
        None) and `routing`, the constants that choose between moments and themes.
    """
    vectors = np.asarray(collection.vectors[rows], dtype=np.float32)
    directions, spreads = _directions(vectors)
    steps = (1 / np.sqrt(np.maximum(spreads, LEAST_SPREAD))).astype(np.float32)
    packing = {
        "dimension": len(spreads),
        "steps": [float(f"{step:.6g}") for step in STEP * steps],
        "vectors": packed_numbers(_rounded(vectors @ directions, STEP * steps)),
    }
    # A transformer is not loaded: the page cannot run it, and this machine may have no torch.
    if not is_student(collection.model):
        return packing
    encoder = StudentEncoder.from_pretrained(collection.model)
    parts = json.loads(encoder.tokenizer.to_str())
    if {name: (parts[name] or {}).get("type") for name in TOKENIZER} != TOKENIZER:
        return packing
    return packing | {"student": _packed_student(encoder, parts, directions, steps) | _choice(collection)}


def _packed_student(
    encoder: StudentEncoder, parts: dict[str, Any], directions: NDArray[np.float32], steps: NDArray[np.float32]
) -> dict[str, Any]:
    pieces = parts["model"]
    known = [(token, id) for token, id in sorted(pieces["vocab"].items(), key=lambda item: item[1])]
    tokens = [(token, id) for token, id in known if token == pieces["unk_token"] or _can_be_read(token, pieces)]
    table = encoder.table.weighted(np.array([id for _, id in tokens]))
    lengths = np.linalg.norm(table, axis=1)
    # A number per token by which its row is multiplied, as the power of 2 that is nearest in steps of a 256th.
    factors = np.rint(256 * np.log2(np.maximum(lengths, 1e-6))).astype(np.int64)
    rounded = _rounded(table @ directions / 2 ** (factors[:, None] / 256), TOKEN_STEP * steps)
    return {
        "tokens": [token for token, _ in tokens],
        "normalizer": parts["normalizer"],
        "pieces": {
            "prefix": pieces["continuing_subword_prefix"],
            "longest": pieces["max_input_chars_per_word"],
            "unknown": pieces["unk_token"],
        },
        "step": TOKEN_STEP / STEP,
        "factors": packed_numbers(factors[:, None]),
        "rows": packed_numbers(rounded),
    }


def _can_be_read(token: str, pieces: dict[str, Any]) -> bool:
    """Return False for [CLS], [unused1] and the like: a text is cut at punctuation before tokens are looked up."""
    bare = token.removeprefix(pieces["continuing_subword_prefix"])
    return len(bare) < 2 or not (bare.startswith("[") and bare.endswith("]"))


def _choice(collection: CollectionFolder) -> dict[str, Any]:
    calibration = read_calibration(collection)
    constants = {name.lower(): getattr(moments, name) for name in CONSTANTS}
    return {
        "far": None if calibration is None else {"turn": calibration.turn, "theme": calibration.theme},
        "routing": constants | {"subjects": list(moments.SUBJECTS), "sentences": list(moments.SENTENCES)},
    }


def _directions(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the directions in which vectors vary most from 0, [d, k], and their spread in each, [k]."""
    products = vectors.T.astype(np.float64) @ vectors / max(1, len(vectors))
    variances, directions = np.linalg.eigh(products)
    best = np.argsort(-variances, kind="stable")[:DIRECTIONS]
    spreads = np.sqrt(np.maximum(variances[best], 0))
    return directions[:, best].astype(np.float32), spreads.astype(np.float32)


def _rounded(values: NDArray[np.float32], steps: NDArray[np.float32]) -> NDArray[np.int64]:
    return np.clip(np.rint(values / steps), -LARGEST, LARGEST).astype(np.int64)
