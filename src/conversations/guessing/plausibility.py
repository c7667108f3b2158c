"""Readings that are refused: implausible ones, with those that come closest, and columns that are not there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from conversations.errors import CorpusError, did_you_mean
from conversations.guessing.names import NAMES, columns_in, plain
from conversations.guessing.naming import FIELDS
from conversations.guessing.voices import LONG, side_columns, turn_takers, voices
from conversations.options import Options
from conversations.values.cells import as_name, cell_text
from conversations.vocabulary import word_set

Values = Sequence[dict[str, Any]]
STRONG = word_set("columns", "speakers_only")
READINGS = 3
# Words that name a part of a message, not a person.
PARTS = FIELDS | set(NAMES["text"]) | set(NAMES["time"]) | {"label", "labels", "episode_done", "conversation", "size"}
# Levels of messages in the logs of programs.
LOG_LEVEL = re.compile(r"(?:^|[/\W])(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b")
# Numbers of turns and of lines from which on a transcript is weighed.
TURNS, LINES = 6, 6
# Number of characters up to which an error shows a text: what is longer may be said.
LONG_TEXT = 20
REMEDY = "describe its lines in a recipe (docs/recipes.md), or save it with a line `Name: text` for each turn"


def doubt_of_script(turns: Sequence[tuple[str, list[str]]], others: int) -> str:
    """Return the reason why a transcript was hardly read right, and what to do; "" if it is plausible.

    :param turns: Speaker and lines of each turn.
    :param others: Number of lines before the first turn that are neither clock times nor notices.
    """
    reason = _reason(turns, others) if turns else ""
    return f"{reason}; {REMEDY}" if reason else ""


def _reason(turns: Sequence[tuple[str, list[str]]], others: int) -> str:
    speakers = [speaker for speaker, _ in turns]
    names = list(dict.fromkeys(speakers))
    parts = [name for name in names if plain(name) in PARTS or (name[:1] in "%@" and len(name) > 1 and ":" not in name)]
    parts += [name for name in names if LOG_LEVEL.search(name)]
    lengths = [sum(bool(line.strip()) for line in lines) for _, lines in turns]
    if 2 * sum(speaker in parts for speaker in speakers) >= len(turns) and (len(turns) > 1 or others):
        return f"its speakers would be called {', '.join(map(repr, names[:3]))}, which name no people"
    if len(turns) >= TURNS and len(names) > 0.8 * len(turns):
        return f"nearly everybody would speak once: {len(names)} speakers in {len(turns)} turns"
    words = sum(any(character.isalpha() for character in "".join(lines)) for _, lines in turns)
    if len(names) == len(turns) > 2 and 2 * words <= len(turns):
        return f"nobody speaks twice, and most texts are numbers: {len(turns) - words} of {len(turns)}"
    stuck = sum(lengths) - len(turns) + others
    if len(names) == 1 and stuck >= 3 and stuck > len(turns):
        return f"one speaker, {names[0]!r}, would say everything, and {stuck} lines name nobody"
    if sum(lengths) >= LINES and max(lengths) > 0.6 * sum(lengths) and len(turns) > 1 and max(lengths) > 2 * len(turns):
        return f"most lines would belong to one turn, {max(lengths)} of {sum(lengths)}"
    return ""


def require_plausible(
    groups: Sequence[Values], names: Sequence[str], speaker: str | None, text: str | None, path: Path
) -> None:
    """Raise if a column hardly holds the speakers.

    :param groups: Turns of each dialogue.
    :param names: Columns that may hold the speakers instead.
    :raises CorpusError: if nearly everybody would speak once, or one voice would say everything.
    """
    if not speaker or plain(speaker) in STRONG:
        return
    spoken = [[turn for turn in group if cell_text(turn.get(text or "")).strip()] for group in groups]
    voice = voices(spoken, speaker)
    long = [group for group in spoken if len(group) > 1]
    alone = not voice.changing and (len(long) > 1 or any(len(group) >= LONG for group in long))
    reason = "one voice would say everything in each dialogue" if alone else ""
    if not voice.returning and sum(map(len, spoken)) >= TURNS:
        reason = f"nearly everybody would speak once: {voice.values} speakers in {sum(map(len, spoken))} turns"
    if reason:
        others = [name for name in names if name != speaker]
        raise CorpusError(
            f"{path}: the speakers are hardly in column {speaker!r}: {reason}. Expected speakers who take turns. "
            f"Name the column with --speaker COLUMN{closest(spoken, others, text)}, or take this one by "
            f"--speaker {speaker!r}."
        )


def require_named(
    sample: Values, speaker_of: Callable[[dict[str, Any]], str], text: str | None, speaker: str, path: Path
) -> None:
    """Raise if most rows with a text name no speaker, which would leave them out.

    :raises CorpusError: if over half of the rows name nobody.
    """
    spoken = [values for values in sample if cell_text(values.get(text or "")).strip()]
    nameless = [values for values in spoken if not speaker_of(values)]
    if 2 * len(nameless) > len(spoken):
        names = [name for name in columns_in(spoken) if name != speaker]
        raise CorpusError(
            f"{path}: column {speaker!r} names no speaker in {len(nameless)} of {len(spoken)} rows with a text; "
            f"expected a speaker in most. Name another column with --speaker COLUMN{closest([spoken], names, text)}, "
            "or the speaker of these rows with --speaker-of-blank NAME."
        )


def closest(groups: Sequence[Values], names: Sequence[str], text: str | None) -> str:
    """Return the readings that come closest, as options in brackets; "" without any."""
    candidates = [name for name in names if name != text]
    likely = dict.fromkeys([*side_columns(groups, candidates), *turn_takers(groups, candidates)])
    shown = [f"--speaker {name!r} ({_examples(groups, name)})" for name in list(likely)[:READINGS]]
    return f" (closest: {'; '.join(shown)})" if shown else ""


def _examples(groups: Sequence[Values], name: str) -> str:
    values = Counter(as_name(turn.get(name)) for group in groups for turn in group)
    return ", ".join(repr(value[:20]) for value, _ in values.most_common(3) if value)


def wide_columns(names: Sequence[str]) -> list[str]:
    """Return the columns of a table that has one turn per column: `turn_1`, `turn_2`, `turn_3`."""
    stems = Counter(re.sub(r"[_ ]?\d+$", "", plain(name)) for name in names if re.search(r"\d$", name))
    stem = next((stem for stem, times in stems.items() if times > 2 and stem), None)
    return [name for name in names if stem and re.fullmatch(rf"{re.escape(stem)}[_ ]?\d+", plain(name))]


def require_columns(named: dict[str, tuple[str, ...]], names: Sequence[str], path: Path) -> None:
    """Raise if a column that the user named is missing."""
    for meaning, wanted in named.items():
        for name in wanted:
            if name not in names:
                raise CorpusError(
                    f"{path} has no column {name!r} (--{meaning}).{did_you_mean(name, names)} "
                    f"It has {_listed(names)}. Correct --{meaning}, or leave it out."
                )


def require_one_meaning(options: Options, among: Sequence[str], path: Path) -> None:
    """Raise if the user named a column for two meanings."""
    meanings: dict[str, str] = {}
    for meaning, names in options.named.items():
        for name in names if meaning in among else ():
            if name in meanings:
                raise CorpusError(
                    f"{path}: column {name!r} is named by --{meanings[name]} and by --{meaning}; expected one meaning "
                    "for each column. Name another column, or leave one of the two out."
                )
            meanings[name] = meaning


NAMELESS_FILE = " If it names nobody, export it with speakers: tools for speech call this diarization."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:12])
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown or "no columns"


def unknown(meaning: str, sample: Values, names: Sequence[str], path: Path, where: str, readings: str) -> CorpusError:
    """Return the error for a meaning that no column is known to have."""
    wide = wide_columns(names)
    cause = f", and {_listed(wide)} hold one turn each; put these into rows of their own" if wide else ""
    blank = [name for name in names if sample and not any(cell_text(values.get(name)).strip() for values in sample)]
    cause += f", of which {_listed(blank)} {'is' if len(blank) == 1 else 'are'} blank" if blank else ""
    missing = f"{path}: no column of {where} is known to hold the {meaning}"
    if lists := lists_inside(sample):
        return CorpusError(f"{missing}. {lists}")
    return CorpusError(
        f"{missing}; there are {_listed(names)}{cause}. Name it with --{meaning} COLUMN{readings}, or, if one cell "
        f"holds a whole dialogue, name that with --turns COLUMN.{NAMELESS_FILE if meaning == 'speaker' else ''}"
    )


def lists_inside(sample: Values) -> str:
    """Return sentences on the lists of objects in records, each with an example, and what to do; "" without any."""
    lists = {path: item for values in sample[:READINGS] for path, item in reversed(list(_lists(values, "")))}
    shown = [f"{path} with {', '.join(_example(*field) for field in item.items())}" for path, item in lists.items()]
    if not shown:
        return ""
    # A path that begins in another list is read inside the objects of that one.
    first = next(iter(lists)).removesuffix("[]").rpartition("[].")[2]
    return (
        f"Its records hold lists of objects: {'; '.join(shown[: 2 * READINGS])}. Name the one with the turns by "
        f"--turns, such as --turns {first!r}, and its speakers and texts by --speaker and --text."
    )


def _lists(value: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path and the first object of each list of objects in a value, the outer ones first."""
    if isinstance(value, list) and value and isinstance(value[0], dict) and value[0]:
        yield f"{path}[]", value[0]
        yield from _lists(value[0], f"{path}[]")
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from _lists(inner, f"{path}.{key}".lstrip("."))


