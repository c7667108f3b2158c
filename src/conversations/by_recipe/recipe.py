"""Recipes: how one kind of export is read, as data.

A recipe is a YAML file of a few lines (docs/recipes.md). It says how an export is recognised and where the parts of a
dialogue are: in records by JMESPath expressions, in lines of text by patterns with named groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import yaml
from jmespath.exceptions import JMESPathError

from conversations.by_recipe.expressions import PATH, Finder, of_column
from conversations.errors import CorpusError, did_you_mean
from conversations.guessing.names import SEVERAL, plain
from conversations.guessing.reshaping import STEPS
from conversations.guessing.speech import NotSpeech, marks
from conversations.options import KINDS, NamedColumns
from conversations.values.cells import unpacked

ORDERS = ("time", "as is")


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """How a tree of messages is read: the path from the root to the newest message is the dialogue.

    Either each message names its parent, or each holds the list of its answers, of which the first counts. Without
    `turns` the records are the messages: of the trees that `id` names, or, without `id`, of dialogues that are whole
    trees in the order of time. A message's key is its `_key`.

    :param id: Message's id.
    :param parent: Id of the message before it.
    :param last: Id of the newest message, in the record; None takes the last message without an answer.
    :param answers: List of the answers in a message, the best first.
    """

    id: Finder | None = None
    parent: Finder | None = None
    last: Finder | None = None
    answers: Finder | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Patterns of a text format; each is tried at the start of a line, in this order.

    :param begin: Line that begins a dialogue; its group `id` names it. An empty match begins it with the line itself.
    :param turn: Turns, with the groups `text` and, unless a line above has them, `speaker` and `time`.
    :param set: Lines that hold `speaker`, `time`, `day` or `year` of the turns below.
    :param notice: Lines that are not speech.
    :param end: Line after which a dialogue ends.
    :param first: Pattern that one of the first five lines contains; None accepts any.
    :param share: Smallest share of turns among the lines that are not blank, by which the format is recognised.
    :param goes_on: True if a line without a pattern belongs to the turn above it.
    :param alternate: Speakers who take turns if no line names one.
    :param alike: True if a line is text if its time has another form than those of most lines, as in a quoted chat.
    :param day_first: True if dates such as 03/04/2024 begin with the day, if nothing in the file tells.
    """

    begin: tuple[re.Pattern[str], ...] = ()
    turn: tuple[re.Pattern[str], ...] = ()
    set: tuple[re.Pattern[str], ...] = ()
    notice: tuple[re.Pattern[str], ...] = ()
    end: tuple[re.Pattern[str], ...] = ()
    first: re.Pattern[str] | None = None
    share: float = 0.3
    goes_on: bool = True
    alternate: tuple[str, ...] = ()
    alike: bool = False
    day_first: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A tiny export in the true form of its tool, with made-up words.

    :param file: Name of the file; its ending tells the format.
    :param gives: Dialogues that it holds: `id`, `turns` as [speaker, text], `labels`, `date`, `left_out`.
    """

    file: str
    text: str
    gives: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recipe:
    """How one kind of export is read.

    Without `turns` each record is a turn, and `id` groups them. With `has` the export consists of records, otherwise of
    `lines`; with both, a cell holds lines. In expressions on a turn `_record` is the record around it.

    :param name: Name of the file without its ending.
    :param title: Name of the tool and of its export.
    :param source: Address of the format's documentation, or of a public sample.
    :param has: Expressions that find something in most records; the recipe with the most of them is used.
    :param decode: Columns that hold JSON as text, or objects with lists as text.
    :param rest: True if rows without an id are one dialogue, which has the name of the file.
    :param spans: True if its id tells that a dialogue goes on in other files of a folder, "folders" in other folders.
    :param turns: List of turns in a record, or a text that holds them as lines.
    :param first: First message of a record, beside the list of turns, which may repeat it.
    :param last: Last message of a record, likewise, or an answer as text.
    :param parts: True if several records with one id are parts of one dialogue; a part may begin with those before it,
        unless it is "new".
    :param request: Id of the request of a part: the parts of one request repeat each other, as spans in spans do.
    :param inside: True for a part inside another one of its request, which counts only if it holds that other's turns.
    :param reshape: Named steps by which records are reshaped before they are read (`guessing.reshaping.STEPS`).
    :param skip: Expression that is true for records without a dialogue, such as settings.
    :param branch: Order of a tree of messages.
    :param day: Date of a turn, if `time` is a clock.
    :param versions: A message's id, and its version: only the newest one counts.
    :param order: "time" sorts turns by time, "as is" keeps them; None sorts records and keeps lines.
    :param date: Start of the dialogue, if the turns have no time.
    :param labels: Labels of the dialogue, each with True if a text may hold several.
    :param metadata: Further values of the dialogue, by key; None takes all plain values without another meaning.
    :param replace: Text by the pattern that it replaces in texts, such as marks of pauses.
    :param alternate: Speakers who take turns if `speaker` finds nobody: names, or an expression that finds them.
    :param join: Text between consecutive pieces of one speaker, which are one turn; None keeps pieces apart.
    :param speakers: Names by the value of `speaker`.
    :param people: List of [value of `speaker`, name] in a record, such as the list of its participants.
    :param not_speech: Expressions by kind: a turn for which one is true was not said.
    :param marks: Columns by whose names and values programs tell non-speech, such as `is_internal` and `type`.
    :param notices: Patterns of whole texts that programs write, such as "Liked a message"; by kind if they are others.
    :param lines: Patterns of a text format.
    :param side_files: Names of files without turns that stand in the same folder.
    :param examples: Examples, which are the recipe's tests.
    """

    name: str
    title: str
    source: str
    has: tuple[Finder, ...] = ()
    decode: tuple[str, ...] = ()
    id: Finder | None = None
    rest: bool = False
    spans: bool | str = False
    turns: Finder | None = None
    first: Finder | None = None
    last: Finder | None = None
    parts: bool | str = False
    request: Finder | None = None
    inside: Finder | None = None
    reshape: tuple[str, ...] = ()
    skip: Finder | None = None
    branch: Branch | None = None
    speaker: Finder | None = None
    text: Finder | None = None
    time: Finder | None = None
    day: Finder | None = None
    versions: tuple[Finder, ...] = ()
    order: str | None = None
    date: Finder | None = None
    labels: tuple[tuple[Finder, bool], ...] = ()
    metadata: Mapping[str, Finder] | None = None
    html: bool = False
    replace: tuple[tuple[re.Pattern[str], str], ...] = ()
    alternate: tuple[str, ...] | Finder = ()
    join: str | None = None
    speakers: Mapping[str, str] | None = None
    people: Finder | None = None
    not_speech: tuple[tuple[str, Finder], ...] = ()
    marks: NotSpeech | None = None
    notices: tuple[tuple[str, re.Pattern[str]], ...] = ()
    lines: Lines | None = None
    side_files: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()

    def decoded(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return a record in which the columns with JSON as text, and the lists as text in them, hold their values."""
        if not self.decode:
            return values
        decoded = {}
        for name in self.decode:
            value = unpacked(text) if isinstance(text := values.get(name), str) else text
            if isinstance(value, dict):
                texts = {key: inner for key, inner in value.items() if isinstance(inner, str) and inner[:2] == "[{"}
                value = value | {k: inner for k, text in texts.items() if (inner := unpacked(text)) is not None}
            if value is not None:
                decoded[name] = value
        return values | decoded if decoded else values

    def mended(self, text: str) -> str:
        """Return a text without what `replace` replaces."""
        for pattern, by in self.replace:
            text = pattern.sub(by, text)
        return text

    def kind_of(self, text: str) -> str:
        """Return the kind of a text that a program wrote; "" if a person did."""
        return next((kind for kind, pattern in self.notices if pattern.fullmatch(text)), "")

    def fits(self, values: dict[str, Any]) -> bool:
        """Return whether a record has all that the recipe asks for."""
        values = self.decoded(values)
        # The number 0, which equals False, is a value.
        return bool(self.has) and not any(
            (value := finder(values)) is False or value in (None, [], {}) for finder in self.has
        )

    def replaced(self, options: NamedColumns, columns: Collection[str]) -> Recipe:
        """Return the recipe with the user's own id, speaker, text, labels and time in place of its own.

        :param columns: Columns of the records: one of them that is named as the time of turns is their date.
        """
        time = "date" if self.turns and options.time in columns else "time"
        given = {"id": options.dialogue_id, "speaker": options.speaker, "text": options.text, time: options.time}
        finders: dict[str, Any] = {key: Finder(_named(name)) for key, name in given.items() if name}
        if options.labels:
            finders["labels"] = _labels([*map(_named, options.labels)])
        return replace(self, **finders)


