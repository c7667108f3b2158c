"""Lines of text read by a recipe: chats, transcripts and corpora in forms of their own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from textwrap import dedent
from typing import Any

from conversations.by_recipe.recipe import Lines, Recipe
from conversations.formats.around_turns import timed_lines
from conversations.formats.plain_text import is_name
from conversations.formats.records import Record
from conversations.guessing.naming import without_separators
from conversations.values.times import ClockReading, first_date, reading_of

HEAD = 300
FIRST = 5
LINES = ("begin", "notice", "turn", "set")
# Marks of the direction of writing, and blanks that programs write around clock times. WhatsApp begins its own texts
# with a mark, which stays until they are told from speech.
OWN = "\u200e"
MARKS = re.compile(f"(?<!: ){OWN}(?!<)|[\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
# Colours and bold type in chats of IRC.
COLOURS = re.compile("\x03(?:\\d{1,2}(?:,\\d{1,2})?)?|[\x02\x0f\x11\x16\x1d\x1e\x1f]")
# "**Kim:** Hello"
BOLD = re.compile(r"^\*\*([^*:\n]{1,40}):?\*\*:?(?=\s)", re.MULTILINE)
BLANKS = re.compile("[\u00a0\u2007\u202f]")


def cleaned(text: str) -> str:
    """Return a text with plain blanks, without marks of direction and of colours."""
    return BLANKS.sub(" ", MARKS.sub("", COLOURS.sub("", text))).replace("\r\n", "\n").replace("\r", "\n")


def find_text_recipe(head: str, recipes: Sequence[Recipe]) -> Recipe | None:
    """Return the recipe whose patterns explain most of the first lines; None if none explains enough.

    A recipe with fewer turns than there are lines with a time, a name and a text reads another format, and so does one
    that does not know the first name in bold type, if that comes back.

    :param head: First lines of a file.
    """
    text = cleaned(head)
    first = "\n".join(text.split("\n")[:FIRST])
    shares = {}
    least = sum(map(bool, timed_lines([line.strip() for line in text.split("\n")], is_name) or []))
    for recipe in recipes:
        lines = recipe.lines
        if lines is None or (lines.first and not lines.first.search(first)):
            continue
        if _begins_with_another(text, lines):
            continue
        turns, explained, filled = _coverage(text, lines)
        if turns >= max(least, 1) and turns / max(filled, 1) >= lines.share:
            shares[recipe] = (bool(lines.first), explained / filled)
    return max(shares, key=lambda recipe: shares[recipe], default=None)


def _begins_with_another(text: str, lines: Lines) -> bool:
    bold = list(BOLD.finditer(text))
    comes_back = bool(bold) and sum(match[1] == bold[0][1] for match in bold) > 1 and is_name(bold[0][1])
    return comes_back and _at(text, bold[0].start(), lines, ("turn",))[1] is None


def _coverage(text: str, lines: Lines) -> tuple[int, int, int]:
    """Return the number of turns, of lines that some pattern explains, and of lines that are not blank."""
    turns = explained = 0
    rows = text.split("\n")
    filled = sum(bool(row.strip()) for row in rows)
    at, end = 0, len(text)
    while at < end:
        kind, match = _at(text, at, lines)
        if kind == "begin" and match and not match.group():
            kind, match = _at(text, at, lines, LINES[1:])
        stop = max(match.end(), at) if match else at
        stop = _line_end(text, stop)
        if match:
            explained += sum(bool(row.strip()) for row in text[at:stop].split("\n"))
            turns += kind == "turn"
        at = stop + 1
    return turns, explained, filled


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _at(text: str, at: int, lines: Lines, kinds: Sequence[str] = LINES) -> tuple[str, re.Match[str] | None]:
    """Return which kind of line stands at a place, and its match."""
    for kind in kinds:
        for pattern in getattr(lines, kind):
            if match := pattern.match(text, at):
                return kind, match
    return "", None


Block = tuple[str, "re.Match[str] | None", str]


def _blocks(text: str, lines: Lines) -> Iterator[Block]:
    """Yield kind, match and text of each line, or of the lines that one match covers."""
    blocks = _matched(text, lines)
    if not lines.alike:
        yield from blocks
        return
    listed = list(blocks)
    forms = Counter(form for _, match, _ in listed if (form := _form(match)))
    least = max(3, forms.total() // 20)
    usual = {form for form, count in forms.items() if count >= least} | {form for form, _ in forms.most_common(1)}
    for kind, match, block in listed:
        form = _form(match)
        yield (kind, match, block) if not form or form in usual else ("", None, block)


def _matched(text: str, lines: Lines) -> Iterator[Block]:
    at = 0
    while at < len(text):
        kind, match = _at(text, at, lines)
        if kind == "begin" and match and not match.group():
            # The line itself follows.
            yield kind, match, ""
            kind, match = _at(text, at, lines, LINES[1:])
        stop = max(match.end(), at) if match else at
        # Further turns on the last line of one may go on below it.
        while kind == "turn" and match and stop < _line_end(text, stop) and (more := match.re.match(text, stop)):
            if more.end() == stop:
                break
            stop = more.end()
        stop = _line_end(text, stop)
        yield kind, match, text[at:stop]
        at = stop + 1


def _form(match: re.Match[str] | None) -> str:
    """Return the form of the time in a line: "1/1/1, 1:1 a" for "3/5/24, 7:02 PM"; "" without one."""
    time = match.groupdict().get("time") if match else None
    return re.sub(r"[^\W\d]+\.?", "a", re.sub(r"\d+", "1", time)) if time else ""


@dataclass
class _Dialogue:
    name: str = ""
    line: int = 1
    turns: list[dict[str, Any]] = field(default_factory=list)


class LineReader:
    """Reads a text by a recipe's patterns, and counts what was not said.

    :param name: Id of the only dialogue, prefix of the ids of several.
    :param keep: Kinds that count as speech: "notice" keeps notices as turns of the speaker "notice".
    """

    def __init__(self, recipe: Recipe, *, name: str, keep: Sequence[str] = ()) -> None:
        self.recipe = recipe
        self.left_out: Counter[str] = Counter()
        self.unused = 0
        self.ambiguous = False
        self._name = name
        self._keep = keep

    def read(self, text: str) -> Iterator[Record]:
        """Yield one plain record per dialogue."""
        every = list(self._dialogues(cleaned(text)))
        for dialogue in every:
            dialogue.turns = [turn for turn in dialogue.turns if self._is_speech(turn)]
        dialogues = [dialogue for dialogue in every if dialogue.turns]
        reading = reading_of([[turn["time"] for turn in dialogue.turns] for dialogue in dialogues])
        if reading.day_first is None and self.recipe.lines:
            reading = replace(reading, day_first=self.recipe.lines.day_first)
        self.ambiguous = reading.day_first is None
        for number, dialogue in enumerate(dialogues, start=1):
            if reading.newest_first:
                dialogue.turns.reverse()
            name = dialogue.name or (self._name if len(dialogues) == 1 else f"{self._name}-{number}")
            date = _date(dialogue.turns, reading)
            for turn in dialogue.turns:
                moment = None if self.ambiguous else reading.seconds(turn["time"])
                turn["time"] = turn["time"] if moment is None else f"{moment:.3f}"
            yield Record(dialogue.line, {"id": name, "turns": dialogue.turns, "date": date})

    def _is_speech(self, turn: dict[str, Any]) -> bool:
        """Mend the text of a turn, and return whether a person wrote it."""
        head, mark, rest = self.recipe.mended(turn["text"]).partition("\n")
        text = head.strip() + mark + dedent(rest)
        kind = self.recipe.kind_of(text.strip())
        turn["text"] = text.replace(OWN, "")
        if not kind or kind in self._keep:
            return True
        self.left_out[kind] += 1
        return False

    def _dialogues(self, text: str) -> Iterator[_Dialogue]:
        lines: Lines = self.recipe.lines  # type: ignore[assignment]
        known: dict[str, str] = {}
        dialogue = _Dialogue()
        number = 1
        for kind, match, block in _blocks(text, lines):
            if kind == "begin" and match:
                yield dialogue
                dialogue, known = _Dialogue(match.groupdict().get("id") or "", number), {}
                if not match.group():
                    continue
            elif kind == "turn" and match:
                self._add_all(dialogue, match, block, known)
            elif kind == "set" and match:
                known |= {name: value for name, value in match.groupdict().items() if value}
            elif kind == "notice":
                self._notice(dialogue, block)
            else:
                self._go_on(dialogue, block, lines)
            if any(pattern.search(block) for pattern in lines.end):
                yield dialogue
                dialogue, known = _Dialogue(line=number + 1), {}
            number += block.count("\n") + 1
        yield dialogue

    def _add_all(self, dialogue: _Dialogue, match: re.Match[str], block: str, known: dict[str, str]) -> None:
        """Add the turns of a line: most formats have one per line, some several."""
        several = match.end() - match.start() < len(block)
        turns = list(match.re.finditer(block)) if several else [match]
        texts = without_separators([turn.groupdict().get("text") or "" for turn in turns])
        for turn, text in zip(turns, texts, strict=True):
            values = known | {name: value for name, value in turn.groupdict().items() if value is not None}
            speaker = " ".join(values.get("speaker", "").split())
            if not speaker and (names := self.recipe.lines and self.recipe.lines.alternate):
                speaker = names[len(dialogue.turns) % len(names)]
            if self.recipe.speakers:
                speaker = self.recipe.speakers.get(speaker, speaker)
            time = " ".join(part for name in ("day", "year", "time") if (part := values.get(name)))
            dialogue.turns.append({"speaker": speaker, "text": text, "time": time})

    def _notice(self, dialogue: _Dialogue, block: str) -> None:
        if "notice" in self._keep:
            dialogue.turns.append({"speaker": "notice", "text": block, "time": ""})
        else:
            self.left_out["notice"] += 1

    def _go_on(self, dialogue: _Dialogue, block: str, lines: Lines) -> None:
        if dialogue.turns and lines.goes_on:
            dialogue.turns[-1]["text"] += f"\n{block}"
        elif block.strip():
            self.unused += 1


def _date(turns: list[dict[str, Any]], reading: ClockReading) -> str:
    first = next((turn["time"] for turn in turns if turn["time"]), "")
    return first_date([first], reading) or ""
