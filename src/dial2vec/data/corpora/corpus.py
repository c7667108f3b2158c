"""Interface of corpus readers, and functions that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from conversations.dialogue import Dialogue, Origin, Quarantined, RecordError, dialogue_from_record
from dial2vec.config import Read
from dial2vec.errors import CorpusError

Splitting = Literal["official", "shuffled", "hashed", "joint"]
Raw = TypeVar("Raw")
Made = TypeVar("Made")
Kind = TypeVar("Kind", dict[str, Any], list[Any], str)
# Names of JSON's types in errors; any other type is a number.
KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}


class Corpus(Protocol):
    """Reader of one corpus.

    :param options: Block `read` of params.yaml; each reader uses its own keys.
    :param url: Upstream archive, or None if there is nothing to download.
    :param splitting: "official" (dialogues name their split), "shuffled" (seeded shuffle of sorted ids, exact shares,
        for corpora that never change), "hashed" (a hash of the id decides, so dialogues keep their split when others
        arrive, for growing corpora) or "joint" (several corpora, each divided as alone).
    """

    url: ClassVar[str | None]
    splitting: ClassVar[Splitting]

    def __init__(self, options: Read) -> None: ...

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues in `folder` (`data/<corpus>`); unusable records go to `quarantine`.

        :raises CorpusError: if the files are missing or damaged.
        """
        ...

    def missing(self, folder: Path) -> list[str]:
        """Return the upstream names of missing files; empty if the corpus is complete."""
        ...


def usable(
    records: Iterable[tuple[Origin, Raw]],
    convert: Callable[[Raw], dict[str, Any]],
    *,
    name: Callable[[Raw], str],
    quarantine: list[Quarantined],
) -> Iterator[Dialogue]:
    """Convert upstream records to dialogues one by one; invalid records and repeated ids go to `quarantine`.

    :param convert: Function to the form that `dialogue_from_record` takes; raises `RecordError` or `KeyError`.
    :param name: Function that returns the id of an invalid record, or "".
    """
    seen: set[str] = set()

    def dialogue_of(record: Raw, origin: Origin) -> Dialogue:
        dialogue = dialogue_from_record(convert(record), origin=origin)
        if dialogue.dialogue_id in seen:
            raise RecordError(f"the id {dialogue.dialogue_id!r} came before")
        seen.add(dialogue.dialogue_id)
        return dialogue

    return converted(records, dialogue_of, name=name, quarantine=quarantine)


def converted(
    records: Iterable[tuple[Origin, Raw]],
    convert: Callable[[Raw, Origin], Made],
    *,
    name: Callable[[Raw], str],
    quarantine: list[Quarantined],
) -> Iterator[Made]:
    """Convert upstream records one by one; those for which `convert` raises go to `quarantine`.

    :param convert: Function that raises `RecordError` or `KeyError` if a record is invalid.
    :param name: Function that returns the id of an invalid record, or "".
    """
    for origin, record in records:
        try:
            yield convert(record, origin)
        except (RecordError, KeyError) as error:
            reason = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
            # JSON can hold half of a character, which cannot be written.
            invalid = name(record)[:200].encode("utf-8", "replace").decode()
            quarantine.append(Quarantined(origin, invalid, reason))


def at_least_one(items: Iterable[Made], error: CorpusError | None) -> Iterator[Made]:
    """Yield items, and raise an error, unless it is None, if there are none."""
    empty = True
    for item in items:
        empty = False
        yield item
    if empty and error is not None:
        raise error


def expect(value: object, kind: type[Kind], name: str) -> Kind:
    """Return a value if it has the expected type.

    :param name: Name of the value in errors, such as `'turns'`.
    :raises RecordError: if it has another type.
    """
    if not isinstance(value, kind):
        raise RecordError(f"{name} must be {KINDS[kind]}, found {KINDS.get(type(value), 'a number')}")
    return value


def id_below(group: str, upstream: object, name: str) -> str:
    """Return `<group>/<upstream id>`, because upstream ids may be unique only within a split or a domain.

    :param group: Beginning of the id; "" for none.
    :param name: Name of the upstream id in errors, such as `'dialogue_id'`.
    :raises RecordError: if the upstream id is no string or is blank.
    """
    if not expect(upstream, str, name).strip():
        raise RecordError(f"{name} is blank")
    return f"{group}/{upstream}" if group else str(upstream)


def known_id(group: str, content: object, key: str) -> str:
    """Return `<group>/<upstream id>` of a record that may be no dialogue; "" if it has no id.

    :param group: Beginning of the id; "" for none.
    """
    if not isinstance(content, dict) or key not in content:
        return ""
    return f"{group}/{content[key]}" if group else str(content[key])


def literal(names: Iterable[str]) -> dict[str, str]:
    """Return file name -> regular expression of that name."""
    return {name: name.replace(".", r"\.") for name in names}
