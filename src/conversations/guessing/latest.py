"""The newest question and its answer beside the list of the messages before them, as programs log them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from conversations.guessing.exchanges import ANSWERER, ASKER, CLOSING
from conversations.guessing.names import columns_in, plain
from conversations.values.cells import as_turn_list, cell_text
from conversations.vocabulary import word_list, word_set

Values = dict[str, Any]
SHOWN = 100
LISTS = word_set("columns", "histories")
QUESTIONS = word_set("columns", "questions")
ANSWERS = CLOSING | word_set("columns", "newest_answers")
SPEAKERS = word_list("columns", "history_speakers")
TEXTS = word_list("columns", "history_texts")


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
    plain_text = value if isinstance(value, str) else ""
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
