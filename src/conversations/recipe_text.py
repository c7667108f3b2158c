"""What was understood of an export, written as a recipe."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import yaml

from conversations.by_recipe.recipe import known_recipes
from conversations.errors import CorpusError
from conversations.guessing.columns import ITSELF, Columns
from conversations.guessing.speech import is_moment
from conversations.reading import Export

HEAD = """# How this export was read. Other exports of this kind are read with: dial2vec import FILE --recipe THIS_FILE
# The keys are described in docs/recipes.md.
"""


def recipe_text(export: Export) -> str:
    """Return the recipe by which the first file of an export was read.

    :raises CorpusError: if the file is a plain transcript, which has no columns.
    """
    path, file = next(iter(export.files.items()))
    recipe, columns = file.reader.recipe, file.description.columns
    if recipe and recipe.name in known_recipes():
        return (files("conversations") / "recipes" / f"{recipe.name}.yaml").read_text(encoding="utf-8")
    if not columns:
        raise CorpusError(
            f"{path} is a transcript of `Speaker: text` lines or captions, which need no recipe. Leave --save-recipe "
            "out."
        )
    if file.reader.changes or columns.receiver:
        how = ", ".join([*file.reader.changes, *(["pairs of people are dialogues"] if columns.receiver else [])])
        raise CorpusError(
            f"{path} was read in a way that a recipe cannot hold: {how}. Leave --save-recipe out; the next export of "
            "this kind is read alike without it."
        )
    content = {"title": path.name, "source": "https://", **_keys(columns)}
    return HEAD + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


def _keys(columns: Columns) -> dict[str, Any]:
    """Return the keys of a recipe that reads like these columns."""
    name = _quoted
    keys: dict[str, Any] = {"has": [name(column) for column in _asked_for(columns)]}
    ids = [name(column) for column in (columns.dialogue_id, columns.other_id) if column]
    keys |= {"id": " || ".join(ids)} if ids else {}
    if columns.turns:
        first = "@" if columns.opening == ITSELF else name(columns.opening or "")
        parts = [first] if columns.opening is not None else []
        parts += [f"{name(columns.turns)}[]", *([name(columns.closing)] if columns.closing else [])]
        keys["turns"] = name(columns.turns) if len(parts) == 1 else f"[{', '.join(parts)}][]"
    elif columns.answer:
        asked, answered = f"text: {name(columns.text or '')}", f"text: {name(columns.answer)}"
        sides = [f"{{speaker: 'user', {asked}}}", f"{{speaker: 'bot', {answered}}}"]
        keys |= {"turns": f"[{', '.join(sides[::-1] if columns.answer_first else sides)}]", "parts": bool(ids)}
    keys["speaker"] = "speaker" if columns.answer else _speaker(columns)
    keys["text"] = "text" if columns.answer else name(columns.text or "")
    if columns.time:
        time = f"join(' ', [{name(columns.day)}, {name(columns.time)}])" if columns.day else name(columns.time)
        keys["date" if columns.answer else "time"] = time
    if columns.labels:
        keys["labels"] = " || ".join(map(name, columns.labels))
    return keys | ({"html": True} if columns.html else {}) | _rules(columns)


def _asked_for(columns: Columns) -> list[str]:
    turn = [] if columns.turns else [columns.speaker, columns.text, columns.answer]
    return [name for name in (columns.dialogue_id, columns.turns, *turn) if name]


def _speaker(columns: Columns) -> str:
    first = _quoted(columns.speaker or "") + (f".{_quoted(columns.speaker_key)}" if columns.speaker_key else "")
    return " || ".join([first, *map(_quoted, columns.other_speakers)])


def _rules(columns: Columns) -> dict[str, Any]:
    rules: dict[str, list[str]] = {}
    for name in columns.not_speech.kinds:
        for column, value, kind in columns.not_speech.seen:
            if column == name and value and "'" not in value:
                # Of a time, such as deleted_at, any value counts.
                rules.setdefault(kind, []).append(_quoted(name) if is_moment(name) else f"{_quoted(name)} == '{value}'")
    rules = {kind: list(dict.fromkeys(texts)) for kind, texts in rules.items()}
    for name, kind, marks_speech in columns.not_speech.flags:
        cell = _quoted(name)
        values = ["false", "False", "0", "no"] if marks_speech else ["true", "True", "1", "yes"]
        values += [value for column, value, _ in columns.not_speech.seen if column == name and "'" not in value]
        listed = ", ".join(f"'{value}'" for value in dict.fromkeys(values))
        flag = "false" if marks_speech else "true"
        rules.setdefault(kind, []).append(f"{cell} == `{flag}` || contains([{listed}], {cell} || '')")
    for speaker, kind in columns.not_speech.speakers:
        rules.setdefault(kind, []).append(f"({_speaker(columns)}) == '{speaker}'")
    return {"not_speech": rules} if rules else {}


def _quoted(name: str) -> str:
    """Return a column's name as an expression."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else json.dumps(name, ensure_ascii=False)
