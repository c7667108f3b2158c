"""What is not speech in texts: HTML, mails that they quote, and traces of a second encoding."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from conversations.formats.records import Record, changed
from conversations.vocabulary import patterns

FORMS = patterns("markup")
# Exports nest texts a few levels deep; a value of thousands of levels must not break the reader.
DEPTH = 20


def is_html(text: str) -> bool:
    """Return whether a text has a closing tag or a line break of HTML."""
    return bool(FORMS["closed"].search(text))


def are_html(texts: Sequence[str]) -> bool:
    """Return whether the texts of a column are HTML: over a third have tags, because short texts may have none.

    A few texts with tags, as in a chat about HTML, must stay unchanged.
    """
    filled = [text for text in texts if text.strip()]
    return 3 * sum(map(is_html, filled)) > len(filled)


def without_html(text: str) -> str:
    """Return the visible text of HTML: without tags, each block on its own lines."""
    text = FORMS["tag"].sub("", FORMS["break"].sub("\n", text))
    return FORMS["lines"].sub("\n", html.unescape(text).replace("\xa0", " ")).strip()


def plain_lines(lines: list[str]) -> list[str]:
    """Return the lines of a text without HTML, if a third of them has some, and `Ann: Hello` for a tag with a name.

    Each line stays one, so that its number is known.
    """
    voiced = [FORMS["voiced"].match(line) for line in lines]
    if sum(map(bool, voiced)) > 1:
        lines = [f"{match[2]}: {match[3]}" if match else line for match, line in zip(voiced, lines, strict=True)]
        return [html.unescape(line) for line in lines]
    return (
        [without_html(FORMS["cells"].sub("\t", line)).replace("\n", " ") for line in lines]
        if are_html(lines)
        else lines
    )


def is_twice_encoded(value: Any, *, depth: int = DEPTH) -> bool | None:
    """Return whether every text beyond ASCII in a JSON value is UTF-8 that was read as Latin-1, such as `MÃ¼ller`.

    :param depth: Levels of nesting to look into.
    :returns: None if the value has no text beyond ASCII.
    """
    if isinstance(value, str):
        return None if value.isascii() else _mended(value) is not None
    if not isinstance(value, dict | list) or not depth:
        return None
    inner = value.values() if isinstance(value, dict) else value
    answers = {answer for item in inner if (answer := is_twice_encoded(item, depth=depth - 1)) is not None}
    return all(answers) if answers else None


def mended(value: Any, *, depth: int = DEPTH) -> Any:
    """Return a value in which every text is decoded a second time, if possible."""
    if isinstance(value, str):
        return value if value.isascii() else _mended(value) or value
    if not isinstance(value, dict | list) or not depth:
        return value
    if isinstance(value, dict):
        return {key: mended(item, depth=depth - 1) for key, item in value.items()}
    return [mended(item, depth=depth - 1) for item in value]


def _mended(text: str) -> str | None:
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return None


def repaired(records: Iterator[Record], *, first: int) -> tuple[list[Record], Iterator[Record], tuple[str, ...]]:
    """Return the first records and the others, repaired, and sentences for the summary.

    Texts are decoded a second time if all were encoded twice, and so are line breaks written as two characters.

    :param first: Number of first records, which tell what is to be repaired.
    """
    sample, notes = list(islice(records, first)), tuple[str, ...]()
    answers = {is_twice_encoded(record.values) for record in sample if not record.problem} - {None}
    if answers == {True}:
        sample, records = list(changed(sample, mended)), changed(records, mended)
        notes += ("its texts were encoded twice, as in `MÃ¼ller`; they are decoded once more",)
    if columns := _escaped_columns([record.values for record in sample if not record.problem]):

        def with_breaks(values: dict[str, Any]) -> dict[str, Any]:
            texts = ((name, values.get(name)) for name in columns)
            return values | {
                name: FORMS["escaped_break"].sub("\n", text) for name, text in texts if isinstance(text, str)
            }

        sample, records = list(changed(sample, with_breaks)), changed(records, with_breaks)
        notes += ("line breaks were written as \\n in " + ", ".join(map(repr, columns)),)
    return sample, records, notes


def _escaped_columns(sample: Sequence[dict[str, object]]) -> tuple[str, ...]:
    """Return the columns in which most texts hold lines with speakers, and no text has a line break."""
    names = dict.fromkeys(chain.from_iterable(sample))
    texts = {name: [text for values in sample if isinstance(text := values.get(name), str) and text] for name in names}
    return tuple(
        name
        for name, cells in texts.items()
        if 2 * sum(bool(FORMS["escaped"].search(text)) for text in cells) > len(cells)
        and not any("\n" in t for t in cells)
        and not any(text.lstrip()[:1] in ("[", "{") and text.rstrip()[-1:] in ("]", "}") for text in cells)
    )


def without_quoted(text: str, *, marked: bool = True) -> str:
    """Return a text without the mail that it quotes at its end; as it is if it has no words of its own.

    :param marked: True if each line of a mail that "Ana wrote:" introduces has to begin with ">"; in HTML none does.
    """
    if "\n" not in text:
        return text
    ends = [match.start() for pattern in (FORMS["rule"], FORMS["head"]) if (match := pattern.search(text))]
    for match in FORMS["introduction"].finditer(text):
        below = text[match.end() :].split("\n")
        if any(map(str.strip, below)) and (not marked or all(line.lstrip()[:1] in ("", ">") for line in below)):
            ends.append(match.start())
            break
    own = text[: min(ends)].rstrip() if ends else text
    return own if own.strip() else text