def _named(name: str) -> str:
    """Return the expression for a column as users name it, which may be a path."""
    return f"{of_column(name)} || {name}" if PATH.fullmatch(name) else of_column(name)


def recipe_from(text: str, name: str, *, where: str) -> Recipe:
    """Return a recipe from the text of its file.

    :param where: File to name in errors.
    :raises CorpusError: if the text is no YAML, a key is unknown, or an expression or a pattern is broken.
    """
    return recipe_from_keys(keys_in(text, where=where), name, where=where)


def keys_in(text: str, *, where: str) -> dict[str, Any]:
    """Return the keys of a recipe from the text of its file.

    :raises CorpusError: if the text is no YAML.
    """
    try:
        content = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
        raise CorpusError(f"{where}:{line}: not valid YAML; expected a recipe (docs/recipes.md). Mend it.") from error
    if not isinstance(content, dict):
        raise CorpusError(f"{where}: no recipe; expected keys such as title, turns, speaker, text (docs/recipes.md).")
    return content


def recipe_from_keys(content: dict[str, Any], name: str, *, where: str) -> Recipe:
    """Return a recipe from its keys.

    :raises CorpusError: if a key is unknown, or an expression or a pattern is broken.
    """
    known = [item.name for item in fields(Recipe) if item.name != "name"]
    for key in content:
        if key not in known:
            raise CorpusError(
                f"{where}: unknown key {key!r}.{did_you_mean(str(key), known)} Expected: {', '.join(known)}."
            )
    try:
        recipe = Recipe(
            name=name, **{key: COMPILED.get(key, lambda value: value)(value) for key, value in content.items()}
        )
    except (TypeError, AttributeError, KeyError, ValueError, JMESPathError, re.error) as error:
        raise CorpusError(f"{where}: {' '.join(str(error).split())}. Mend the recipe (docs/recipes.md).") from error
    return _checked(recipe, where)


