"""What dial2vec last saw of a registry: a tag of its experiment, and a copy in the project folder.

The tag shows what people have changed in MLflow since. The copy shows that the whole registry was replaced, by an older
backup or by nothing, because the tag is then replaced too.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from conversations.files import read_json, write_json
from dial2vec.errors import ArtifactError
from dial2vec.registry import corpus_of

TAG = "dial2vec.seen"


@dataclass(frozen=True, slots=True)
class Seen:
    """State of a model in the registry.

    :param model: creation time of the registered model in milliseconds, which a new name does not change; 0 for none.
    :param number: number of the latest decision.
    :param lost: numbers of decisions whose runs are gone.
    :param champion: version with the alias `champion`; "" for none.
    :param candidate: versions that may have the alias `candidate`: two while stage register moves it.
    :param versions: all versions.
    :param stages: version -> stage, without stage "None".
    :param gone: versions whose files are gone.
    """

    model: int = 0
    number: int = 0
    lost: tuple[int, ...] = ()
    champion: str = ""
    candidate: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    stages: dict[str, str] = field(default_factory=dict)
    gone: tuple[str, ...] = ()

    def to_tag(self) -> str:
        """Return the state as JSON; consecutive versions and numbers become one range, because tags are short."""
        record = asdict(self) | {"versions": _ranges([*map(int, self.versions)]), "lost": _ranges(list(self.lost))}
        return json.dumps(record, separators=(",", ":"))


def last_seen(tags: Mapping[str, str]) -> Seen:
    """Return the state in the tags of an experiment; an empty one if there is none, or if it cannot be read."""
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
        record: dict[str, Any] = json.loads(tags[TAG])
        record["versions"] = tuple(map(str, _numbers(record["versions"])))
        record["lost"] = tuple(_numbers(record["lost"]))
        for key in ("candidate", "gone"):
            record[key] = tuple(record[key])
        return Seen(**record)
    return Seen()


def seen_here(root: Path, corpus: str) -> Seen:
    """Return what this project folder last saw; an empty state if it never saw anything."""
    with contextlib.suppress(ArtifactError, TypeError, KeyError):
        record = read_json(_copy(root, corpus))
        return Seen(number=int(record["number"]), champion=str(record["champion"]))
    return Seen()


def keep_here(root: Path, corpus: str, seen: Seen) -> None:
    """Keep in the project folder how far the history went, and who was champion."""
    before = seen_here(root, corpus)
    if (before.number, before.champion) != (seen.number, seen.champion):
        write_json(_copy(root, corpus), {"number": seen.number, "champion": seen.champion})


def _copy(root: Path, corpus: str) -> Path:
    ending = corpus.removeprefix(corpus_of(corpus))
    return root / "artifacts" / corpus_of(corpus) / f"registry{ending}.json"


def _ranges(numbers: list[int]) -> str:
    """Return [1, 2, 3, 7] as "1-3,7"."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in parts)


def _numbers(ranges: str) -> list[int]:
    ends = [part.partition("-") for part in ranges.split(",") if part]
    return [number for first, _, last in ends for number in range(int(first), int(last or first) + 1)]
