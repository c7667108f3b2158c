"""Lines that part the dialogues of a text: rules, headings, titles with a number, tags."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from conversations.formats.around_turns import Split, fields_above
from conversations.guessing.names import DIALOGUE_WORDS, plain
from conversations.guessing.naming import is_field
from conversations.vocabulary import patterns

# Words for a whole dialogue in titles.
WHOLES = {*DIALOGUE_WORDS, "transcript", "interview"}
FORMS = patterns("parts")


def is_title(line: str) -> bool:
    """Return whether a line only numbers a dialogue: "Call ID: 4711", "[Conversation 2]", "[Call 2 - 2024-03-01]".

    One alone may be speech. An id that is no number, "Chat ID: 8f3a-22", stands after a colon.
    """
    words = plain(line).split("_") if len(line) <= 60 and line[-2:-1] not in ("?", ".", "!") else []
    numbers = {"id", "no", "nr", "number", "key", "ref"}
    if len(words) < 2 or words[0] not in WHOLES:
        return False
    if FORMS["in_brackets"].match(line.strip()) and words[1].isdecimal():
        return True
    named = FORMS["behind_colon"].match(line)
    if named and set(plain(named[1]).split("_")[1:]) & numbers:
        words = [*plain(named[1]).split("_"), "1"]
    return len(words) <= 4 and words[-1].isdecimal() and numbers | WHOLES >= set(words[1:-1])


def heading_of(line: str) -> str | None:
    """Return the name of the dialogue that a line begins, "" for a line of dashes; None for other lines."""
    if FORMS["separator"].match(line):
        return ""
    if heading := FORMS["heading"].match(line):
        return heading[1].strip()
    if (tag := FORMS["tag"].match(line)) and tag[1].lower() in DIALOGUE_WORDS:
        name = FORMS["in_quotes"].search(line)
        return name[1] if name else ""
    titled = FORMS["titled"].match(line)
    # "--- 5 March 2024 ---" and "--- Log opened ---" stand inside dialogues.
    named = titled and set(plain(titled[2]).split("_")) & WHOLES and re.search(r"\d", titled[2])
    return titled[2] if titled and named else None


def heading_speakers(lines: Sequence[str], is_name: Callable[[str], bool]) -> set[str]:
    """Return the headings of a text that name its speakers, as in Markdown: at least two, which all come back.

    Headings above most lines with a colon are parts of a document: "Transcript", "Summary".
    """
    counts = Counter(heading[1].strip() for line in lines if (heading := FORMS["heading"].match(line)))
    names = {name for name, times in counts.items() if times > 1 and is_name(name) and not re.search(r"[?!.:]$", name)}
    colons = sum(bool(re.match(r"[^\s#][^:]{0,40}:\s", line)) for line in lines)
    return names if len(names) > 1 and colons < sum(counts[name] for name in names) else set()


@dataclass(frozen=True)
class Part:
    """Lines between two lines that part dialogues.

    :param name: Name from the line above it; "" without one.
    :param line: First line, counted from 1.
    :param unused: Number of lines of the parts below it that hold no turns.
    """

    name: str = ""
    line: int = 1
    lines: list[str] = field(default_factory=list)
    unused: int = 0


def parted(lines: Sequence[str], split: Split, is_name: Callable[[str], bool]) -> list[Part]:
    """Return the dialogues of a text: one, or several separated by lines of `---` or `===` or by headings `# id`.

    Blank lines separate no dialogues: exports put them between turns.
    """
    speakers = heading_speakers(lines, is_name)
    lines = [
        f"{it[1]}:\n" if (it := FORMS["heading"].match(line)) and it[1].strip() in speakers else line for line in lines
    ]
    # The first one stands above all turns: "Call 17" may be said.
    first = next((at for at, line in enumerate(lines) if is_title(line) or split(line.strip())), 0)
    titles = {line for line in lines[first:] if is_title(line)} if lines and is_title(lines[first]) else set()
    parts = [Part()]
    for number, line in enumerate(lines, start=1):
        name = heading_of(line)
        if name is None and len(titles) > 1 and line in titles:
            name = line.strip().strip("[]#*=:- ")
        if name is None:
            parts[-1].lines.append(line)
        else:
            parts.append(Part(name, number + (0 if name else 1)))
    return _whole(parts, split)


def _whole(parts: Sequence[Part], split: Split) -> list[Part]:
    """Return the parts that are whole dialogues: fields and headings belong to the part below them.

    A heading that comes again, such as "Transcript", names no dialogue; without turns below it, such as "Summary", it
    is no part.
    """
    counts = Counter(part.name for part in parts)
    whole: list[Part] = []
    for part in parts:
        again = counts[part.name] > 1
        own = replace(part, name="" if again else part.name)
        above = whole[-1] if whole else None
        if above and part.name and again and above.lines and not any(split(line.strip()) for line in part.lines):
            whole[-1] = replace(above, unused=above.unused + sum(bool(line.strip()) for line in part.lines))
        elif above and _belongs_below(above, own, split):
            line = above.line if above.name or above.lines else own.line
            whole[-1] = Part(above.name or own.name, line, [*above.lines, "\n", *own.lines])
        else:
            whole.append(own)
    return whole


def _belongs_below(above: Part, part: Part, split: Split) -> bool:
    """Return whether a part is only a heading or fields, and the next one, which has turns, has none of its own."""
    lines = [text for line in above.lines if (text := line.strip())]
    if not lines:
        return not (above.name and part.name)
    pairs = [pair for line in lines if (pair := split(line))]
    below = [text for line in part.lines if (text := line.strip())]
    spoken = {pair[0] for line in below if (pair := split(line))}
    if len(pairs) < len(lines) or len(spoken) < 2 or any(map(is_field, spoken)):
        return False
    return all(is_field(name) for name, _ in pairs) or fields_above([*lines, "", *below], split) >= len(lines)
