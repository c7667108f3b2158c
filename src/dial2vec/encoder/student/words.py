"""Token ids of texts, fast: each word of a corpus is tokenised once if the tokenizer reads words independently."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

# Ids of all tokens end to end, int32, and the number of tokens of each group of texts, int64.
Tokens: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int64]]
# Words and characters after which the cache is emptied; so many words take about 100 MiB.
MAX_WORDS, MAX_CHARACTERS = 500_000, 10_000_000
NORMALIZERS = (None, "BertNormalizer", "Lowercase")
PRE_TOKENIZERS = ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")
MODELS = ("WordPiece", "WordLevel")


def token_reader(tokenizer: Tokenizer) -> TextReader | WordReader:
    """Return the fastest reader that gives exactly the tokenizer's ids, without special tokens around a text.

    The tokenizer's own truncation and padding are turned off.
    """
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return WordReader(tokenizer) if splits_at_blanks(tokenizer) else TextReader(tokenizer)


def splits_at_blanks(tokenizer: Tokenizer) -> bool:
    """Return whether the tokens of a text are those of its parts between blanks (U+0020), for every text.

    Normalizers of this kind change each part by itself, and no added token may match across a blank. The content of an
    added token can be normalized too; only ASCII without white space surely stays one part.
    """
    parts: dict[str, Any] = json.loads(tokenizer.to_str())
    kinds = {name: (parts[name] or {}).get("type") for name in ("normalizer", "pre_tokenizer", "model")}
    added = "".join(token["content"] for token in parts["added_tokens"])
    return (
        kinds["normalizer"] in NORMALIZERS
        and kinds["pre_tokenizer"] in PRE_TOKENIZERS
        and kinds["model"] in MODELS
        and added.isascii()
        and not any(character.isspace() for character in added)
    )


class TextReader:
    """Tokenises each text, with any tokenizer.

    :param tokenizer: tokenizer without truncation and padding.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def read(self, groups: Sequence[Sequence[str]]) -> Tokens:
        """Return the tokens of groups of texts; the tokens of a group's texts follow each other."""
        texts = [text for group in groups for text in group]
        ids, lengths = _tokenised(self.tokenizer, texts)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        places = np.cumsum([0, *map(len, groups)])
        return ids, np.diff(ends[places])


class WordReader:
    """Tokenises each word once; for a tokenizer that `splits_at_blanks`.

    :param tokenizer: tokenizer without truncation and padding.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._lock = threading.Lock()
        self._forget()

    def __reduce__(self) -> tuple[type[WordReader], tuple[Tokenizer]]:
        """Pickle the tokenizer only; a copy has an empty cache."""
        return WordReader, (self.tokenizer,)

    def _forget(self) -> None:
        self._numbers = _Numbers()
        self._characters = 0
        self._ids = np.zeros(0, dtype=np.int32)
        self._lengths = np.zeros(0, dtype=np.int64)
        self._begins = np.zeros(0, dtype=np.int64)

    def read(self, groups: Sequence[Sequence[str]]) -> Tokens:
        """Return the tokens of groups of texts; the tokens of a group's texts follow each other."""
        if not groups:
            return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
        joined = [" ".join(group) for group in groups]
        n_words = np.array([text.count(" ") + 1 for text in joined])
        words = " ".join(joined).split(" ")
        with self._lock:
            numbers = self._number(words)
            lengths, begins, ids = self._lengths[numbers], self._begins[numbers], self._ids
        ends = np.cumsum(lengths)
        # A token's place in the cache: its place among all tokens, moved by its word's begin in both.
        places = np.arange(ends[-1]) + np.repeat(begins - ends + lengths, lengths)
        return ids[places], np.add.reduceat(lengths, np.cumsum(n_words) - n_words)

    def _number(self, words: list[str]) -> NDArray[np.int64]:
        """Return the number of each word in the cache, after new words were tokenised."""
        if len(self._numbers) > MAX_WORDS or self._characters > MAX_CHARACTERS:
            self._forget()
        numbers = np.fromiter(map(self._numbers.__getitem__, words), dtype=np.int64, count=len(words))
        if new := self._numbers.new:
            try:
                ids, lengths = _tokenised(self.tokenizer, new)
            except BaseException:
                # Else the cache would have numbers without tokens.
                self._forget()
                raise
            self._begins = np.concatenate([self._begins, len(self._ids) + np.cumsum(lengths) - lengths])
            self._ids, self._lengths = np.concatenate([self._ids, ids]), np.concatenate([self._lengths, lengths])
            self._characters += sum(map(len, new))
            self._numbers.new = []
        return numbers


class _Numbers(dict[str, int]):
    """Numbers words from 0 in the order of the first look-up; `new` lists the words numbered since it was emptied."""

    def __init__(self) -> None:
        self.new: list[str] = []

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        self.new.append(word)
        return number


def _tokenised(tokenizer: Tokenizer, texts: list[str]) -> Tokens:
    encoded = [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    ids = np.fromiter((number for ids in encoded for number in ids), dtype=np.int32, count=int(lengths.sum()))
    return ids, lengths
