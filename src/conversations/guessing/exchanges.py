"""Tables of exchanges: a question and its answer are in two columns of one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conversations.guessing.names import by_name, plain

ASKER = {"user", "human", "customer", "client", "visitor", "caller", "patient"}
ANSWERER = {"bot", "assistant", "agent", "ai", "chatbot", "gpt"}
# They wait to be asked.
ASSISTANTS = {"assistant", "ai", "chatbot", "gpt"}
ASKED = {"question", "query", "prompt", "input", "request", "instruction"}
ANSWERED = {"answer", "response", "output", "completion", "reply"}
WORDS = {"message", "msg", "text", "content", "utterance", "says", "said"} | ASKED | ANSWERED
SIDES = ASKER | ANSWERER
# Signs at the end of a sentence, with which names do not end.
ENDS = (".", "?", "!", "。", "？", "！", "…")
# Columns of an answer that follows a list of messages.
CLOSING = {*ANSWERED, "outputs", "responses", "completions", "generation", "final_answer", "assistant_response"}
# Names of people have fewer words per cell, answers have more.
WORDY = 3.0


def words_per_cell(cells: Sequence[str]) -> float:
    """Return the mean number of words per cell."""
    return sum(len(cell.split()) for cell in cells) / max(len(cells), 1)


def is_answer(name: str) -> bool:
    """Return whether a column's name ends with a word for a text, not for a speaker: `bot_response`."""
    return plain(name).rsplit("_", 1)[-1] in WORDS


def find_exchange(cells: dict[str, list[Any]]) -> tuple[str, str] | None:
    """Return the columns of questions and answers, if there is one of each and no other column is named like texts.

    :param cells: Cells that are not blank, by name of the column.
    """
    sides = {name: side for name, values in cells.items() if (side := side_of(name)) and _are_texts(name, values)}
    asked = [name for name, side in sides.items() if side == "asked"]
    answered = [name for name, side in sides.items() if side == "answered"]
    if len(asked) != 1 or len(answered) != 1:
        return None
    text = by_name("text", list(cells))
    if text not in (None, *asked, *answered):
        return None
    texts = [cell for name in (*asked, *answered) for cell in cells[name]]
    return (asked[0], answered[0]) if any(" " in cell for cell in texts) else None


def answers_first(names: Sequence[str], asked: str, answered: str) -> bool:
    """Return whether the column of the other side comes first in a row and in what is said: agent, then customer.

    A question goes before its answer in any order of columns, and so does a user before an assistant.
    """
    words = {word for name in (asked, answered) for word in plain(name).split("_")}
    pairs = words & (ASKED | ANSWERED | ASSISTANTS)
    return not pairs and list(names).index(answered) < list(names).index(asked)


def alternate(sample: Sequence[dict[str, Any]], asked: str, answered: str) -> bool:
    """Return whether nearly each row has the text of one side only, as in a table with a column per speaker."""
    filled = [(bool(values.get(asked)), bool(values.get(answered))) for values in sample]
    single = sum(pair[0] != pair[1] for pair in filled)
    return single >= 0.8 * sum(map(any, filled)) and all(any(side) for side in zip(*filled, strict=True))


def side_of(name: str) -> str:
    """Return the side of an exchange by a column's name; the speaker in it counts first, as in `user_response`."""
    words = set(plain(name).split("_"))
    if not words <= ASKER | ANSWERER | WORDS | {"system"}:
        return ""
    # "system" alone is a prompt.
    sides = ANSWERER | ({"system"} if words & WORDS else set())
    pairs = (("asked", ASKER), ("answered", sides), ("asked", ASKED), ("answered", ANSWERED))
    return next((side for side, known in pairs if words & known), "")


def _are_texts(name: str, values: list[Any]) -> bool:
    """Return whether a column holds texts: "agent" may hold names, and "input" a count."""
    if not values or not all(isinstance(value, str) for value in values):
        return False
    texts = any(character.isalpha() for value in values for character in value)
    sentences = sum(value.rstrip().endswith(ENDS) for value in values)
    return texts and (plain(name) not in SIDES or words_per_cell(values) > WORDY or 2 * sentences > len(values))
