"""Perturbations of test contexts, to measure how robust response selection is (Poddar et al. 2022, DialAug).

Each function takes the turns of a context and a random generator, and returns turns that are never blank. "30 % of
words" counts over the whole context, rounded to the nearest word, and counts the words that differ afterwards. The
source leaves these points open:

- `drop_turns` drops a uniformly drawn number of first turns, from one to all but the last.
- `delete_words` keeps at least one word per turn, because no turn may be blank.
- `swap_words` swaps words across the whole context, because the source reads it as one sequence.
- `mistype_words` mistypes each letter of a chosen word with probability 0.1, and one letter if chance spares all: at
  0.1 alone two of three chosen words would stay correct. A word that no slip can change gives its place to another.
- `use_synonyms` chooses only among words with a synonym, and takes all if they are fewer than 30 %. English only. Our
  list knows 42 to 54 % of the words of demo, sgd and self_dialogue; 97 of 100 contexts change by a quarter or more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dial2vec.draws import share_of
from dial2vec.training.augmentation.wording import Wording, bare

SHARE = 0.3
NOISE = 0.1
# Keys next to each key of a QWERTY keyboard.
AROUND = {
    "q": "wa", "w": "qeas", "e": "wrsd", "r": "etdf", "t": "ryfg", "y": "tugh", "u": "yihj", "i": "uojk", "o": "ipkl",
    "p": "ol", "a": "qwsz", "s": "awedzx", "d": "serfxc", "f": "drtgcv", "g": "ftyhvb", "h": "gyujbn", "j": "huiknm",
    "k": "jiolm", "l": "kop", "z": "asx", "x": "zsdc", "c": "xdfv", "v": "cfgb", "b": "vghn", "n": "bhjm", "m": "njk",
    "1": "2", "2": "13", "3": "24", "4": "35", "5": "46", "6": "57", "7": "68", "8": "79", "9": "80", "0": "9",
}  # fmt: skip
SLIPS = ("substitution", "insertion", "deletion", "transposition")
# Attempts at a slip that changes the word: one at the last letter of "aa" can leave it as it was.
ATTEMPTS = 20


def drop_turns(turns: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Drop a random number of early turns, from one to all but the last. A single turn stays."""
    return list(turns[int(rng.integers(1, len(turns))) :]) if len(turns) > 1 else list(turns)


def delete_words(turns: Sequence[str], rng: np.random.Generator, *, share: float = SHARE) -> list[str]:
    """Delete a share of the words."""
    wordings, places = _apart(turns)
    wanted = share_of(share, len(places))
    left = [len(wording.words) for wording in wordings]
    gone: list[set[int]] = [set() for _ in wordings]
    for place in rng.permutation(len(places)):
        turn, word = places[place]
        if wanted and left[turn] > 1:
            gone[turn].add(word)
            left[turn] -= 1
            wanted -= 1
    return [wording.without(words).text for wording, words in zip(wordings, gone, strict=True)]


def swap_words(turns: Sequence[str], rng: np.random.Generator, *, share: float = SHARE) -> list[str]:
    """Swap a share of the words in pairs."""
    wordings, places = _apart(turns)
    n_pairs = min(int(share * len(places) / 2 + 0.5), len(places) // 2)
    for first, second in rng.permutation(len(places))[: 2 * n_pairs].reshape(-1, 2):
        (turn, word), (other_turn, other) = places[first], places[second]
        words, others = wordings[turn].words, wordings[other_turn].words
        words[word], others[other] = others[other], words[word]
    return [wording.text for wording in wordings]


def mistype_words(turns: Sequence[str], rng: np.random.Generator, *, share: float = SHARE) -> list[str]:
    """Mistype a share of the words: a wrong key, an extra key, a missing key, or two keys swapped."""
    wordings, places = _apart(turns)
    wanted = share_of(share, len(places))
    for place in rng.permutation(len(places)):
        if not wanted:
            break
        turn, word = places[place]
        old = wordings[turn].words[word]
        wordings[turn].words[word] = _mistyped(old, rng)
        wanted -= wordings[turn].words[word] != old
    return [wording.text for wording in wordings]


def use_synonyms(turns: Sequence[str], rng: np.random.Generator, *, share: float = SHARE) -> list[str]:
    """Replace a share of the words by synonyms, keeping capitals and punctuation."""
    synonyms = synonyms_of()
    wordings, places = _apart(turns)
    replaceable = [(turn, word) for turn, word in places if _plain(bare(wordings[turn].words[word])[1]) in synonyms]
    wanted = share_of(share, len(places))
    for place in rng.permutation(len(replaceable))[:wanted]:
        turn, word = replaceable[place]
        before, original, after = bare(wordings[turn].words[word])
        others = synonyms[_plain(original)]
        wordings[turn].words[word] = before + _cased(others[int(rng.integers(len(others)))], original) + after
    return [wording.text for wording in wordings]


@cache
def synonyms_of() -> Mapping[str, Sequence[str]]:
    """Return the synonyms of each word in `synonyms.json`, in lower case; one can be of several words: "i am"."""
    known = json.loads(Path(__file__).with_name("synonyms.json").read_text(encoding="utf-8"))
    sets = [words.split() for words in known["sets"]]
    mutual = {word: [other for other in words if other != word] for words in sets for word in words}
    return mutual | {word: [other] for word, other in known["one_way"].items()}


def _apart(turns: Sequence[str]) -> tuple[list[Wording], list[tuple[int, int]]]:
    """Return the wording of each turn, and the turn and index of every word."""
    wordings = [Wording.of(turn) for turn in turns]
    return wordings, [(turn, word) for turn, wording in enumerate(wordings) for word in range(len(wording.words))]


def _mistyped(word: str, rng: np.random.Generator) -> str:
    """Return a word with at least one slip, or the word itself if no slip changes it."""
    for _ in range(ATTEMPTS):
        slips = rng.random(len(word)) < NOISE
        if not slips.any():
            slips[rng.integers(len(word))] = True
        typed = _typed(word, slips, rng)
        if typed not in ("", word):
            return typed
    return word


def _typed(word: str, slips: NDArray[np.bool_], rng: np.random.Generator) -> str:
    """Return what is typed if the fingers slip at some letters."""
    typed, place = "", 0
    while place < len(word):
        key = word[place]
        around = AROUND.get(key.lower(), "")
        # A character without a key can only be deleted or transposed.
        slip = SLIPS[rng.integers(0 if around else 2, len(SLIPS))] if slips[place] else ""
        if slip in ("substitution", "insertion"):
            missed = around[rng.integers(len(around))]
            typed += _cased(missed, key) + (key if slip == "insertion" else "")
        elif slip == "transposition":
            typed += word[place : place + 2][::-1]
            place += 1
        elif slip != "deletion":
            typed += key
        place += 1
    return typed


def _plain(word: str) -> str:
    """Return a word as the list of synonyms has it."""
    return word.lower().replace("\u2019", "'")


def _cased(word: str, like: str) -> str:
    """Return a lower-case word with the capitals of another word."""
    if like.isupper() and (len(like) > 1 or len(word) == 1):
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word
