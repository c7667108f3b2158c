"""Hash of a transformer encoder: two with the same hash give the same vectors except for rounding."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from torch import Tensor

from dial2vec.encoder.pooling import Pooling
from dial2vec.encoder.tokens import DialogueTokenizer


def model_fingerprint(weights: Iterable[Tensor], tokens: DialogueTokenizer, pooling: Pooling) -> str:
    """Return a hash of an encoder's weights and of how it reads."""
    read_by = (_words_of(tokens.tokenizer), tokens.max_length, tokens.style, tokens.last_turns)
    digest = hashlib.sha256(repr((read_by, pooling)).encode())
    for tensor in weights:
        digest.update(tensor.cpu().numpy().tobytes())
    return digest.hexdigest()


def _words_of(tokenizer: Any) -> str:
    """Return what decides the tokens of a text."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        # Written in Python, such as Canine's, whose characters are its tokens.
        return json.dumps([type(tokenizer).__name__, sorted(tokenizer.get_vocab().items())])
    # Without the tokenizer's own special tokens, truncation and padding: `DialogueTokenizer` adds its own.
    parts = json.loads(backend.to_str())
    words = {name: part for name, part in parts.items() if name not in ("post_processor", "truncation", "padding")}
    return json.dumps(words, sort_keys=True)
