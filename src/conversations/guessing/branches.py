"""Messages that name the one they answer: branches of an edited chat, and threads that no id tells apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from conversations.guessing.names import by_name, plain
from conversations.guessing.turns import ASIDE, holds_turns, repeats_text
from conversations.values.cells import as_name, cell_text

Values = Sequence[dict[str, Any]]
OWN = ("id", "uuid", "message_id", "tweet_id", "comment_id", "post_id", "msg_id", "mid", "message_uuid")
PARENTS = {
    *("parent_id", "parent", "parent_message_uuid", "parent_message_id", "parent_uuid", "parent_comment_id"),
    *(
        "reply_to",
        "in_reply_to",
        "reply_to_id",
        "in_reply_to_id",
        "in_response_to",
        "reply_to_message_id",
        "replied_to",
    ),
    *("in_response_to_tweet_id", "in_reply_to_status_id", "reply_id", "quoted_message_id", "replying_to"),
}
MODELS = {"user", "human", "prompter", "assistant", "ai", "model", "gpt", "bot", "chatgpt", "system", "tool"}


def _links(turns: Values) -> tuple[str, str] | None:
    """Return the keys of a message's id and of the one it answers."""
    names = dict.fromkeys(name for turn in turns for name in turn)
    own = next((name for known in OWN for name in names if plain(name) == known), None)
    parent = next((name for name in names if plain(name) in PARENTS), None)
    return (own, parent) if own and parent else None


def branching(
    sample: Values, turns: str | None, left_out: Counter[str]
) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """Return a function that keeps the branch of the newest message of each chat with a model; None without branches.

    :param turns: Column of the turns.
    :param left_out: Counter of messages on other branches, which are older versions.
    """
    if not any(_branches(values.get(turns or "")) for values in sample):
        return None

    def newest(values: dict[str, Any]) -> dict[str, Any]:
        turn_list: list[dict[str, Any]] = values.get(turns or "") or []
        links = _branches(turn_list)
        if not links or not turns:
            return values
        own, parent = links
        by_id = {as_name(turn.get(own)): turn for turn in turn_list}
        path: dict[str, Any] = {}
        last = as_name(turn_list[-1].get(own))
        while last in by_id and last not in path:
            path[last] = by_id[last]
            last = as_name(by_id[last].get(parent))
        left_out["edited"] += len(turn_list) - len(path)
        return values | {turns: list(reversed(path.values()))}

    return newest


def _branches(turns: Any) -> tuple[str, str] | None:
    """Return the keys that link the messages of a chat with a model, if two of them answer one message."""
    if not isinstance(turns, list) or len(turns) < 2 or not all(isinstance(turn, dict) for turn in turns):
        return None
    links = _links(turns)
    speaker = by_name("speaker", list(turns[0]))
    if not links or not speaker or not all(as_name(turn.get(speaker)).lower() in MODELS for turn in turns):
        return None
    parent = links[1]
    parents = Counter(name for turn in turns if (name := as_name(turn.get(parent))))
    return links if parents and parents.most_common(1)[0][1] > 1 else None


def threads(rows: Values) -> str | None:
    """Return the column of the row that a row answers, if such answers make two or more dialogues of the rows."""
    links = _links(rows)
    if not links:
        return None
    own, parent = links
    ids = {as_name(row.get(own)) for row in rows} - {""}
    answers = {as_name(row.get(own)): name for row in rows if (name := as_name(row.get(parent))) in ids}
    roots = set(answers.values()) - answers.keys()
    return parent if 3 * len(answers) >= len(rows) and len(roots) > 1 else None


def nested(turns: Values, text: str) -> str | None:
    """Return the key under which turns hold further turns, such as the replies to a comment."""
    for turn in turns:
        for name, value in turn.items():
            further = isinstance(value, list) and plain(name) not in ASIDE and holds_turns(value)
            if further and not repeats_text(value, cell_text(turn.get(text))):
                return name
    return None