def _checked(recipe: Recipe, where: str) -> Recipe:
    named = recipe.text and (recipe.speaker or recipe.alternate)
    if not (recipe.lines or named):
        raise CorpusError(
            f"{where}: the recipe has no speaker and text, or lines. Add what is missing (docs/recipes.md)."
        )
    if wrong := {kind for kind, _ in recipe.not_speech + recipe.notices} - set(KINDS):
        raise CorpusError(f"{where}: unknown kind {min(wrong)!r} in not_speech; expected {', '.join(KINDS)}.")
    for step in recipe.reshape:
        if step not in STEPS:
            raise CorpusError(
                f"{where}: unknown step {step!r} in reshape.{did_you_mean(step, STEPS)} Expected: {', '.join(STEPS)}."
            )
    if len(recipe.versions) not in (0, 2):
        raise CorpusError(
            f"{where}: {len(recipe.versions)} expressions in versions; expected a message's id and version."
        )
    for key, more in (("parts", "new"), ("spans", "folders")):
        if (value := getattr(recipe, key)) not in (False, True, more):
            raise CorpusError(f"{where}: unknown {key} {value!r}; expected true or {more}.")
    if recipe.order not in (None, *ORDERS):
        raise CorpusError(f"{where}: unknown order {recipe.order!r}; expected {' or '.join(ORDERS)}.")
    return recipe


def _finders(texts: Mapping[str, str]) -> dict[str, Finder]:
    return {name: Finder(text) for name, text in texts.items()}


def _labels(texts: Any) -> tuple[tuple[Finder, bool], ...]:
    """Return the labels of a recipe: of a list, only columns that are named in the plural hold several in a text."""
    alone = isinstance(texts, str)
    return tuple((Finder(text), alone or bool(SEVERAL.search(plain(text)))) for text in _listed(texts))


def _not_speech(kinds: Mapping[str, Any]) -> tuple[tuple[str, Finder], ...]:
    return tuple((kind, Finder(text)) for kind, texts in kinds.items() for text in _listed(texts))


def _notices(texts: Any) -> tuple[tuple[str, re.Pattern[str]], ...]:
    by_kind = texts if isinstance(texts, dict) else {"notice": texts}
    return tuple((kind, re.compile(text)) for kind, texts in by_kind.items() for text in _listed(texts))


def _examples(items: list[dict[str, Any]]) -> tuple[Example, ...]:
    return tuple(Example(file=item["file"], text=item["text"], gives=tuple(item["gives"])) for item in items)


# How the value of a recipe's key is compiled; the others stay.
COMPILED: dict[str, Callable[[Any], Any]] = {
    "title": str,
    **dict.fromkeys(
        ("id", "request", "turns", "first", "last", "speaker", "people", "text", "time", "day", "date", "skip"),
        lambda text: Finder(str(text)),
    ),
    "inside": lambda text: Finder(str(text)),
    "labels": lambda texts: _labels(texts),
    **dict.fromkeys(("has", "versions"), lambda texts: tuple(map(Finder, texts))),
    **dict.fromkeys(("decode", "reshape", "side_files"), tuple),
    "marks": lambda given: marks(**given),
    "branch": lambda named: Branch(**_finders(named)),
    "metadata": _finders,
    "replace": lambda texts: tuple((re.compile(text, re.MULTILINE), str(by)) for text, by in texts.items()),
    "notices": _notices,
    "alternate": lambda names: Finder(names) if isinstance(names, str) else tuple(map(str, names)),
    # As `as_name` writes them: JSON's true is "True".
    "speakers": lambda names: {str(value): str(shown) for value, shown in names.items()},
    "not_speech": _not_speech,
    "lines": lambda patterns: Lines(**{name: _pattern(name, item) for name, item in patterns.items()}),
    "examples": _examples,
}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _pattern(name: str, value: Any) -> Any:
    if name == "first":
        return re.compile(value, re.MULTILINE)
    if name in ("share", "goes_on", "alike", "day_first"):
        return value
    if name == "alternate":
        return tuple(value)
    return tuple(re.compile(text, re.MULTILINE) for text in _listed(value))
