"""Meanings of column names in the exports of many programs and in several languages, and of roles."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from conversations.vocabulary import by_word, word_list, word_lists, word_set

DIALOGUE_WORDS, TURN_WORDS = word_list("columns", "dialogue"), word_list("columns", "turn")
# Names by their meaning, the better one first.
NAMES = {meaning: tuple(names) for meaning, names in word_lists("columns")["meanings"].items()}
NAMES["id"] = *(word + end for end in word_list("columns", "id_ends") for word in DIALOGUE_WORDS), *NAMES["id"]
NAMES["order"] = *(word + end for word in TURN_WORDS for end in word_list("columns", "order_ends")), *NAMES["order"]
BARE = {*DIALOGUE_WORDS, *word_set("columns", "bare")}
TIME_WORDS = word_set("columns", "time")
TIME_COMPANY = {*word_set("columns", "time_company"), *DIALOGUE_WORDS, *TURN_WORDS}
TIME_AT = re.compile(r"(?:^|_)(?:sent|received|posted|created|started)_(?:at|on)$")
TIME_UNIT = re.compile(r"_(?:ms|msec|millis|milliseconds|s|sec|secs|seconds|utc|gmt|local|iso|unix|unixtime|epoch)$")
# Names of columns whose texts may hold several labels.
SEVERAL = re.compile(r"(labels|tags|topics|categories|domains|intents)$")
INDEX = re.compile(r"(?:^|_)(?:index|idx|sequence|seq|position)$")
ROLES = word_set("speakers", "roles")
# English word by word of another language.
ENGLISH = by_word("translations")
# Words between the two parts of "ID de conversación" and "Nom de l'expéditeur".
LINKS = word_set("columns", "links")
FILLERS = LINKS | word_set("columns", "fillers")
# English words of the two parts of a compound, such as "Gesprächsnummer" and "送信時刻".
HEADS = {*DIALOGUE_WORDS, *TURN_WORDS, "sender", "sent", "creation"} - {"dial", "row", "line", "event"}
TAILS = {"id", "number", "text", "time", "date", "timestamp", "type"}


def columns_in(sample: Iterable[dict[str, Any]]) -> list[str]:
    """Return the columns of some records, in the order in which they come."""
    return list(dict.fromkeys(name for values in sample for name in values))


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """Return a column's name in English and small letters, its words joined by `_`.

    `conversation_id` stands for `conversationId` and for `Gesprächs-ID`.
    """
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", unicodedata.normalize("NFC", name))
    return in_english(re.sub(r"[\W_]+", "_", words).strip("_").lower())


def known_names(names: Sequence[str]) -> int:
    """Return the number of names that are known here."""
    known = {name for group in NAMES.values() for name in group}
    return sum(plain(name) in known for name in names)


def by_name(meaning: str, names: Sequence[str], fits: Callable[[str], bool] = lambda name: True) -> str | None:
    """Return the column whose name fits `meaning` best, among those that `fits` accepts; None if there is none."""
    return next((name for name in all_by_name(meaning, names) if fits(name)), None)


def all_by_name(meaning: str, names: Sequence[str]) -> list[str]:
    """Return the columns whose names fit `meaning`, the best first.

    A name equal to a known one goes before a name that only ends with one.
    """
    plain_names = {name: plain(name) for name in names}
    equal = [name for known in NAMES[meaning] for name in names if plain_names[name] == known]
    suffixes = [known for known in NAMES[meaning] if known not in BARE and meaning not in ("own id", "order")]
    longer = [name for known in suffixes for name in names if plain_names[name].endswith(f"_{known}")]
    times = [name for name in names if _is_time(plain_names[name])] if meaning == "time" else []
    return list(dict.fromkeys(equal + longer + times))


def _is_time(name: str) -> bool:
    bare = TIME_UNIT.sub("", name)
    words = set(bare.split("_"))
    return bool(words & TIME_WORDS or TIME_AT.search(bare)) and words <= TIME_WORDS | TIME_COMPANY


def is_index(name: str) -> bool:
    """Return whether a column's name is that of a counter, such as `sentence_index`, which is no dialogue id."""
    return bool(INDEX.search(plain(name))) or plain(name) in NAMES["order"]


def is_role(name: str) -> bool:
    """Return whether a speaker's name is a role, not a person's name: "Agent", "speaker_2", "Support bot"."""
    words = re.findall(r"[^\W\d_]+", name.lower())
    return bool(words) and all(word in ROLES for word in words)


def in_english(name: str) -> str:
    """Return a plain column name with its known foreign words in English; an English name is unchanged."""
    if name in ENGLISH:
        return ENGLISH[name]
    words = [part for word in name.split("_") for part in _parted(word)]
    translated = [ENGLISH.get(word, word) for word in words]
    if translated == words and not LINKS & set(words):
        return name
    # "Data" alone is more often English than Portuguese or Italian.
    translated = ["date" if word == "data" else word for word in translated]
    at = next((at for at, word in enumerate(words) if word in LINKS and 0 < at < len(words) - 1), None)
    if at is not None:
        translated = [*translated[at + 1 :], *translated[:at]]
    elif len(words) == 2 and translated != words and translated[0] in ("id", "number"):
        translated.reverse()
    kept = [word for word in translated if word not in FILLERS or translated == words]
    return "_".join(kept) or name


def _parted(word: str) -> list[str]:
    """Return the two parts of a compound of known words, "gesprächs" and "nummer"; otherwise the word itself."""
    for at in range(1, len(word) - 1) if word not in ENGLISH else ():
        first, last = word[:at], word[at:]
        heads = [part for part in (first, first[:-1]) if ENGLISH.get(part, part) in HEADS]
        if heads and ENGLISH.get(last, last) in TAILS:
            return [heads[0], last]
    return [word]
