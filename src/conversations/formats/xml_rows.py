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
from conversations.vocabulary import word_lists, word_set

Row = dict[str, Any]
# Elements that are turns though those around them name their speakers, by the outermost one.
TURNS = word_lists("columns")["elements"]
# Elements inside a turn that are not said, such as the name of the speaker in a play, and those that begin a line.
NOT_SAID, LINES = word_set("columns", "elements_aside"), {"br", "lb", "l", "p", "div"}
# Words and sentences, which need no blank between them.
WORDS = {"w", "s", "seg"}
# Names that an element shares with those around it; there they follow the name of the element: "conversation_id".
OWN = {"id", "name", "n", "type"}
REFERENCE = re.compile(r"&#(\d+);")
# A text of this length without a blank is a picture.
LONGEST = 10_000


def xml_rows(path: Path) -> list[Row]:
    """Return a row for each turn of an XML file; an id of another element stands for the name or the time of that one.

    :raises CorpusError: if it is damaged, declares entities, or has no turns.
    """
    root = _root(path)
    ids = {value: item for item in root.iter() for key, value in item.attrib.items() if plain(key)[-2:] == "id"}
    for tag in ("TEI", *DIALOGUE_WORDS):
        alike = list(root.iter(tag))
        for number, item in enumerate(alike, start=1):
            item.attrib |= {"id": str(number)} if len(alike) > 1 and "id" not in item.attrib else {}
    every = list(_rows(root, {}, ids))
    spoken = Counter(tag for tag, _, is_turn in every if is_turn).most_common(1)
    tags = TURNS.get(root.tag) or [tag for tag, times in spoken if times > 1]
    if not tags:
        names = ", ".join(f"<{tag}>" for tag, _ in Counter(tag for tag, _, _ in every).most_common(6))
        kind = "a web page" if root.tag.lower() == "html" else f"XML with {names}"
        raise CorpusError(
            f"{path} is {kind}, in which no element has a speaker and a text; expected one such as <message "
            "from='Ana'>Hello</message> for each turn. Export JSON, CSV or text instead."
        )
    return [row for tag, row, _ in every if tag in tags]


def _root(path: Path) -> Element:
    """Return the outermost element; names are without the namespaces in front of them."""
    builder, parser = TreeBuilder(), expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        kept = {key: value for key, value in attributes.items() if len(value) < LONGEST or " " in value}
        kept = {_bare(key): value for key, value in kept.items() if not key.startswith(("xmlns", "xsi:"))}
        builder.start(_bare(name), kept)

    def refuse(*_: object) -> None:
        raise CorpusError(
            f"{path} is XML that declares entities, which can grow without end; expected none. Export it without them."
        )

    parser.StartElementHandler, parser.EndElementHandler = start, lambda name: builder.end(_bare(name))
    parser.CharacterDataHandler, parser.EntityDeclHandler = builder.data, refuse
    with open_text(path, find_encoding(path)) as text:
        # Programs for phones write an emoji as two halves, which XML forbids, as it does most control characters.
        whole = REFERENCE.sub(_character, text.read()).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        parser.Parse(whole.lstrip("\ufeff \r\n\t"), True)
    except expat.ExpatError as error:
        raise CorpusError(f"{path}: not valid XML ({error}); expected a whole file. Export it again.") from error
    return builder.close()


def _bare(name: str) -> str:
    return name.rpartition(":")[2]


def _character(match: re.Match[str]) -> str:
    number = int(match[1])
    return chr(number) if 0xD800 <= number < 0xE000 else match[0] if number > 31 or number in (9, 10, 13) else ""


def _rows(element: Element, around: Row, ids: dict[str, Element]) -> Iterator[tuple[str, Row, bool]]:
    """Yield name, row and whether it has a speaker and a text of its own, of an element and of those inside it."""
    attributes = {
        key: _named(value.removeprefix("#" * (key == "who")), element, ids) for key, value in element.attrib.items()
    }
    children = Counter(child.tag for child in element)
    inner = {item.tag: _value(item) for item in element if children[item.tag] == 1}
    own = {key: value for key, value in inner.items() if value} | attributes
    speaker, text = (by_name(meaning, list(own)) for meaning in ("speaker", "text"))
    # Beside an element for the speaker, the other ones are columns: only what stands between them is the text.
    columns = speaker in inner and speaker not in NOT_SAID
    words = "" if text else " ".join(_between(element).split()) if columns else _words(element)
    row = around | own | ({"text": words} if words else {}) | (_of_parts(element) if element.tag == "mms" else {})
    yield element.tag, row, bool(speaker and (text or words or (columns and len(inner) > 1)))
    tag = "dialogue" if element.tag == "TEI" else element.tag
    below = {f"{tag}_{key}" if key.lower() in OWN else key: value for key, value in attributes.items()}
    for child in element:
        yield from _rows(child, around | below, ids)


def _between(element: Element) -> str:
    return "".join([element.text or "", *(child.tail or "" for child in element)])


def _words(element: Element) -> str:
    """Return the text in an element, without what is not said; in it only some elements begin a line."""
    if not len(element):
        return (element.text or "").strip()

    def parts(item: Element) -> Iterator[str]:
        yield re.sub(r"\s+", " ", item.text or "")
        for child in item:
            yield "\n" if child.tag.lower() in LINES else " " if child.tag in WORDS else ""
            yield from () if child.tag.lower() in NOT_SAID else parts(child)
            yield re.sub(r"\s+", " ", child.tail or "")

    return re.sub(r" *\n\s*", "\n", re.sub(r" +", " ", "".join(parts(element)))).strip()


def _value(element: Element) -> str:
    """Return the words of an element, or else its first attribute or that of one inside it."""
    return _words(element) or next((value for item in element.iter() for value in item.attrib.values()), "")


def _of_parts(message: Element) -> Row:
    """Return the text and the sender of a message with pictures, which a phone keeps in parts and addresses."""
    texts = [part.get("text", "null") for part in message.iter("part") if part.get("ct") == "text/plain"]
    senders = [address.get("address", "") for address in message.iter("addr") if address.get("type") == "137"]
    return {"text": "\n".join(text for text in texts if text != "null"), "sender": "".join(senders)}


def _named(value: str, element: Element, ids: dict[str, Element]) -> str:
    """Return the name or the time of the element with this id; other values as they are."""
    other = None if value.isdecimal() else ids.get(value.removeprefix("#"))
    if other is None or other.tag == element.tag:
        return value
    known = [text for key, text in other.attrib.items() if plain(key) in ("name", "time", "time_value")]
    return next((text.strip() for text in (*known, *other.itertext()) if text.strip()), value.removeprefix("#"))
