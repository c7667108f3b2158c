"""The vocabulary of the general student: the teacher's without tokens that English text lacks, with further words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from conversations.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.training.distillation.lesson import student_tokenizer

UNUSED = "[unused"
# Latin letters with accents end here; general punctuation and signs of currencies and units lie in the second range.
LATIN, SIGNS = 0x250, range(0x2000, 0x2200)
# A word is added only if so many texts have it.
LEAST_TEXTS = 5


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Tokens of a student.

    :param tokenizer: Its tokenizer.
    :param pieces: Ids of the teacher's tokens that make up each token.
    """

    tokenizer: Tokenizer
    pieces: list[list[int]]

    def rows(self, encoder: DialogueEncoder) -> NDArray[np.float32]:
        """Return an encoder's vector of each token alone, unit rows [V, d] float32."""
        sequences = [encoder.tokens.assemble([np.array(pieces, np.int32)], [0]) for pieces in self.pieces]
        with encoder.autocast("auto"):
            return unit_rows(encoder.encode_tokens(sequences, batch_size=256))


def vocabulary_of(encoder: DialogueEncoder, dialogues: Iterable[Dialogue], *, size: int) -> Vocabulary:
    """Return a vocabulary of a size: the teacher's Latin tokens, and the words of most texts that it splits.

    A word that is split has the mean row of its pieces ("pre", "##pa", "##id"), which mean something else; as a token
    it has a row of its own. WordPiece takes the longest token that fits, so an added word needs no other change.

    :param encoder: Teacher, with a WordPiece tokenizer.
    :param dialogues: Texts whose words count.
    :param size: Largest number of tokens.
    """
    tokenizer = student_tokenizer(encoder)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    parts: dict[str, Any] = json.loads(tokenizer.to_str())
    kept = {token: id_ for token, id_ in parts["model"]["vocab"].items() if _is_latin(token)}
    words = _split_words(tokenizer, dialogues)[: max(0, size - len(kept))]
    pieces = [[id_] for id_ in kept.values()] + [own for _, own in words]
    vocab = {token: place for place, token in enumerate([*kept, *(word for word, _ in words)])}
    parts["model"]["vocab"] = vocab
    for added in parts["added_tokens"]:
        added["id"] = vocab[added["content"]]
    # A student reads texts without special tokens.
    parts["post_processor"] = None
    return Vocabulary(Tokenizer.from_str(json.dumps(parts)), pieces)


def _is_latin(token: str) -> bool:
    return not token.startswith(UNUSED) and all(ord(sign) < LATIN or ord(sign) in SIGNS for sign in token)


def _split_words(tokenizer: Tokenizer, dialogues: Iterable[Dialogue]) -> list[tuple[str, list[int]]]:
    """Return the words that a tokenizer splits, those of most texts first, with the ids of their pieces."""
    texts: Counter[str] = Counter()
    for dialogue in dialogues:
        text = " ".join(turn.text for turn in dialogue.turns)
        normal = tokenizer.normalizer.normalize_str(text)
        texts.update({word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal)})
    often = sorted((-count, word) for word, count in texts.items() if count >= LEAST_TEXTS and word.isalpha())
    encoded = tokenizer.encode_batch_fast([word for _, word in often], add_special_tokens=False)
    return [(word, own.ids) for (_, word), own in zip(often, encoded, strict=True) if len(own.ids) > 1]
