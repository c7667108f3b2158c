"""Vectors of many dialogues, saved part by part: a killed run resumes, and the next run reuses them."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.files import atomic_path
from dial2vec.encoder.network import Precision, resolved
from dial2vec.files import claim, code_hash

if TYPE_CHECKING:
    from dial2vec.encoder.encoder import DialogueEncoder

PART = 500
# Large batches fill a GPU; on a CPU they are read in parts (`Network.sequence_states`).
BATCH = {"cpu": 32, "cuda": 128}

log = logging.getLogger(__name__)


def kept_vectors(
    encoder: DialogueEncoder, dialogues: Sequence[Dialogue], *, folder: Path, precision: Precision
) -> NDArray[np.float32]:
    """Encode the dialogues, [n, d] float32, and save every 500 of them in `folder`.

    Parts that the same code saved for the same encoder and dialogues are not encoded again.
    """
    claim(folder, fingerprint_of(encoder, dialogues, precision))
    parts = []
    for first in range(0, len(dialogues), PART):
        path = folder / f"{first:08d}.npy"
        if not _is_whole(path):
            with encoder.autocast(precision):
                vectors = encoder.encode(dialogues[first : first + PART], batch_size=BATCH.get(encoder.device.type, 32))
            with atomic_path(path) as temporary, temporary.open("wb") as handle:
                np.save(handle, vectors)
            log.info("encoded %d of %d dialogues", min(first + PART, len(dialogues)), len(dialogues))
        parts.append(np.load(path))
    return np.concatenate(parts) if parts else np.zeros((0, encoder.dimension), np.float32)


def _is_whole(path: Path) -> bool:
    try:
        np.load(path)
    except (OSError, ValueError, EOFError):
        return False
    return True


def fingerprint_of(encoder: DialogueEncoder, dialogues: Sequence[Dialogue], precision: Precision) -> str:
    """Return a hash of all that decides the vectors of dialogues: their turns, the encoder, the code."""
    digest = hashlib.sha256(encoder_fingerprint(encoder, precision).encode())
    for dialogue in dialogues:
        digest.update(repr([(turn.speaker, turn.text) for turn in dialogue.turns]).encode())
    return digest.hexdigest()


def encoder_fingerprint(encoder: DialogueEncoder, precision: Precision | None = None) -> str:
    """Return a hash of all that decides an encoder's vectors here: the encoder, its precision and device, the code.

    :param precision: None is the encoder's own.
    """
    computed_in = resolved(precision or encoder.network.precision, encoder.device.type)
    made_by = (model_fingerprint(encoder), computed_in, encoder.device.type, code_hash())
    return hashlib.sha256(repr(made_by).encode()).hexdigest()


def model_fingerprint(encoder: DialogueEncoder) -> str:
    """Return a hash of an encoder: its weights and how it reads. Elsewhere its vectors differ by rounding only."""
    tokens = encoder.tokens
    read_by = (_words_of(tokens.tokenizer), encoder.max_length, tokens.style, tokens.last_turns)
    digest = hashlib.sha256(repr((read_by, encoder.pooling)).encode())
    for weights in encoder.state_dict().values():
        digest.update(weights.cpu().numpy().tobytes())
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
