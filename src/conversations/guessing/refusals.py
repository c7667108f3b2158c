"""Errors for columns that are missing, named twice or unknown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conversations.errors import CorpusError, did_you_mean
from conversations.guessing.plausibility import wide_columns
from conversations.options import Options


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


def unknown(meaning: str, names: Sequence[str], path: Path, where: str, readings: str) -> CorpusError:
    """Return the error for a meaning that no column is known to have."""
    wide = wide_columns(names)
    cause = f", and {_listed(wide)} hold one turn each; put these into rows of their own" if wide else ""
    return CorpusError(
        f"{path}: no column of {where} is known to hold the {meaning}; there are {_listed(names)}{cause}. "
        f"Name it with --{meaning} COLUMN{readings}, or, if one cell holds a whole dialogue, name that with "
        f"--turns COLUMN.{NAMELESS_FILE if meaning == 'speaker' else ''}"
    )


def no_header(names: Sequence[str], path: Path, options: Options) -> CorpusError:
    """Return the error for a table none of whose columns is known."""
    remedy = "Name them with --id, --speaker and --text, or with --turns if one holds whole dialogues"
    if not options.header:
        return CorpusError(
            f"{path}:1: the contents of its {len(names)} columns are unknown, and without a header they have no names; "
            f"expected their numbers, from 1 on. {remedy}."
        )
    table = ".json" not in path.name
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


def threads_without_id(parent: str, path: Path) -> CorpusError:
    """Return the error for rows that are linked to dialogues, but have no id of a dialogue."""
    return CorpusError(
        f"{path}: rows name the row that they answer ({parent!r}), and no column tells the dialogues apart; expected "
        "an id of the dialogue in each row. Name its column by --id, or add one."
    )
