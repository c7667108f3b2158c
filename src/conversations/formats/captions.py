"""WebVTT and SRT captions of meetings: one file is one dialogue.

webvtt-py (0.6.0 was tried) silently drops every cue after a damaged time or with a comma in its time, takes the first
of two voices in a cue for both, reads an SRT without numbers as one cue, and gives no line numbers.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from pathlib import Path

from conversations.formats.encodings import Encoding, is_damaged, open_text
from conversations.formats.plain_text import Script, is_name, split_speaker
from conversations.guessing.names import is_role
from conversations.guessing.naming import REMARK, REMARKS
from conversations.values.times import seconds
from conversations.vocabulary import patterns

FORMS = patterns("captions")
BLOCKS = ("NOTE", "STYLE", "REGION", "WEBVTT", "X-TIMESTAMP-MAP")
NOBODY = "unknown"
OTHERS = (NOBODY, f"{NOBODY} 2")
NAMELESS = (
    "no cue names its speaker, as in <v Name> or `Name: text`; export the captions with speakers, which tools for "
    "speech call diarization"
)
NEARLY_ALL = 0.8


def read_captions(path: Path, encoding: Encoding) -> Script:
    """Return the dialogue of a caption file; one turn per cue, or per voice in a cue.

    A cue without a name belongs to the speaker before, and to "unknown" before the first name; behind the mark of a
    change it belongs to somebody else. A file without any name is no dialogue.
    """
    script = Script()
    counts = Counter[str]()
    cues, ids = _cues(path, encoding)
    cues = _with_names(cues, ids)
    any_name = sum(bool(FORMS["any_name"].match(cue)) for _, cue in cues) > NEARLY_ALL * len(cues)
    if any(FORMS["change"].match(cue) or any(map(split_speaker, FORMS["change"].split(cue)[1:])) for _, cue in cues):
        cues = [(line, FORMS["change"].sub("\n>>", cue).strip()) for line, cue in cues]
    for line, cue in cues:
        if is_damaged(cue) and not script.problem:
            script.problem, script.line = "the cue holds bytes that are not valid characters", line
        for name, text in _voices(cue, any_name=any_name):
            if not name and FORMS["sound"].fullmatch(text):
                script.unused += 1
                continue
            counts[name] += 1
            before = script.turns[-1][0] if script.turns else NOBODY
            name = OTHERS[before == NOBODY and bool(script.turns)] if name == ">>" else name
            script.turns.append((name or before, [text]))
    if not script.turns:
        script.problem = script.problem or "there is no cue with text in it"
    elif not (_are_speakers(counts) or any(FORMS["voice"].search(cue) for _, cue in cues)):
        script.problem = script.problem or NAMELESS
    return script


def _are_speakers(counts: Counter[str]) -> bool:
    """Return whether the names of cues are speakers: one is a role or comes back, or nearly all cues have one.

    :param counts: Number of cues by name; "" and ">>" stand for cues without one.
    """
    names = counts.keys() - {"", ">>"}
    # A word that comes back alone, "Conclusion: yes", is no name, unless half of the cues have it.
    least = 2 if len(names) > 1 else max(2, counts.total() / 2)
    known = any(counts[name] >= least or is_role(name) or name.isupper() for name in names)
    return known or (bool(names) and len(names) >= NEARLY_ALL * counts.total())


def _with_names(cues: list[tuple[int, str]], ids: dict[int, str]) -> list[tuple[int, str]]:
    """Return the cues with voices if nearly each one begins with a name in brackets or on its own line (Teams).

    :param ids: Line above the time of each cue, which may be a name, too.
    """
    if len(ids) == len(cues) and not any(FORMS["voice"].search(cue) or split_speaker(cue) for _, cue in cues):
        names = list(ids.values())
        if all(map(is_name, names)) and not any(map(str.isdecimal, names)) and 1 < len(set(names)) < len(names):
            return [(at, f"<v {ids[at]}>{cue}") for at, cue in cues]
    for form in (FORMS["label"], FORMS["name_above"]):
        matches = [form.match(cue) for _, cue in cues]
        names = [match[1] for match in matches if match and is_name(match[1])]
        if len(names) >= max(3, NEARLY_ALL * len(cues)) and 1 < len(set(names)) <= 2 * len(names) / 3:
            return [(at, f"<v {m[1]}>{m[2]}" if m else cue) for (at, cue), m in zip(cues, matches, strict=True)]
    return cues


def _cues(path: Path, encoding: Encoding) -> tuple[list[tuple[int, str]], dict[int, str]]:
    """Return line number and text of each cue, and the lines above their times by these numbers.

    A cue begins with a time in any form and ends before the next one, so that none is lost. Cues are sorted by time.
    """
    cues: list[tuple[int, list[str]]] = []
    starts: list[float | None] = []
    ids: dict[int, str] = {}
    parts = 0
    block = above = ""
    blank = apart = True
    with open_text(path, encoding) as text:
        for number, raw in enumerate(text, start=1):
            line = raw.strip().removeprefix("\ufeff")
            if FORMS["arrow"].match(line):
                block = ""
                start = FORMS["start"].search(line)
                starts.append(seconds(start[0], day_first=False) if start else None)
                parts += above == "1"
                if above and apart:
                    ids[number] = above
                # The line above a time is the cue's number or name, if it follows a blank line.
                first = [f"<v {named[1] or named[2]}>"] if (named := FORMS["named_cue"].match(above)) else []
                # Some write the text on the line of the times, where WebVTT has settings such as "align:start".
                rest = FORMS["after_arrow"].sub("", line)
                cues.append((number, first if all(map(FORMS["setting"].fullmatch, rest.split())) else [*first, rest]))
            elif blank and line.startswith(BLOCKS):
                block = line
                parts += line.startswith("WEBVTT") and bool(cues)
            elif cues and not block:
                cues[-1][1].append(line)
            above, apart, blank = line, blank, not line
            block = "" if blank else block
    texts = [
        (number, "\n".join(_without_next_name(lines, at + 1 < len(cues)))) for at, (number, lines) in enumerate(cues)
    ]
    # The times begin again in the second part of a recording.
    return (texts if parts > 1 else _sorted(texts, starts)), ids


def _sorted(cues: list[tuple[int, str]], starts: list[float | None]) -> list[tuple[int, str]]:
    """Return the cues in the order of their times, if all can be read."""
    known = [start for start in starts if start is not None]
    return [cues[at] for at in sorted(range(len(cues)), key=known.__getitem__)] if len(known) == len(cues) else cues


def _without_next_name(lines: list[str], more: bool) -> list[str]:
    """Leave out the number or name of the next cue: the last line, if it follows a blank line."""
    follows = more and lines and lines[-1] and (lines[-1].isdecimal() or (len(lines) > 1 and not lines[-2]))
    return [line for line in (lines[:-1] if follows else lines) if line]


def _voices(cue: str, *, any_name: bool) -> list[tuple[str, str]]:
    """Return (name or "", text) of each voice in a cue.

    :param any_name: True if any words with capitals before the colon in the first line are a name.
    """
    if (event := _as_json(cue)) is not None:
        return event
    parts = FORMS["voice"].split(cue)
    if len(parts) > 1:
        pairs = [("", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
    else:
        pairs = []
        for line in cue.split("\n"):
            changes = line.startswith(">>") or (pairs and line.startswith(("-", "–")))
            bare = FORMS["tag"].sub("", line).strip().lstrip("-–>").strip()
            name = FORMS["bracketed"].match(bare)
            named = ((name[1] or name[2]).strip(), bare[name.end() :]) if name else split_speaker(bare)
            match = FORMS["any_name"].match(bare) if any_name and not pairs and not named else None
            if match and is_name(match[1], max_words=12):
                named = match[1].strip(), match[2]
            if named and (named[0].lower() in REMARKS or REMARK.fullmatch(named[0])):
                named = None
            if named or changes or not pairs:
                pairs.append(named or (">>" if changes else "", bare if changes else line))
            else:
                pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]} {line}")
    cleaned = [(html.unescape(name).strip(), " ".join(FORMS["tag"].sub("", text).split())) for name, text in pairs]
    return [(name, html.unescape(text)) for name, text in cleaned if text]


def _as_json(cue: str) -> list[tuple[str, str]] | None:
    """Return the voice of a cue that is an object, as Teams writes beside its captions; None if it is text."""
    if not cue.startswith("{"):
        return None
    try:
        event = json.loads(cue)
        return [(str(event.get("speakerName") or ""), text)] if (text := str(event.get("spokenText") or "")) else []
    except (ValueError, AttributeError, RecursionError):
        return None
