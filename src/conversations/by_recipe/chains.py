"""Chains of messages or of requests, each of which names the one before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conversations.formats.records import Record


def first_of(name: str, parents: dict[str, str]) -> str:
    """Return the message that a message answers, directly or not, and shorten the ways to it."""
    path = dict.fromkeys([name])
    while (name := parents.get(name, "")) and name not in path:
        path[name] = None
    first = next(reversed(path))
    parents |= dict.fromkeys(path, first) | {first: ""}
    return first


def chained(turns: Sequence[Record]) -> Iterator[Record]:
    """Yield the turns of requests, each with the dialogue of the first request of its chain.

    :param turns: Plain records, with the ids of the request and of the one before it as `link`.
    """
    links = [turn.values["link"] for turn in turns if "link" in turn.values]
    parents = dict(links)
    ids = {turn.values["link"][0]: turn.values["id"] for turn in turns if "link" in turn.values}
    for turn in turns:
        first = first_of(turn.values["link"][0], parents) if "link" in turn.values else ""
        yield turn._replace(values=turn.values | {"id": ids.get(first, first)}) if first else turn
