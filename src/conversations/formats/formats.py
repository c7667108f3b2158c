"""Format of a file: by its ending, or by its first lines if the ending is ambiguous."""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path
from typing import Any

from conversations.by_recipe.expressions import Finder
from conversations.by_recipe.recognising import recipe_of_lines
from conversations.errors import CorpusError
from conversations.formats.addresses import as_address, without_secrets
from conversations.formats.encodings import Encoding, open_bytes, open_text
from conversations.formats.logs import has_named_values, has_vertical_rows
from conversations.formats.plain_text import is_script
from conversations.formats.records import ASSIGNMENT, BY_ID, below_ids, each_of, lists_in
from conversations.formats.table_parts import has_ruled_table
from conversations.formats.tables import DELIMITERS
from conversations.guessing.names import NAMES, by_name, columns_in, known_names, plain
from conversations.guessing.turns import holds_texts, inner_turns, is_turn, names_speaker
from conversations.options import Options
from conversations.vocabulary import patterns, word_set

ENDINGS = {
    **{".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl"},
    **{".parquet": "parquet", ".pq": "parquet", ".txt": "text", ".text": "text", ".log": "text", ".cha": "text"},
    **{".textgrid": "text", ".vtt": "vtt", ".srt": "srt", ".sbv": "srt", ".js": "json"},
}
ARCHIVES, WORKBOOKS = (".zip", ".tar", ".tgz"), (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
XML, MAILS = (".xml", ".eaf", ".trs", ".exb", ".tei", ".ttml", ".dfxp", ".chatlog"), (".mbox", ".mbx", ".eml")
CONTAINERS = (*ARCHIVES, *WORKBOOKS, ".docx", ".odt", ".db", ".sqlite", ".sqlite3", *XML, *MAILS)
PAGE = word_set("columns", "page")
HEAD_LINES = 300
JSON_START = re.compile(r"\{|\[\s*(?:[\[{\]]|$)")
READABLE = "a table, JSON, text, captions, XML, mails, a workbook or an archive of them"
# First bytes in small letters, what they are, and what to do.
UNREADABLE = (
    (b"<!doctype html", "a web page", "Export JSON or text instead: most tools offer it beside HTML."),
    (b"<html", "a web page", "Export JSON or text instead: most tools offer it beside HTML."),
    (b"%pdf", "a PDF", "Export text, or save the document as plain text."),
    (b"id3", "a sound", "Transcribe it first; the transcript can be imported."),
    (b"{\\rtf", "a rich text document (RTF)", "Save it as plain text or as a Word document (.docx)."),
    (b"7z\xbc\xaf", "an archive (7z)", "Unpack it, and import the folder."),
    (b"rar!", "an archive (RAR)", "Unpack it, and import the folder."),
    (b"riff", "a sound or a film", "Transcribe it first; the transcript can be imported."),
    (b"\x89png", "a picture", "Export the conversation as text or JSON."),
)


def ending(path: Path) -> str:
    """Return the ending before `.gz`, in small letters: `.csv` for `calls.CSV.gz`."""
    inner = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return inner.suffix.lower()


def stem(path: Path) -> str:
    """Return the name of a file or folder without its endings, usable in ids and file names."""
    address = as_address(path)
    name = without_secrets(address).rstrip("/").rpartition("/")[2].replace(":", "-") if address else path.resolve().name
    for end in (".gz", *ENDINGS, *CONTAINERS):
        if name.lower().endswith(end) and len(name) > len(end):
            name = name[: -len(end)]
            if end != ".gz":
                break
    shown = name.encode("utf-8", "replace").decode().replace("\x00", "").lstrip(".")
    return shown or "export"


def is_parquet(path: Path) -> bool:
    """Return whether the first bytes of a file are those of Parquet.

    :raises CorpusError: if they are those of a picture, a sound, a PDF or a page, which are not read.
    """
    with open_bytes(path) as handle:
        start = handle.read(64)
    for mark, kind, remedy in UNREADABLE:
        if start.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(mark):
            raise CorpusError(f"{path} is {kind}, which is not read; expected {READABLE}. {remedy}")
    return start.startswith(b"PAR1")


def is_program(path: Path) -> bool:
    """Return whether a file of JavaScript holds no data, which an archive has behind "window.YTD.tweets.part0 = "."""
    if ending(path) != ".js":
        return False
    with open_bytes(path) as handle:
        return not ASSIGNMENT.match(handle.read(300).decode("utf-8", "replace"))


def find_format(path: Path, encoding: Encoding) -> str:
    """Return the format of a text file.

    :raises CorpusError: if it is unreadable.
    """
    by_ending = ENDINGS.get(ending(path))
    if by_ending in ("csv", "tsv", "jsonl", "vtt", "srt"):
        return by_ending
    with open_text(path, encoding) as text:
        lines = list(islice(text, HEAD_LINES))
    head = [line for line in lines if line.strip("\ufeff \t\r\n")]
    first = head[0].removeprefix("\ufeff").strip() if head else ""
    # A line such as "[12.03.24, 14:05:11] Anna: ..." of a messenger is no JSON.
    if JSON_START.match(first):
        return "jsonl" if _is_object(first) and len(head) > 1 else "json"
    if by_ending == "json":
        return "json"
    if first.startswith("WEBVTT"):
        return "vtt"
    if any(patterns("captions")["arrow"].match(line) for line in head[:5]):
        return "srt"
    if has_vertical_rows(lines):
        return "rows"
    if has_named_values(lines):
        return "log"
    if recipe_of_lines("".join(lines)):
        return "text"
    if has_ruled_table(lines):
        return "csv"
    return "csv" if any(known_names(first.split(delimiter)) > 1 for delimiter in DELIMITERS) else "text"


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def find_list(outlined: Any, options: Options) -> tuple[str, ...] | None:
    """Return the keys that lead to the dialogues, or to the turns, in a JSON file, for `read_json_records`.

    :param outlined: Outline of the file.
    :param options: Options; a list with the columns named there goes before any guess.
    """
    if options.turns and "." in options.turns and isinstance(outlined, dict) and Finder(options.turns)(outlined):
        return None
    objects = lists_in(outlined)
    if not objects and are_scripts(outlined):
        return BY_ID
    # Some messages lack a text or a speaker: the keys of all first objects count.
    lists = {
        keys: {name: value for item in reversed(items) for name, value in item.items()}
        for keys, items in objects.items()
    }
    if () in lists or not lists:
        return () if () in lists else None
    named = _named_list(lists, options)
    if named is not None:
        return named or None
    of_dialogues = [k for k, first in lists.items() if not is_turn(first) and inner_turns(first)]
    of_rows = [keys for keys, first in lists.items() if _has_ids(objects[keys]) and _is_like_a_turn(first)]
    for places in (of_dialogues, of_rows):
        if places:
            # Such as the lists "train" and "test", or a list per file.
            alike = [keys for keys in _as_deep(places) if lists[keys].keys() & lists[places[0]].keys()]
            return each_of(alike)
    of_turns = [keys for keys, first in lists.items() if _is_like_a_turn(first)]
    if place := _below_ids(of_turns):
        return place
    # {"call-1": [...], "call-2": [...]}: several keys, and none is a known name.
    tops = {keys[0] for keys in of_turns or lists}
    if len(tops) > 1 and not any(map(_is_known, tops)):
        return BY_ID
    if of_turns:
        return _holder(outlined, of_turns, list(lists)) or None
    return next((keys for keys, first in lists.items() if any(map(holds_texts, first.values()))), None)


def are_scripts(outlined: Any) -> bool:
    """Return whether an object holds a transcript as text under each of several ids."""
    values = list(outlined.values()) if isinstance(outlined, dict) and not any(map(_is_known, outlined)) else []
    return len(values) > 1 and all(isinstance(value, str) and is_script(value) for value in values[:HEAD_LINES])


def _is_known(name: str) -> bool:
    return any(plain(name) in group for group in NAMES.values())


def _holder(outlined: Any, of_turns: list[tuple[str, ...]], lists: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the keys that lead to the dialogues around lists of turns; () for the whole file."""
    keys, around = of_turns[0], outlined
    for key in keys[:-1]:
        around = around[key]
    if _is_page(around, keys[-1]):
        return keys
    return keys[:-1] if isinstance(around.get("id"), str | int) else _around(keys, lists)


def _below_ids(of_turns: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the keys that lead to the objects whose keys are ids, for several lists of turns; () without such."""
    alike = _as_deep(of_turns)
    place = below_ids(alike) if len(alike) > 1 else ()
    return () if any(_is_known(other[len(place) - 1]) for other in alike) else place


def _as_deep(places: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the places that are below as many keys as the first one."""
    return [keys for keys in places if len(keys) == len(places[0])]


def _has_ids(objects: list[dict[str, Any]]) -> bool:
    """Return whether nearly all objects have the id of a dialogue."""
    name = by_name("id", columns_in(objects))
    return name is not None and sum(item.get(name) not in ("", None) for item in objects) >= 0.9 * len(objects)


def _named_list(lists: dict[tuple[str, ...], dict[str, Any]], options: Options) -> tuple[str, ...] | None:
    """Return the keys that lead to the columns named in the options; () for the whole file, None without a match."""
    around = [_around(keys, list(lists)) for keys in lists if options.turns == keys[-1]]
    path = Finder(options.turns) if options.turns and "." in options.turns else None
    holding = [keys for keys, first in lists.items() if options.turns in first or (path and path(first))]
    wanted = {name for name in (options.dialogue_id, *options.labels) if name}
    rows = [keys for keys, first in lists.items() if wanted and not options.turns and wanted <= first.keys()]
    return next(iter(around + holding + rows), None)


def _around(keys: tuple[str, ...], lists: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the keys that lead to the dialogue around a list of turns; () for the whole file.

    An object whose only list holds the turns is a wrapper, not a dialogue.
    """
    alone = sum(other[:-1] == keys[:-1] for other in lists) == 1
    return keys[:-2] if alone else keys[:-1]


def _is_page(around: dict[str, Any], name: str) -> bool:
    """Return whether the object around a list says only which part of all rows the list is."""
    others = [set(plain(other).split("_")) for other in around if other != name]
    return bool(others) and all(words & PAGE for words in others)


def _is_like_a_turn(values: dict[str, Any]) -> bool:
    """Return whether an object has the keys of a turn, though its text may be blank."""
    return names_speaker(values) and by_name("text", list(values)) is not None
