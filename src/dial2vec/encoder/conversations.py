"""What `encode` takes for dialogues: dialogues, chat messages, or a table of turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from conversations.dialogue import Dialogue, RecordError, dialogue_from_record
from dial2vec.errors import CorpusError

Messages: TypeAlias = Sequence[Mapping[str, Any]]
Sample: TypeAlias = Dialogue | Messages | str
Given: TypeAlias = Dialogue | Messages | Sequence[Sample]
# The names under which a table has the id, the speaker and the text of a turn, or whole conversations.
COLUMNS = (("dialogue_id", "conversation_id"), ("speaker", "role"), ("text", "content"))
WHOLE = ("messages", "conversation", "conversations")
# The speaker of a text that stands alone.
SPEAKER = "user"
EXPECTED = (
    'expected a Dialogue, chat messages ({"role", "content"}), a list of either or of texts, or a table (pandas, '
    "polars, Arrow, datasets) with the columns dialogue_id, speaker and text, or a column of messages"
)


def as_dialogues(given: Any) -> tuple[Sequence[Dialogue], bool]:
    """Return the dialogues of anything that `encode` takes, and True if it is a single conversation.

    A text is a dialogue of one turn. What has no id gets its number, from 0; the dialogues of a table of turns are in
    the order of their first rows.

    :raises CorpusError: if `encode` does not take it, or a conversation cannot be used.
    """
    if isinstance(given, Dialogue):
        return [given], True
    if hasattr(given, "__len__") and (hasattr(given, "columns") or hasattr(given, "column_names")):
        return _from_table(given), False
    # A column of pandas, of polars or of Arrow, or an array of numpy.
    if convert := next((name for name in ("tolist", "to_list", "to_pylist") if hasattr(given, name)), None):
        given = getattr(given, convert)()
    if isinstance(given, str | bytes | Mapping) or not hasattr(given, "__getitem__") or not hasattr(given, "__len__"):
        hint = {"dict": "Put it in []", "str": "dial2vec.read(...) reads a file", "LazyFrame": "Call collect() first"}
        advice = hint.get(type(given).__name__, "Make a list of it")
        raise CorpusError(f"found {kind_of_given(given)} to encode; {EXPECTED}. {advice}.")
    if not len(given) or (not isinstance(given, list | tuple) and isinstance(given[0], Dialogue)):
        # Of dialogues in a file only some are read at a time.
        return given, False
    given = list(given)
    if all(isinstance(item, Dialogue) for item in given):
        return given, False
    if all(isinstance(item, Mapping) for item in given):
        if any("turns" in item for item in given):
            return [_of_record({"dialogue_id": str(number), **item}) for number, item in enumerate(given)], False
        return [Dialogue.from_messages(given, dialogue_id="0")], True
    return _numbered(given), False


def _numbered(given: Sequence[Any], ids: Sequence[Any] | None = None) -> list[Dialogue]:
    """Return the dialogues of texts, or of lists of messages; without ids, their numbers are their ids."""
    # Lists in a column of pandas may be arrays of numpy.
    given = [item.tolist() if hasattr(item, "tolist") else item for item in given]
    if all(isinstance(item, str) for item in given):
        given = [[{"role": SPEAKER, "content": text}] for text in given]
    if all(isinstance(item, list | tuple) for item in given):
        named = zip(range(len(given)) if ids is None else ids, given, strict=True)
        return [Dialogue.from_messages(item, dialogue_id=str(name)) for name, item in named]
    kinds = " and ".join(sorted({kind_of_given(item) for item in given}))
    raise CorpusError(f"found a list that holds {kinds} to encode; {EXPECTED}. Convert its items.")


def kind_of_given(value: object) -> str:
    """Name the type of a value for a sentence: "a text", "an int", "None"."""
    name = type(value).__name__
    return {"str": "a text", "NoneType": "None"}.get(name, f"{'an' if name[0] in 'aeiou' else 'a'} {name}")


def _from_table(table: Any) -> list[Dialogue]:
    held = [str(name) for name in getattr(table, "column_names", getattr(table, "columns", ()))]
    names = [next((name for name in pair if name in held), "") for pair in COLUMNS]
    if not all(names) and (whole := next((name for name in WHOLE if name in held), None)):
        return _numbered(*_columns(table, [whole, *filter(None, names[:1])]))
    if missing := [" or ".join(pair) for pair, name in zip(COLUMNS, names, strict=True) if not name]:
        raise CorpusError(
            f"found a table with the columns {', '.join(held[:8]) or 'none'}; expected also {' and '.join(missing)}, "
            "or a column of messages. Rename the columns of the table (table.rename(...))."
        )
    turns: dict[str, list[dict[str, Any]]] = {}
    for key, speaker, text in zip(*_columns(table, names), strict=True):
        turn = {"speaker": speaker, "text": "" if text is None else text}
        turns.setdefault("" if key is None else str(key), []).append(turn)
    return [_of_record({"dialogue_id": name, "turns": rows}) for name, rows in turns.items()]


def _of_record(record: dict[str, Any]) -> Dialogue:
    try:
        return dialogue_from_record(record)
    except RecordError as error:
        raise CorpusError(f"dialogue {record['dialogue_id']!r} cannot be used: {error}. Leave it out.") from error


def _columns(table: Any, names: list[str]) -> list[list[Any]]:
    """Return columns of a table as lists; None for each missing value."""
    if hasattr(table, "itertuples"):
        # Columns of pandas may hold values of several types, which Arrow's cannot.
        cells = table[names].astype(object)
        cells = cells.where(cells.notna(), None)
        return [cells[name].tolist() for name in names]
    import pyarrow as pa

    # A dataset gives a table of Arrow; all others have its interface.
    whole = table.with_format("arrow")[:] if hasattr(table, "with_format") else pa.table(table)
    return [whole[name].to_pylist() for name in names]
