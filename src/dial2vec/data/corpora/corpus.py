"""What a corpus reader offers to the stages, and what the readers have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from dial2vec.config import Read
from dial2vec.dialogue import Dialogue, Origin, Quarantined, RecordError, dialogue_from_record
from dial2vec.errors import CorpusError

Splitting = Literal["official", "shuffled", "hashed"]
Raw = TypeVar("Raw")
Kind = TypeVar("Kind", dict[str, Any], list[Any], str)
# JSON's types as a person would name them; what is not here is a number.
KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}


class Corpus(Protocol):
    """One corpus: where it comes from and how its files become dialogues.

    :param options: block `read` of params.yaml; each reader takes from it what is its own.
    :param url: upstream archive, or None when there is nothing to download.
    :param splitting: "official" (each dialogue carries its split), "shuffled" (seeded shuffle over sorted ids, exact
        shares: for closed benchmark corpora) or "hashed" (each id decides by itself, so a dialogue keeps its split
        when new ones arrive: for corpora that grow).
    """

    url: ClassVar[str | None]
    splitting: ClassVar[Splitting]

    def __init__(self, options: Read) -> None: ...

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues found in `folder` (`data/<corpus>`); what cannot be used goes to `quarantine`.

        :raises CorpusError: when the files are missing or damaged.
        """
        ...

    def missing(self, folder: Path) -> list[str]:
        """Return the upstream files that are not there, by their upstream names; empty when complete."""
        ...


def usable(
    records: Iterable[tuple[Origin, Raw]],
    convert: Callable[[Raw], dict[str, Any]],
    *,
    name: Callable[[Raw], str],
    quarantine: list[Quarantined],
) -> Iterator[Dialogue]:
    """Convert upstream records one by one; one that is no dialogue, or whose id came before, is quarantined.

    :param convert: to the form that `dialogue_from_record` takes; raises `RecordError`, or `KeyError` where one lacks.
    :param name: the id of a record that could not be converted, as far as it can be told.
    """
    seen: set[str] = set()
    for origin, record in records:
        try:
            dialogue = dialogue_from_record(convert(record), origin=origin)
            if dialogue.dialogue_id in seen:
                raise RecordError(f"the id {dialogue.dialogue_id!r} came before")
        except (RecordError, KeyError) as error:
            reason = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
            # Half of a character, which JSON can spell, could not be written down.
            told = name(record)[:200].encode("utf-8", "replace").decode()
            quarantine.append(Quarantined(origin, told, reason))
            continue
        seen.add(dialogue.dialogue_id)
        yield dialogue


def at_least_one(dialogues: Iterable[Dialogue], error: CorpusError) -> Iterator[Dialogue]:
    """Yield dialogues, and raise an error if there are none."""
    empty = True
    for dialogue in dialogues:
        empty = False
        yield dialogue
    if empty:
        raise error


def expect(value: object, kind: type[Kind], what: str) -> Kind:
    """Return `value`, which upstream has as an object, a list or a string.

    :param what: its name in an error, such as `'turns'`.
    :raises RecordError: saying what was found instead.
    """
    if not isinstance(value, kind):
        raise RecordError(f"{what} must be {KINDS[kind]}, found {KINDS.get(type(value), 'a number')}")
    return value


def id_below(group: str, upstream: object, what: str) -> str:
    """Return `<group>/<upstream id>`: upstream ids are only certain to be unique within a split, or a domain.

    :param what: the name of the upstream id in an error, such as `'dialogue_id'`.
    :raises RecordError: when the upstream id is no string, or blank.
    """
    if not expect(upstream, str, what).strip():
        raise RecordError(f"{what} is blank")
    return f"{group}/{upstream}"
