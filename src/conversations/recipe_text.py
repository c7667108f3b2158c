"""What was understood of an export, written as a recipe."""

from __future__ import annotations

from collections.abc import Collection
from importlib.resources import files
from typing import Any

import yaml

from conversations.by_recipe.expressions import of_column
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
    steps = {"reshape": file.reader.changes} if file.reader.changes else {}
    content = {
        "title": path.name,
        "source": "https://",
        **steps,
        **Written(columns, file.reader.selection.paths).keys(),
    }
    return HEAD + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


class Written:
    """Columns as the keys of a recipe.

    :param paths: Names of columns that are paths into nested values.
    """

    def __init__(self, columns: Columns, paths: Collection[str]) -> None:
        self._columns = columns
        self._paths = paths

    def keys(self) -> dict[str, Any]:
        """Return the keys of a recipe that reads like these columns."""
        name, columns = self._name, self._columns
        keys: dict[str, Any] = {"has": [name(column) for column in self._asked_for()]}
        ids = [name(column) for column in (columns.dialogue_id, columns.other_id) if column]
        keys |= {"id": " || ".join(ids)} if ids else {}
        if columns.receiver:
            ends = f"[{self._speaker()}, {name(columns.receiver)}]"
            keys["id"] = f"join(', ', sort({ends}))"
        if columns.turns:
            first = "@" if columns.opening == ITSELF else name(columns.opening or "")
            parts = [first] if columns.opening is not None else []
            parts += [f"{name(columns.turns)}[]", *([name(columns.closing)] if columns.closing else [])]
            keys["turns"] = name(columns.turns) if len(parts) == 1 else f"[{', '.join(parts)}][]"
        elif columns.answer:
            asked, answered = f"text: {name(columns.text or '')}", f"text: {name(columns.answer)}"
            sides = [f"{{speaker: 'user', {asked}}}", f"{{speaker: 'bot', {answered}}}"]
            keys |= {"turns": f"[{', '.join(sides[::-1] if columns.answer_first else sides)}]", "parts": bool(ids)}
        # The turns of lines and of an exchange are called so by the reader.
        plain = columns.answer or not columns.text
        keys["speaker"] = "speaker" if plain else self._speaker()
        keys["text"] = "text" if plain else name(columns.text or "")
        if columns.time:
            time = f"join(' ', [{name(columns.day)}, {name(columns.time)}])" if columns.day else name(columns.time)
            keys["date" if columns.answer else "time"] = time
        if columns.labels:
            labels = [*map(name, columns.labels)]
            keys["labels"] = labels[0] if len(labels) == 1 else f"[{', '.join(labels)}]"
        if columns.date:
            keys["date"] = name(columns.date)
        return keys | ({"html": True} if columns.html else {}) | self._rules()

    def _asked_for(self) -> list[str]:
        turn = [] if self._columns.turns else [self._columns.speaker, self._columns.text, self._columns.answer]
        return [name for name in (self._columns.dialogue_id, self._columns.turns, *turn) if name]

    def _speaker(self) -> str:
        first = self._name(self._columns.speaker or "") + (
            f".{self._name(self._columns.speaker_key)}" if self._columns.speaker_key else ""
        )
        return " || ".join([first, *map(self._name, self._columns.other_speakers)])

    def _rules(self) -> dict[str, Any]:
        rules: dict[str, list[str]] = {}
        for name in self._columns.not_speech.kinds:
            for column, value, kind in self._columns.not_speech.seen:
                if column == name and value and "'" not in value:
                    # Of a time, such as deleted_at, any value counts.
                    rules.setdefault(kind, []).append(
                        self._name(name) if is_moment(name) else f"{self._name(name)} == '{value}'"
                    )
        rules = {kind: list(dict.fromkeys(texts)) for kind, texts in rules.items()}
        for name, kind, marks_speech in self._columns.not_speech.flags:
            cell = self._name(name)
            values = ["false", "False", "0", "no"] if marks_speech else ["true", "True", "1", "yes"]
            values += [
                value for column, value, _ in self._columns.not_speech.seen if column == name and "'" not in value
            ]
            listed = ", ".join(f"'{value}'" for value in dict.fromkeys(values))
            flag = "false" if marks_speech else "true"
            rules.setdefault(kind, []).append(f"{cell} == `{flag}` || contains([{listed}], {cell} || '')")
        for speaker, kind in self._columns.not_speech.speakers:
            rules.setdefault(kind, []).append(f"({self._speaker()}) == '{speaker}'")
        return {"not_speech": rules} if rules else {}

    def _name(self, name: str) -> str:
        """Return a column's name as an expression."""
        return name if name in self._paths else of_column(name)