def _example(name: str, value: Any) -> str:
    if isinstance(value, str):
        shown = repr(value) if len(value) <= LONG_TEXT else "a text"
    else:
        shown = "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else repr(value)
    return f"{name[:40]} ({shown})"


def no_header(sample: Values, names: Sequence[str], path: Path, options: Options) -> CorpusError:
    """Return the error for a table none of whose columns is known."""
    remedy = "Name them with --id, --speaker and --text, or with --turns if one holds whole dialogues"
    if lists := lists_inside(sample):
        return CorpusError(f"{path}: none of its fields has a known name, such as conversation_id or speaker. {lists}")
    if not options.header:
        return CorpusError(
            f"{path}:1: the contents of its {len(names)} columns are unknown, and without a header they have no names; "
            f"expected their numbers, from 1 on. {remedy}."
        )
    if all(value in ("", None, [], {}) for values in sample for value in values.values()):
        return CorpusError(f"{path} holds only blank fields ({_listed(names)}); expected dialogues. Export it again.")
    table = ".js" not in path.name
    header = ", or, if the first row names no columns, use --no-header and their numbers" if table else ""
    return CorpusError(
        f"{path}:1: none of its {len(names)} columns has a known name; expected names such as "
        f"conversation_id, speaker, text. {remedy}{header}."
    )


def nested_turns(name: str, turns: str, path: Path) -> CorpusError:
    """Return the error for turns that hold further turns, of which only some are one conversation."""
    return CorpusError(
        f"{path}: the turns in column {turns!r} hold further turns in {name!r}; expected one list of turns. "
        f"Describe the tree in a recipe (docs/recipes.md), or take only the upper ones by --turns {turns}."
    )
