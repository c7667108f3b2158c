"""Search by meaning on a page without a server: the collection's student, small enough for a page."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.content import base64_of
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.student import StudentEncoder, TokenTable
from dial2vec.errors import ArtifactError

# What `meaning.js` can do.
TOKENIZER = {"normalizer": "BertNormalizer", "pre_tokenizer": "BertPreTokenizer", "model": "WordPiece"}


def packed_student(collection: CollectionFolder, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return the student of a collection and the vectors of these dialogues for JSON, as int8.

    :param rows: rows of the collection in the order of the page, int64 [n].
    :raises ArtifactError: if no student made the vectors, or one with another tokenizer than BERT's.
    """
    encoder = load_encoder(collection.model)
    if not isinstance(encoder, StudentEncoder):
        raise ArtifactError(
            f"{collection.folder} was made with {encoder.name}, a transformer, which a page cannot run; expected a "
            "student. Leave --meaning out, or index with --model small once a student is champion."
        )
    parts = json.loads(encoder.tokenizer.to_str())
    kinds = {name: (parts[name] or {}).get("type") for name in TOKENIZER}
    if kinds != TOKENIZER:
        raise ArtifactError(
            f"the tokenizer of {collection.model} is {kinds}; a page can only run {TOKENIZER}. Leave --meaning out."
        )
    pieces, table = parts["model"], encoder.table.as_rows("int8")
    # Of length 1, so that the weight of a vector is 1.
    vectors = TokenTable(np.asarray(collection.vectors[rows]), np.ones(len(rows), np.float32)).as_rows("int8")
    return {
        "tokens": [token for token, _ in sorted(pieces["vocab"].items(), key=lambda item: item[1])],
        "normalizer": parts["normalizer"],
        "pieces": {
            "prefix": pieces["continuing_subword_prefix"],
            "longest": pieces["max_input_chars_per_word"],
            "unknown": pieces["unk_token"],
        },
        "dimension": encoder.dimension,
        "rows": base64_of(table.rows),
        "factors": base64_of(_factors(table)),
        "vectors": base64_of(vectors.rows),
        "scales": base64_of(_factors(vectors)),
    }


def _factors(table: TokenTable) -> NDArray[np.float32]:
    """Return the number that turns an int8 row into a weighted row, "<f4" [V]."""
    assert table.scales is not None
    return (table.weights * table.scales).astype("<f4")
