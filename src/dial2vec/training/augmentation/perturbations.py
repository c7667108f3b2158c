"""Damage to test contexts, to see whether a selection of responses stands it (Poddar et al. 2022, DialAug).

Each takes the turns of a context and a generator, and returns turns that are never blank. "30 % of words" are counted
over the whole context, to the nearest word. What the source leaves open is decided so:

- `truncation` drops a number of first turns that is drawn evenly from one to all but the last.
- `deletion` leaves every turn its last word, because no turn is blank.
- `reordering` swaps words across the whole context: the source reads it as one sequence.
- `typos` lets each letter of a chosen word go wrong with probability 0.1, so some chosen words stay right.
- `synonyms` draws among the words that have one, and takes all of those where they are fewer than 30 %. English only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from dial2vec.draws import require_share, share_of
from dial2vec.training.augmentation.wording import Wording, bare

SHARE = 0.3
NOISE = 0.1
# What lies around each key of the common keyboard, as fingers miss it.
AROUND = {
    "q": "wa", "w": "qeas", "e": "wrsd", "r": "etdf", "t": "ryfg", "y": "tugh", "u": "yihj", "i": "uojk", "o": "ipkl",
    "p": "ol", "a": "qwsz", "s": "awedzx", "d": "serfxc", "f": "drtgcv", "g": "ftyhvb", "h": "gyujbn", "j": "huiknm",
    "k": "jiolm", "l": "kop", "z": "asx", "x": "zsdc", "c": "xdfv", "v": "cfgb", "b": "vghn", "n": "bhjm", "m": "njk",
    "1": "2", "2": "13", "3": "24", "4": "35", "5": "46", "6": "57", "7": "68", "8": "79", "9": "80", "0": "9",
}  # fmt: skip
SLIPS = ("substitution", "insertion", "deletion", "transposition")


def drop_turns(turns: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Drop a random number of early turns; at least one goes and one stays. A single turn is left as it is."""
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
    require_share(share)
    n_pairs = min(int(share * len(places) / 2 + 0.5), len(places) // 2)
    for first, second in rng.permutation(len(places))[: 2 * n_pairs].reshape(-1, 2):
        (turn, word), (other_turn, other) = places[first], places[second]
        here, there = wordings[turn].words, wordings[other_turn].words
        here[word], there[other] = there[other], here[word]
    return [wording.text for wording in wordings]


def mistype_words(
    turns: Sequence[str], rng: np.random.Generator, *, share: float = SHARE, noise: float = NOISE
) -> list[str]:
    """Mistype a share of the words: a key beside the right one, a key too many, one too few, two in the wrong order.

    :param noise: probability of a slip at each letter, 0 to 1.
    """
    wordings, places = _apart(turns)
    require_share(noise)
    for place in rng.permutation(len(places))[: share_of(share, len(places))]:
        turn, word = places[place]
        wordings[turn].words[word] = _mistyped(wordings[turn].words[word], rng, noise)
    return [wording.text for wording in wordings]


def use_synonyms(turns: Sequence[str], rng: np.random.Generator, *, share: float = SHARE) -> list[str]:
    """Replace a share of the words by synonyms, with their capitals and marks."""
    known = synonyms_of()
    wordings, places = _apart(turns)
    having = [(turn, word) for turn, word in places if bare(wordings[turn].words[word])[1].lower() in known]
    wanted = share_of(share, len(places))
    for place in rng.permutation(len(having))[:wanted]:
        turn, word = having[place]
        before, said, after = bare(wordings[turn].words[word])
        others = known[said.lower()]
        wordings[turn].words[word] = before + _cased(others[int(rng.integers(len(others)))], said) + after
    return [wording.text for wording in wordings]


@cache
def synonyms_of() -> Mapping[str, Sequence[str]]:
    """Return the synonyms of each word of `synonyms.json`, all in lower case: the other words of its set."""
    sets = json.loads(Path(__file__).with_name("synonyms.json").read_text(encoding="utf-8"))["sets"]
    return {word: [other for other in words.split() if other != word] for words in sets for word in words.split()}


def _apart(turns: Sequence[str]) -> tuple[list[Wording], list[tuple[int, int]]]:
    """Return the turns taken apart, and the place of every word: its turn, and its number there."""
    wordings = [Wording.of(turn) for turn in turns]
    return wordings, [(turn, word) for turn, wording in enumerate(wordings) for word in range(len(wording.words))]


def _mistyped(word: str, rng: np.random.Generator, noise: float) -> str:
    typed, place = "", 0
    while place < len(word):
        key = word[place]
        around = AROUND.get(key.lower(), "")
        # A character that is on no key can only be left out or come too late.
        slip = SLIPS[rng.integers(0 if around else 2, len(SLIPS))] if rng.random() < noise else ""
        if slip in ("substitution", "insertion"):
            missed = around[rng.integers(len(around))]
            typed += _cased(missed, key) + (key if slip == "insertion" else "")
        elif slip == "transposition":
            typed += word[place : place + 2][::-1]
            place += 1
        elif slip != "deletion":
            typed += key
        place += 1
    return typed or word


def _cased(word: str, like: str) -> str:
    """Return a lower-case word in the capitals of another."""
    if like.isupper() and (len(like) > 1 or len(word) == 1):
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word
