"""Messages that name the one they answer: branches of an edited chat, and threads that no id tells apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from conversations.guessing.names import by_name, columns_in, plain
from conversations.guessing.turns import ASIDE, holds_turns, repeats_text
from conversations.values.cells import as_name, cell_text
from conversations.vocabulary import word_list, word_set

Values = Sequence[dict[str, Any]]
OWN = word_list("columns", "own_ids")
PARENTS = word_set("columns", "parents")
MODELS = word_set("speakers", "models")


def _links(turns: Values) -> tuple[str, str] | None:
    """Return the keys of a message's id and of the one it answers."""
    names = columns_in(turns)
    own = next((name for known in OWN for name in names if plain(name) == known), None)
    parent = next((name for name in names if plain(name) in PARENTS), None)
    return (own, parent) if own and parent else None


def branching(sample: Values, turns: str) -> tuple[str, str] | None:
    """Return the keys that link the messages of chats with a model, if some chat has branches; None otherwise.

    :param turns: Column of the turns.
    """
    return next(filter(None, (_branches(values.get(turns)) for values in sample)), None)


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
