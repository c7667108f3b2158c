"""Hits of a search, and near-duplicates, as text for a terminal and as records for programs."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from conversations.dialogue import Dialogue
from conversations.words import printable
from dial2vec.collection.search.search import Hit

if TYPE_CHECKING:
    from dial2vec.collection.search.near_duplicates import NearDuplicates

# Members of a group of near-duplicates shown on a terminal.
SHOWN = 5
BOLD, PLAIN = "\033[1m", "\033[0m"


def hits_as_text(hits: Sequence[Hit], *, bold: bool, width: int | None = None) -> str:
    """Return the hits and their turns as text, as wide as the terminal, with cosines if the hits are in their order.

    :param bold: True to print the turn with the highest contribution in bold; False to mark it by `>`.
    """
    width = width or min(shutil.get_terminal_size().columns, 120)
    cosines = [hit.cosine for hit in hits]
    in_order = cosines == sorted(cosines, reverse=True)
    return "\n".join(
        line for place, hit in enumerate(hits, start=1) for line in _lines(place, hit, in_order, bold, width)
    )


def _lines(place: int, hit: Hit, in_order: bool, bold: bool, width: int) -> list[str]:
    about = printable(", ".join([*hit.labels, *([hit.date] if hit.date else [])]))
    cosine = f"{hit.cosine:.3f}  " * in_order
    lines = [f"{place:3d}. {cosine}{printable(hit.dialogue_id)}{f'  ({about})' if about else ''}"]
    best = max((turn.contribution for turn in hit.turns), default=0.0)
    for turn in sorted(hit.turns, key=lambda turn: turn.number):
        marked = turn.contribution == best
        text = textwrap.shorten(
            printable(f"{turn.number + 1}. {turn.speaker}: {turn.text}"), width - 9, placeholder=" ..."
        )
        mark = ">" if marked and not bold else " "
        lines.append(f"     {mark} {BOLD}{text}{PLAIN}" if marked and bold else f"     {mark} {text}")
    return lines


def hit_as_record(hit: Hit) -> dict[str, Any]:
    """Return a hit as a JSON record; turns are numbered from 0."""
    turns = [
        {"turn": turn.number, "speaker": turn.speaker, "text": turn.text, "contribution": round(turn.contribution, 6)}
        for turn in hit.turns
    ]
    record = {"dialogue_id": hit.dialogue_id, "cosine": round(hit.cosine, 6), "labels": list(hit.labels)}
    record["way"] = hit.way
    return record | {"date": hit.date, "turns": turns} | ({"metadata": dict(hit.metadata)} if hit.metadata else {})


def near_duplicates_as_text(place: int, group: NearDuplicates, first: Dialogue, *, width: int | None = None) -> str:
    """Return a group of near-duplicates as text: the opening of its first dialogue, then ids and similarities.

    :param place: place of the group, from 1.
    """
    width = width or min(shutil.get_terminal_size().columns, 120)
    opening = printable(" / ".join(turn.text for turn in first.turns[:3]))
    members = list(zip(group.dialogue_ids, group.similarities, strict=True))[1:]
    lines = [f"{place:3d}. {len(group.dialogue_ids)} dialogues like {printable(group.dialogue_ids[0])}"]
    lines.append(f"       {textwrap.shorten(opening, width - 7, placeholder=' ...')}")
    lines += [f"       {similarity:.2f}  {printable(name)}" for name, similarity in members[:SHOWN]]
    return "\n".join(lines + ([f"       and {len(members) - SHOWN} more"] if len(members) > SHOWN else []))


def near_duplicates_as_record(group: NearDuplicates) -> dict[str, Any]:
    """Return a group of near-duplicates as a JSON record, with all of its dialogues."""
    members = zip(group.dialogue_ids, group.similarities, strict=True)
    dialogues = [{"dialogue_id": name, "similarity": round(similarity, 6)} for name, similarity in members]
    return {"size": len(dialogues), "dialogues": dialogues}
