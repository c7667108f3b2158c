"""Meanings of column names in the exports of many programs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

from conversations.guessing.translations import in_english

DIALOGUE_WORDS = ["dialogue", "dialog", "conversation", "conv", "call", "chat", "session", "thread", "ticket", "case"]
DIALOGUE_WORDS += ["dial"]
TURN_WORDS = ["turn", "utterance", "message", "sentence", "segment", "line", "row", "event", "comment", "reply"]
ID_ENDS = ("_id", "_sid", "_uuid", "_guid", "_hash", "_ts", "_number", "_no", "_ref", "_key", "")
# The better name first. A name also counts after other words, as in "msg_text", unless it is in `BARE`.
NAMES: dict[str, tuple[str, ...]] = {
    "id": (
        *(f"{word}{end}" for end in ID_ENDS for word in DIALOGUE_WORDS),
        *(
            f"{word}{end}"
            for end in ("_id", "_sid")
            for word in ("interaction", "contact", "meeting", "transcript", "engagement", "incident")
        ),
        *(
            "interaction",
            "meeting",
            "chat_session",
            "chat_name",
            "conversation_name",
            "channel_name",
            "talker",
            "str_talker",
            "talker_id",
            "room_id",
            "room",
            "channel_id",
            "group_id",
        ),
    ),
    "own id": ("id", "uuid", "guid", "key", "record_id", "ref", "reference"),
    "order": (
        *(f"{word}{end}" for word in TURN_WORDS for end in ("_index", "_idx", "_number", "_no", "_order")),
        *("turn_id", "turn", "utterance_id", "sequence_number", "sequence", "seq", "index", "idx", "position", "step"),
    ),
    "time": (
        *("timestamp", "created_at", "sent_at", "datetime", "date_time", "ts", "time", "start_time", "start"),
        *("started_at", "created", "begin", "offset", "date", "message_time", "sent_time", "event_time"),
        *(
            "origin_server_ts",
            "arrival_time",
            "originalarrivaltime",
            "create_at",
            "server_timestamp",
            "client_timestamp",
        ),
    ),
    "text": (
        *("text", "utterance", "message", "body", "content", "msg", "comment", "reply", "sentence", "transcript"),
        *("value", "line", "description", "sentences", "contents"),
    ),
    "speaker": (
        *("speaker", "speaker_name", "participant", "author", "author_name", "sender", "sender_name", "from"),
        *("from_name", "role", "user", "username", "user_name", "speaker_id", "name", "author_id", "user_id"),
        *("sender_id", "sender_type", "author_type", "participant_name", "participant_role", "participant_id"),
        *("from_email", "sender_email", "who", "party", "side", "creator", "created_by", "sent_by", "posted_by"),
        *("nickname", "screen_name", "person_name", "person_email", "person_id", "display_name", "from_user"),
        *(
            "participant_type",
            "speaker_idx",
            "speaker_index",
            "speaker_label",
            "speaker_role",
            "user_type",
            "from_id",
            "actor",
            "identifier",
        ),
    ),
    "label": (
        *("label", "labels", "domain", "topic", "category", "queue", "intent", "tag", "tags", "topics", "categories"),
        *("department", "reason", "queue_name", "topic_name", "category_name", "intent_name"),
    ),
    "turns": (
        *("turns", "messages", "utterances", "transcript", "conversation", "conversations", "dialogue", "dialog"),
        *("comments", "conversation_parts", "history", "chat", "log", "entries", "thread", "lines", "segments"),
        *("replies", "events"),
    ),
}
# Words that also end names with other meanings: "call" in "previous_call", "time" in "response_time".
BARE = {
    *(*DIALOGUE_WORDS, "meeting", "interaction", "ts", "time", "start", "created", "begin", "offset", "date"),
    *("value", "line", "description", "user", "name", "who", "party", "side", "reason", "user_id", "user_name"),
    *("sentences", "contents", "display_name", "actor", "identifier", "from_id", "user_type", "creator", "nickname"),
}
# A name made only of these words is the time of a turn: "Date Sent", "comment_created_at", "start_ms". Words of other
# times, such as "response", "updated" and "end", are missing on purpose.
TIME_WORDS = {"time", "date", "datetime", "timestamp", "ts", "start", "begin", "offset", "created"}
TIME_COMPANY = {"create", "creation", "sent", "send", "received", "posted", "started", "at", "on"}
TIME_COMPANY |= {*DIALOGUE_WORDS, *TURN_WORDS}
TIME_AT = re.compile(r"(?:^|_)(?:sent|received|posted|created|started)_(?:at|on)$")
TIME_UNIT = re.compile(r"_(?:ms|msec|millis|milliseconds|s|sec|secs|seconds|utc|gmt|local|iso|unix|unixtime|epoch)$")
INDEX = re.compile(r"(?:^|_)(?:index|idx|sequence|seq|position)$")


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
