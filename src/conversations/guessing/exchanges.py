"""Exchanges: a question and its answer in two columns of one row, or the newest ones beside the messages before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from conversations.guessing.names import by_name, columns_in, plain
from conversations.values.cells import as_turn_list, cell_text
from conversations.vocabulary import word_list, word_set

ASKER = word_set("speakers", "askers")
ANSWERER = word_set("speakers", "answerers")
ASSISTANTS = word_set("speakers", "assistants")
ASKED = word_set("columns", "asked")
ANSWERED = word_set("columns", "answered")
WORDS = word_set("columns", "said") | ASKED | ANSWERED
SIDES = ASKER | ANSWERER
# Signs at the end of a sentence, with which names do not end.
ENDS = (".", "?", "!", "。", "？", "！", "…")
CLOSING = word_set("columns", "closing") | ANSWERED
# Names of people have fewer words per cell, answers have more.
WORDY = 3.0
Values = dict[str, Any]
SHOWN = 100
LISTS = word_set("columns", "histories")
QUESTIONS = word_set("columns", "questions")
ANSWERS = CLOSING | word_set("columns", "newest_answers")
SPEAKERS = word_list("columns", "history_speakers")
TEXTS = word_list("columns", "history_texts")


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


def _turns(value: Any) -> list[Values] | None:
    """Return the messages of a history; a list of questions with their answers, [["Hi", "Yes?"]], is one, too."""
    pairs = value if isinstance(value, list) else []
    if pairs and all(isinstance(pair, list) and [type(text) for text in pair] == [str, str] for pair in pairs):
        forms = ("user", "assistant")
        return [{"role": role, "content": text} for pair in pairs for role, text in zip(forms, pair, strict=True)]
    return as_turn_list(value)


class Place(NamedTuple):
    """Where a record holds its parts.

    :param history: Column of the list of messages.
    :param question: Column of the newest question; "" without one.
    :param answer: Column of its answer; "" without one.
    :param forms: A message of each side.
    """

    history: str
    question: str
    answer: str
    forms: dict[str, Values]


def latest(sample: Sequence[Values]) -> Callable[[Values], Values] | None:
    """Return a function that puts the newest question and answer after the messages before them; None without such."""
    sample = sample[:SHOWN]
    names = columns_in(sample)
    history = next((name for name in names if _is_history(name) and any(_turns(v.get(name)) for v in sample)), "")
    before = "history" in plain(history).split("_")
    question = next((name for name in names if plain(name) in QUESTIONS and name != history), "")
    answers = ANSWERS | ({"text"} if before and plain(question) == "message" else set())
    answer = next((name for name in names if plain(name) in answers and name != question), "")
    forms = {side: turn for values in sample for turn in _turns(values.get(history)) or () if (side := _side(turn))}
    place = Place(history, question, answer, forms)
    if len(forms) < 2 or not (answer or (question and before)):
        return None
    added = sum(bool(_added(values, place)) for values in sample)
    return (lambda values: _with_latest(values, place)) if 2 * added >= len(sample) else None


def _is_history(name: str) -> bool:
    return "history" in plain(name).split("_") or plain(name) in LISTS


def _with_latest(values: Values, place: Place) -> Values:
    added = _added(values, place)
    if not added:
        return values
    rest = {name: value for name, value in values.items() if name not in (place.question, place.answer)}
    return rest | {place.history: [*(_turns(values[place.history]) or ()), *added]}


def _added(values: Values, place: Place) -> list[Values]:
    """Return the turns of the newest question and its answer, in the form of the messages before them.

    None are added to a list whose end is neither an answer nor the question, or which holds them already.
    """
    turns = _turns(values.get(place.history))
    asked, answered = (_said(values.get(name)) for name in (place.question, place.answer))
    known = {_text(turn) for turn in turns or ()}
    last = _side(turns[-1]) if turns else "answered"
    if turns is None or answered in known or (last == "answered" and (not asked or asked in known)):
        return []
    if last == "asked" and turns and asked in ("", _text(turns[-1])):
        return [_formed(place.forms["answered"], answered)] if answered else []
    pairs = [("asked", asked), ("answered", answered)]
    return [_formed(place.forms[side], text) for side, text in pairs if text] if last == "answered" else []


def _said(value: Any) -> str:
    """Return the text of a question or an answer: a text, or an object with one."""
    # The whole answer of a model, as JSON, is no text.
    plain_text = value if isinstance(value, str) and not value.startswith('{"') else ""
    if isinstance(value, dict):
        plain_text = next((text for key in TEXTS if isinstance(text := value.get(key), str)), "")
    return plain_text.strip()


def _side(turn: Values) -> str:
    value = next((turn[key] for key in SPEAKERS if isinstance(turn.get(key), str)), "")
    word = plain(value)
    return "asked" if word in ASKER else "answered" if word in ANSWERER | {"model"} else ""


def _text(turn: Values) -> str:
    inner = turn.get("data")
    return cell_text(next((turn[key] for key in TEXTS if turn.get(key)), inner)).strip()


def _formed(turn: Values, text: str) -> Values:
    """Return a turn with the speaker and the form of another one, and a text of its own."""
    speaker = {key: value for key, value in turn.items() if key in SPEAKERS}
    inner = turn.get("data")
    if isinstance(inner, dict) and not any(turn.get(key) for key in TEXTS):
        return speaker | {"data": _formed(inner, text)}
    return speaker | {next((key for key in TEXTS if turn.get(key)), TEXTS[0]): text}
