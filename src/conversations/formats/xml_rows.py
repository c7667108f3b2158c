"""XML: the elements that are turns as rows, each with the attributes of the elements around it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from conversations.errors import CorpusError
from conversations.formats.encodings import find_encoding, open_text
from conversations.guessing.names import DIALOGUE_WORDS, by_name, plain
from conversations.guessing.turns import names_speaker
from conversations.vocabulary import word_lists, word_set

Row = dict[str, Any]
# Elements that are turns though those around them name their speakers, by the outermost one.
TURNS = word_lists("columns")["elements"]
# Elements inside a turn that are not said, such as the name of the speaker in a play.
NOT_SAID = word_set("columns", "elements_aside")
# Names that an element shares with those around it; there they follow the name of the element: "conversation_id".
OWN = {"id", "name", "n", "type"}
# Elements that begin a line.
LINES = {"br", "lb", "l", "p", "div"}
REFERENCE = re.compile(r"&#(x[\da-fA-F]+|\d+);")
# A text of this length without a blank is a picture.
LONGEST = 10_000


def xml_rows(path: Path) -> list[Row]:
    """Return a row for each turn of an XML file.

    An attribute that holds the id of another element stands for the name or the time of that one.

    :raises CorpusError: if it is damaged, declares entities, or has no turns.
    """
    root = _root(path)
    ids = {value: item for item in root.iter() for key, value in item.attrib.items() if plain(_bare(key))[-2:] == "id"}
    every = list(_rows(root, {}, ids, Counter()))
    spoken = Counter(tag for tag, _, own in every if own).most_common(1)
    tags = TURNS.get(_bare(root.tag)) or [tag for tag, times in spoken if times > 1]
    if not tags:
        names = ", ".join(f"<{tag}>" for tag, _ in Counter(tag for tag, _, _ in every).most_common(6))
        page = root.tag.lower().endswith("html")
        raise CorpusError(
            f"{path} is {'a web page' if page else f'XML with {names}'}, in which no element has a speaker and a text; "
            "expected one such as <message from='Ana'>Hello</message> for each turn. Export JSON, CSV or text instead."
        )
    return [row for tag, row, _ in every if tag in tags]


def _root(path: Path) -> Element:
    builder, parser = TreeBuilder(), expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.CharacterDataHandler = builder.data

    def refuse(*_: object) -> None:
        raise CorpusError(
            f"{path} is XML that declares entities, which can grow without end; expected none. Export it without them."
        )

    parser.EntityDeclHandler = refuse
    with open_text(path, find_encoding(path)) as text:
        # Programs for phones write an emoji as two halves, which XML forbids.
        whole = REFERENCE.sub(_character, text.read()).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        parser.Parse(whole.lstrip("\ufeff \r\n\t"), True)
    except expat.ExpatError as error:
        raise CorpusError(
            f"{path}:{error.lineno}: not valid XML ({expat.ErrorString(error.code)}); expected a whole file. "
            "Export it again."
        ) from error
    return builder.close()


def _character(match: re.Match[str]) -> str:
    number = int(match[1][1:], 16) if match[1][0] == "x" else int(match[1])
    if number < 32 and number not in (9, 10, 13):
        return ""
    return chr(number) if 0xD800 <= number < 0xE000 else match[0]


def _rows(
    element: Element, around: Row, ids: dict[str, Element], counts: Counter[str]
) -> Iterator[tuple[str, Row, bool]]:
    """Yield name, row and whether it names a speaker and a text itself, of an element and of those inside it."""
    tag = _bare(element.tag)
    counts[tag] += 1
    attributes = {
        _bare(key): _named(value, element, ids)
        for key, value in element.attrib.items()
        if (len(value) < LONGEST or " " in value) and not key.startswith(("xmlns", "xsi:"))
    }
    children = Counter(child.tag for child in element)
    inner = {_bare(item.tag): _value(item) for item in element if children[item.tag] == 1}
    own = {key: value for key, value in inner.items() if value} | attributes
    words, text = by_name("text", list(own)), _of_parts(element) if tag == "mms" else {"text": _words(element)}
    speaker = by_name("speaker", list(own))
    if not words and speaker in inner and speaker not in NOT_SAID:
        # The other elements beside that of the speaker are columns of their own.
        text = {"text": direct} if (direct := _direct(element)) else {}
    yield (
        tag,
        around | own | ({} if words else text),
        names_speaker(own) and bool(words or text.get("text") or len(own) > 1),
    )
    if tag in DIALOGUE_WORDS and "id" not in attributes:
        attributes["id"] = str(counts[tag])
    below = around | {f"{tag}_{key}" if key.lower() in OWN else key: value for key, value in attributes.items()}
    for child in element:
        yield from _rows(child, below, ids, counts)


def _bare(name: str) -> str:
    return name.rpartition(":")[2]


def _words(element: Element) -> str:
    """Return the text in an element, without what is not said; only a line of its own begins a new line in it."""

    def parts(item: Element) -> Iterator[str]:
        yield re.sub(r"\s+", " ", item.text or "")
        for child in item:
            name = _bare(child.tag).lower()
            yield "\n" if name in LINES else ""
            yield from () if name in NOT_SAID else parts(child)
            yield re.sub(r"\s+", " ", child.tail or "")

    if not len(element):
        return (element.text or "").strip()
    return re.sub(r" *\n\s*", "\n", re.sub(r" +", " ", "".join(parts(element)))).strip()


def _direct(element: Element) -> str:
    return " ".join("".join([element.text or "", *(child.tail or "" for child in element)]).split())


def _value(element: Element) -> str:
    """Return the words of an element, or else its first attribute or that of one inside it."""
    return _words(element) or next((value for item in element.iter() for value in item.attrib.values()), "")


def _of_parts(element: Element) -> Row:
    """Return the text and the sender of a message with pictures, which a phone keeps in parts and addresses."""
    texts = [part.get("text", "null") for part in element.iter("part") if part.get("ct") == "text/plain"]
    senders = [address.get("address") for address in element.iter("addr") if address.get("type") == "137"]
    return {"text": "\n".join(text for text in texts if text != "null"), "sender": "".join(map(str, senders))}


def _named(value: str, element: Element, ids: dict[str, Element]) -> str:
    """Return the name or the time of the element with this id; other values as they are."""
    other = ids.get(value.removeprefix("#"))
    if other is None or other.tag == element.tag or value.isdecimal():
        return value
    known = (text for key, text in other.attrib.items() if plain(_bare(key)) in ("name", "time", "time_value"))
    return next(known, "") or next((text for it in other.itertext() if (text := it.strip())), value.removeprefix("#"))
