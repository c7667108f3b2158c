"""What `encode` takes for dialogues: dialogues, chat messages, or a table of turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from conversations.dialogue import Dialogue, RecordError, dialogue_from_record
from dial2vec.errors import CorpusError

Messages: TypeAlias = Sequence[Mapping[str, Any]]
Given: TypeAlias = Dialogue | Messages | Sequence[Dialogue | Messages]
# The names under which a table has the id, the speaker and the text of a turn.
COLUMNS = (("dialogue_id", "conversation_id"), ("speaker", "role"), ("text", "content"))
EXPECTED = (
    'expected a Dialogue, chat messages ({"role", "content"}), a list of either, or a pandas DataFrame with the '
    "columns dialogue_id, speaker and text"
)


def as_dialogues(given: Any) -> tuple[Sequence[Dialogue], bool]:
    """Return the dialogues of anything that `encode` takes, and True if it is a single conversation.

    A conversation of messages gets its number, from 0, as id; the dialogues of a table are in the order of their first
    rows.

    :raises CorpusError: if `encode` does not take it, or a conversation cannot be used.
    """
    if isinstance(given, Dialogue):
        return [given], True
    if hasattr(given, "columns") and hasattr(given, "itertuples"):
        return _from_table(given), False
    if hasattr(given, "tolist"):
        # A column of pandas, or an array of numpy.
        given = given.tolist()
    if isinstance(given, str | bytes | Mapping) or not hasattr(given, "__getitem__") or not hasattr(given, "__len__"):
        hint = {
            "str": "dial2vec.read(...) reads a file, encode_utterances([...]) encodes texts",
            "dict": "Put it in []",
        }
        advice = hint.get(type(given).__name__, "Make a list of it")
        raise CorpusError(f"found {kind_of_given(given)} to encode; {EXPECTED}. {advice}.")
    if not len(given) or not isinstance(given, list | tuple):
        return given, False
    if all(isinstance(item, Dialogue) for item in given):
        return given, False
    if all(isinstance(item, Mapping) for item in given):
        return [Dialogue.from_messages(given, dialogue_id="0")], True
    if all(isinstance(item, list | tuple) for item in given):
        return [Dialogue.from_messages(item, dialogue_id=str(number)) for number, item in enumerate(given)], False
    kinds = " and ".join(sorted({kind_of_given(item) for item in given}))
    raise CorpusError(f"found a list that holds {kinds} to encode; {EXPECTED}. Convert its items.")


def kind_of_given(value: object) -> str:
    """Name the type of a value for a sentence: "a text", "an int", "None"."""
    name = type(value).__name__
    return {"str": "a text", "NoneType": "None"}.get(name, f"{'an' if name[0] in 'aeiou' else 'a'} {name}")


def _from_table(table: Any) -> list[Dialogue]:
    names = [next((name for name in pair if name in table.columns), None) for pair in COLUMNS]
    if missing := [" or ".join(pair) for pair, name in zip(COLUMNS, names, strict=True) if name is None]:
        held = ", ".join(map(str, table.columns[:8])) or "none"
        raise CorpusError(
            f"found a table with the columns {held}; expected also {' and '.join(missing)}. Rename the columns of the "
            "table (table.rename(columns=...))."
        )
    turns: dict[str, list[dict[str, Any]]] = {}
    cells = table[names].astype(object)
    for key, speaker, text in cells.where(cells.notna(), None).itertuples(index=False, name=None):
        turn = {"speaker": speaker, "text": "" if text is None else text}
        turns.setdefault("" if key is None else str(key), []).append(turn)
    dialogues = []
    for name, rows in turns.items():
        try:
            dialogues.append(dialogue_from_record({"dialogue_id": name, "turns": rows}))
        except RecordError as error:
            raise CorpusError(
                f"dialogue {name!r} of the table cannot be used: {error}. Mend or drop its rows, then encode the table."
            ) from error
    return dialogues
