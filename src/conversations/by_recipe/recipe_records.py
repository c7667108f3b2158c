"""Records read by a recipe: each becomes a plain record with the keys `id`, `turns` or one turn, `labels`, `date`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, compress, islice
from typing import Any

from conversations.by_recipe.chains import chained, first_of
from conversations.by_recipe.expressions import Finder
from conversations.by_recipe.recipe import Branch, Recipe
from conversations.by_recipe.recipe_lines import LineReader
from conversations.formats.markup import without_html
from conversations.formats.records import Record
from conversations.guessing.evidence import age
from conversations.guessing.names import by_name
from conversations.guessing.turns import closing_turns
from conversations.joining import pieces_joined
from conversations.pauses import DialoguePart
from conversations.values.cells import as_labels, as_name, as_turn_list, cell_text

# Keys of a recipe whose expressions use columns up: these are no metadata.
USING = ("id", "request", "inside", "turns", "last", "speaker", "text", "time", "date", "skip", "people")
PLAIN = (str, int, float, bool)
# Length in characters from which on a value is a text, not an id.
LONG_ID = 100


def is_whole(recipe: Recipe) -> bool:
    """Return whether each plain record holds a whole dialogue, not a turn."""
    return bool(recipe.turns or recipe.lines or (recipe.branch and recipe.id)) and not recipe.parts


def sorts(recipe: Recipe) -> bool:
    """Return whether the turns are sorted by their times."""
    return recipe.order == "time" or bool(recipe.order is None and recipe.time and not recipe.lines)


def keeps_order(recipe: Recipe) -> bool:
    """Return whether turns keep their order, whatever their times are."""
    return not (sorts(recipe) or recipe.parts)


def names_in(expression: str) -> set[str]:
    """Return the names in an expression, also those in quotes, such as "Call ID"."""
    return {name or word for name, word in re.findall(r'"([^"]+)"|(\w+)', expression)}


class RecordReader:
    """Reads records by a recipe, and counts what was not said, repeated turns, and records without a dialogue.

    :param name: Prefix of the ids of dialogues without an id.
    :param keep: Kinds of `KINDS` that count as speech.
    """

    def __init__(self, recipe: Recipe, *, name: str, keep: Sequence[str] = ()) -> None:
        self.recipe = recipe
        self.left_out: Counter[str] = Counter()
        self.rows = 0
        self.repeated = 0
        self.skipped = 0
        self.varying = Counter[str]()
        self._name = name
        self._keep = keep
        expressions = [recipe.speaker, recipe.text, recipe.time, *(finder for _, finder in recipe.not_speech)]
        finders = (value for name in USING if (value := getattr(recipe, name)))
        labels = (finder for finder, _ in recipe.labels)
        branch = (recipe.branch.id, recipe.branch.parent, recipe.branch.last) if recipe.branch else ()
        # Of records with a list of turns, the rules are about the turns.
        whole = recipe.turns is not None
        rules = (*(rule for _, rule in recipe.not_speech if not whole or "_record" in rule.text), *filter(None, branch))
        self._used = {
            *recipe.decode,
            *(word for finder in (*finders, *labels, *rules) for word in names_in(finder.text)),
        }
        self._needs_record = any(finder and "_record" in finder.text for finder in expressions)
        self._by_names: dict[tuple[str, ...], list[tuple[str, Finder]]] = {}
        self._kinds = tuple((kind, finder) for kind, finder in recipe.not_speech if kind not in keep)
        self._requests: dict[str, str] = {}
        self._named = False
        # The guess names all columns, and says where none is: nothing is sought or made up.
        self._drafted = not recipe.name
        self._marks = replace(recipe.marks, keep=tuple(keep)) if recipe.marks else None
        self._has_trees = bool(recipe.branch and recipe.id and recipe.turns is None)
        self._kept = tuple((kind, finder) for kind, finder in recipe.not_speech if kind in keep)

    def read(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the plain records; a row that was not said is left out."""
        records = self._once(records)
        if self.recipe.branch and not self.recipe.turns and not self.recipe.id:
            yield from self._threads(records, self.recipe.branch)
            return
        if self._has_trees and self.recipe.id:
            records = self._trees(records, self.recipe.id)
        if self.recipe.request and not self._drafted:
            yield from self._of_requests(records)
            return
        plain = self._each(records)
        yield from chained(list(plain)) if self.recipe.parts and self.recipe.branch else plain

    def _of_requests(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield plain records once all are known: any record of a request may name its dialogue, or none."""
        plain = list(self._each(records))
        for record in plain:
            if (part := record.values.get("part")) and not record.values["id"]:
                record.values["id"] = self._requests.get(part.request) or part.request or self._name
        yield from plain

    def _each(self, records: Iterable[Record]) -> Iterator[Record]:
        records = iter(records)
        first = list(islice(records, 2))
        for number, record in enumerate(chain(first, records), start=1):
            if record.problem:
                yield record._replace(values={"id": self._id(record.values, "") if self.recipe.id else self._name})
                continue
            values = self.recipe.decoded(record.values)
            request = as_name(self.recipe.request(values)) if self.recipe.request else ""
            if request and self.recipe.id and (own := as_name(self.recipe.id(values))):
                self._requests.setdefault(request, own)
            if self.recipe.skip and _is_true(self.recipe.skip(values)):
                self.skipped += 1
                continue
            numbered = (len(first) > 1 or self._drafted) and not self.recipe.parts
            known = self.left_out.total() if self.recipe.request else 0
            plain = self._plain(values, f"{self._name}-{number}" if numbered else self._name)
            if self.recipe.request and not plain["turns"] and self.left_out.total() == known:
                self.skipped += 1
            if self.recipe.parts and isinstance(plain["turns"], list):
                shared = {key: value for key, value in plain.items() if key != "turns"}
                if self.recipe.parts != "new":
                    inside = bool(self.recipe.inside and _is_true(self.recipe.inside(values)))
                    shared["part"] = DialoguePart(request, plain["date"], inside)
                if branch := self.recipe.branch:
                    shared["link"] = [as_name(find(values)) for find in (branch.id, branch.parent) if find]
                times = {"time": plain["date"]}
                yield from (
                    record._replace(values=shared | turn | ({} if turn["time"] else times)) for turn in plain["turns"]
                )
            elif plain and not self.recipe.parts:
                yield Record(record.line, plain)

    def _once(self, records: Iterable[Record]) -> Iterator[Record]:
        """Count records, and leave out turns that equal an earlier one to the letter, time included."""
        recipe, contents = self.recipe, set[int]()
        time = recipe.time if recipe.turns is None else recipe.date if recipe.parts == "new" else None
        for record in records:
            self.rows += 1
            if time and not record.problem and time(record.values):
                try:
                    content = hash(tuple(record.values.values()))
                except TypeError:
                    content = hash(repr(record.values))
                if content in contents:
                    self.repeated += 1
                    continue
                contents.add(content)
            yield record

    def _threads(self, records: Iterable[Record], branch: Branch) -> Iterator[Record]:
        """Yield rows whose dialogue is named by the message that all others answer, directly or not."""
        parents: dict[str, str] = {}
        rows = []
        for record in records:
            if record.problem:
                yield record
                continue
            name = as_name(branch.id(record.values)) if branch.id else ""
            parents[name] = as_name(branch.parent(record.values)) if branch.parent else ""
            if plain := self._plain(self.recipe.decoded(record.values), ""):
                rows.append((name, Record(record.line, plain)))
        for name, record in rows:
            yield record._replace(values=record.values | {"id": first_of(name, parents)})

    def _trees(self, records: Iterable[Record], named: Finder) -> Iterator[Record]:
        """Yield one record per tree, with all its messages."""
        trees: dict[str, Record] = {}
        for number, record in enumerate(records):
            if record.problem:
                yield record
                continue
            values = self.recipe.decoded(record.values)
            key = as_name(named(values)) or f"{self._name}-{number}"
            tree = trees.setdefault(key, Record(record.line, values | {"turns": []})).values
            tree["turns"].append(values)
            # What only later messages tell of the dialogue is kept as well.
            further = ((name, value) for name, value in values.items() if name not in self._used and _is_plain(value))
            self.varying.update(name for name, value in further if tree.setdefault(name, value) != value)
        yield from trees.values()

    def _plain(self, values: dict[str, Any], name: str) -> dict[str, Any]:
        """Return the plain record; an empty one for a row that was not said.

        :param name: Id of a dialogue without an id.
        """
        recipe = self.recipe
        plain: dict[str, Any] = {}
        if recipe.labels:
            plain["labels"] = [label for find, more in recipe.labels for label in as_labels(find(values), several=more)]
        if metadata := self._metadata(values):
            plain["metadata"] = metadata
        if recipe.turns or self._has_trees:
            return plain | self._dialogue(values, name)
        if recipe.id:
            plain["id"] = self._id(values, self._name)
        if recipe.versions:
            plain["version"] = tuple(as_name(find(values)) for find in recipe.versions)
        turn = self._turn(values)
        if not turn and not (recipe.versions and plain.get("version", [""])[0]):
            return {}
        # A row that deletes a message has its id, and no text.
        plain.update(turn or {"speaker": "", "text": "", "time": ""})
        return plain

    def _dialogue(self, values: dict[str, Any], name: str) -> dict[str, Any]:
        """Return id, turns and date of a record that holds a dialogue."""
        recipe = self.recipe
        plain: dict[str, Any] = {
            "id": self._id(values, name),
            "date": as_name(recipe.date(values)) if recipe.date else "",
        }
        if recipe.first and isinstance(first := recipe.first(values), dict):
            plain["first"] = self._turns(values, [first])
        if recipe.last and (last := self._last(recipe.last(values))):
            plain["last"] = last
        turns = self._turns(values, recipe.turns(values) if recipe.turns else values["turns"])
        if not isinstance(turns, list):
            return plain | {"turns": turns}
        if recipe.people:
            pairs = [pair for pair in _elements(recipe.people(values)) if isinstance(pair, list) and len(pair) == 2]
            names = {as_name(value): name for value, shown in pairs if (name := as_name(shown))}
            turns = [turn | {"speaker": names.get(turn["speaker"], turn["speaker"])} for turn in turns]
        if recipe.join is not None:
            turns = pieces_joined(turns, recipe.join)
        if not sorts(recipe):
            # Turns that keep their order still tell when the dialogue began.
            plain["date"] = as_name(next((turn["time"] for turn in turns if turn["time"]), None)) or plain["date"]
        return plain | {"turns": turns}

    def _metadata(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the further plain values of a record, by key, and those of an object `metadata` in it."""
        if (named := self.recipe.metadata) is not None:
            return {key: value for key, finder in named.items() if _is_plain(value := finder.find(values))}
        packed = values.get("metadata")
        every = (packed if isinstance(packed, dict) else {}) | values
        return {key: value for key, value in every.items() if key not in self._used and _is_plain(value)}

    def _id(self, values: dict[str, Any], name: str) -> str:
        """Return the id of a dialogue; the name if none before it had an id."""
        own = as_name(self.recipe.id(values)) if self.recipe.id else ""
        if self.recipe.id and (self._drafted or self.recipe.request):
            return own
        if not own and self.recipe.id and self.recipe.turns:
            simple = [
                key for key, value in values.items() if isinstance(value, str | int) and len(str(value)) < LONG_ID
            ]
            own = as_name(values.get(by_name("id", simple) or ""))
        self._named = self._named or bool(own)
        return own or ("" if self._named and not self.recipe.rest else name)

    def _last(self, value: Any) -> list[dict[str, Any]]:
        """Return the turns of an answer that follows the list of turns: an object, a list, or a text."""
        turns = closing_turns(value)
        if isinstance(value, str) and not turns:
            return [{"speaker": "assistant", "text": value, "time": ""}] if value.strip() else []
        return [plain for turn in turns if (plain := self._turn(turn))]

    def _turns(self, values: dict[str, Any], value: Any) -> Any:
        """Return the turns in a list, or a text that holds them."""
        if isinstance(value, str) and self.recipe.lines:
            return self._lines(value)
        if isinstance(value, str) or self._drafted:
            turn_list = as_turn_list(value)
            if turn_list is None:
                return value if isinstance(value, str) else None
            value = turn_list
        elif isinstance(value, dict):
            # As `_drafted` does, so that a saved recipe reads an object around the list, too.
            value = as_turn_list(value) or value
        elements = _elements(value)
        if self._needs_record:
            elements = [element | {"_record": values} for element in elements if isinstance(element, dict)]
        if (branch := self.recipe.branch) and not self.recipe.parts:
            elements = self._along(elements, branch.answers) if branch.answers else self._on_branch(elements, values)
        if self.recipe.versions:
            elements = self._newest(elements)
        turns = [turn for element in elements if (turn := self._turn(element))]
        alternate = self.recipe.alternate
        names = (alternate(values) or ()) if isinstance(alternate, Finder) else alternate
        for number, turn in enumerate(turns if names else ()):
            turn["speaker"] = turn["speaker"] or as_name(names[number % len(names)])
        return turns

    def _newest(self, elements: list[Any]) -> list[Any]:
        """Return the newest version of each message, where the first one stands."""
        newest: dict[str, tuple[float, Any]] = {}
        for number, element in enumerate(elements):
            name, version = (as_name(find(element)) for find in self.recipe.versions)
            before = newest.setdefault(name or f"#{number}", (age(version) or 0.0, element))
            if (age(version) or 0.0) >= before[0]:
                newest[name or f"#{number}"] = age(version) or 0.0, element
        self.repeated += len(elements) - len(newest)
        return [element for _, element in newest.values()]

    def _lines(self, text: str) -> list[dict[str, Any]]:
        """Return the turns of a cell that holds a dialogue in lines."""
        reader = LineReader(self.recipe, name="", keep=self._keep)
        text = without_html(text) if self.recipe.html else text
        turns = [turn for record in reader.read(text) for turn in record.values["turns"]]
        self.left_out.update(reader.left_out)
        return turns

    def _rules(self, element: Any) -> Sequence[tuple[str, Finder]]:
        """Return the rules that an element may meet: those that name none of its fields are false without them."""
        if not isinstance(element, dict):
            return self._kinds
        if (names := tuple(element)) not in self._by_names:
            may = ("@" in r.text or _is_true(r({})) or not names_in(r.text).isdisjoint(names) for _, r in self._kinds)
            self._by_names[names] = list(compress(self._kinds, may))
        return self._by_names[names]

    def _turn(self, element: Any) -> dict[str, Any] | None:
        """Return a turn; None if it was not said."""
        recipe = self.recipe
        for kind, finder in self._rules(element):
            if _is_true(finder(element)):
                self.left_out[kind] += 1
                return None
        speaker = as_name(recipe.speaker.find(element)) if recipe.speaker else ""
        if recipe.speakers:
            speaker = recipe.speakers.get(speaker, speaker)
        if not speaker:
            speaker = next((kind for kind, finder in self._kept if finder(element)), "")
        text = cell_text(recipe.text.find(element)) if recipe.text else ""
        text = recipe.mended(text) if recipe.replace else text
        if recipe.notices and (kind := recipe.kind_of(text)) and kind not in self._keep:
            self.left_out[kind] += 1
            return None
        if not (speaker or text) and isinstance(element, str):
            # Names nobody, among messages that do.
            text = element
        if not (speaker or text) and not self._drafted:
            # Nothing but the frame of a message, such as the root of a tree.
            return None
        time = as_name(recipe.time.find(element)) if recipe.time else ""
        if recipe.day:
            time = f"{as_name(recipe.day(element))} {time}".strip()
        turn = {"speaker": speaker, "text": text, "time": time}
        if self._marks and (kind := self._marks.kind(element, speaker, "")):
            turn["kind"] = kind
        return turn

    def _along(self, elements: list[Any], answers: Finder) -> list[Any]:
        """Return the first message, its first answer, and so on; the others are counted."""
        path = []
        while elements:
            path.append(elements[0])
            if len(elements) > 1:
                self.left_out["edited"] += len(elements) - 1
            elements = _elements(answers(elements[0]))
        return path

    def _on_branch(self, elements: list[Any], values: dict[str, Any]) -> list[Any]:
        """Return the messages from the root of a tree to its newest one; the others are counted."""
        branch: Branch = self.recipe.branch  # type: ignore[assignment]
        if not branch.id or not branch.parent:
            return elements
        by_id = {as_name(branch.id(element)): element for element in elements}
        parents = {name: as_name(branch.parent(element)) for name, element in by_id.items()}
        forks = any(count > 1 for name, count in Counter(parents.values()).items() if name)
        if not any(parents.values()) or (self._drafted and not forks):
            return elements
        last = as_name(branch.last(values)) if branch.last else ""
        if last not in by_id:
            answered = set(parents.values())
            last = next((name for name in reversed(by_id) if name not in answered), "")
        path: dict[str, Any] = {}
        while last in by_id and last not in path:
            path[last] = by_id[last]
            last = parents[last]
        other = (element for name, element in by_id.items() if name not in path)
        if count := sum(bool(self.recipe.text and cell_text(self.recipe.text(element))) for element in other):
            self.left_out["edited"] += count
        return list(reversed(path.values()))


def _is_plain(value: Any) -> bool:
    return isinstance(value, PLAIN) and value != ""


def _is_true(value: Any) -> bool:
    return value not in (None, False, [], {}, "")


def _elements(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [{"_key": key, **item} if isinstance(item, dict) else item for key, item in value.items()]
    return value if isinstance(value, list) else []
