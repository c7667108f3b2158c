"""What people decide about clusters: a small file, `curation.yaml` in the folder of a collection, and its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from conversations.files import write_text
from dial2vec.errors import ArtifactError

ACTIONS = ("rename", "merge", "split", "pin", "hide", "move")
HEAD = """\
# What people decided about the clusters of this collection, oldest first. `dial2vec curate` writes this file.
# Name and terms are those of the cluster when it was decided. You may remove entries;
# `dial2vec cluster` applies the rest.
"""


@dataclass(frozen=True, slots=True)
class Edit:
    """A decision about one cluster.

    :param action: one of `ACTIONS`.
    :param name: name of the cluster at that time.
    :param terms: first terms of the cluster at that time.
    :param date: day of the decision, ISO 8601.
    :param to: new name, for rename.
    :param other: id of the cluster that joins the first, for merge.
    :param other_name: name of that cluster at that time; for move, of the cluster that the dialogue was in.
    :param dialogue: id of the dialogue that joins the cluster, for move.
    """

    action: str
    cluster: int
    name: str = ""
    terms: tuple[str, ...] = ()
    date: str = ""
    to: str | None = None
    other: int | None = None
    other_name: str | None = None
    dialogue: str | None = None

    @property
    def words(self) -> str:
        """The decision by names: 'rename “Cards” to “Lost cards”'."""
        topic = f"“{self.name}”"
        forms = {"rename": f"rename {topic} to “{self.to}”", "merge": f"let “{self.other_name}” join {topic}"}
        forms["move"] = f"move {self.dialogue} from “{self.other_name}” to {topic}"
        return forms.get(self.action, f"{self.action} {topic}")

    def __str__(self) -> str:
        """Return the decision by ids, such as `merge 3 7`."""
        if self.action == "move":
            return f"move {self.dialogue} {self.cluster}"
        more = f' "{self.to}"' if self.action == "rename" else f" {self.other}" if self.action == "merge" else ""
        return f"{self.action} {self.cluster}{more}"


@dataclass(frozen=True, slots=True)
class Decisions:
    """All decisions about the clusters of a collection.

    :param lineage: `Clusters.lineage` of the clusters; ids of another lineage stand for other clusters.
    :param made: oldest first.
    """

    lineage: str = ""
    made: tuple[Edit, ...] = ()


@dataclass(slots=True)
class Decided:
    """Clusters after all decisions.

    :param owners: id of the cluster of each fine topic, [m].
    :param split_off: id of each fine topic as a cluster of its own, and place of the decision that split it off;
        (-1, -1) if none did, [m].
    :param names: names that people gave, by id.
    :param parts: ids of clusters that are parts of others, or what a split left of one.
    :param moves: id of the cluster of each dialogue that was moved, by the dialogue's id.
    :param problems: sentence by the place of each decision that cannot be applied.
    """

    owners: list[int]
    split_off: list[tuple[int, int]]
    ids: list[int]
    names: dict[int, str] = field(default_factory=dict)
    parts: set[int] = field(default_factory=set)
    hidden: set[int] = field(default_factory=set)
    pinned: set[int] = field(default_factory=set)
    moves: dict[str, int] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)


def path_of(folder: Path) -> Path:
    """Return the file of decisions in the folder of a collection."""
    return folder / "curation.yaml"


def read_decisions(folder: Path) -> Decisions:
    """Read the decisions in the folder of a collection; none if there is no file.

    :raises ArtifactError: if the file cannot be read or an entry is no decision.
    """
    path = path_of(folder)
    if not path.exists():
        return Decisions()
    try:
        record = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        made = tuple(_decision(entry) for entry in record.get("decisions") or [])
        return Decisions(str(record.get("lineage", "")), made)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError) as error:
        raise ArtifactError(
            f"{path} cannot be read ({' '.join(str(error).split())}); expected the entries that `dial2vec curate` "
            "writes. Mend the entry, or remove it."
        ) from error


def write_decisions(folder: Path, decisions: Decisions) -> None:
    """Write the decisions into the folder of a collection, atomically."""
    entries = []
    for edit in decisions.made:
        known = {key: value for key, value in asdict(edit).items() if value is not None}
        entries.append({known.pop("action"): known.pop("cluster")} | known | {"terms": list(edit.terms)})
    record = {"lineage": decisions.lineage, "decisions": entries}
    text = yaml.safe_dump(record, allow_unicode=True, sort_keys=False, default_flow_style=None, width=120)
    write_text(path_of(folder), HEAD + text)


def _decision(entry: Any) -> Edit:
    actions = [key for key in entry if key in ACTIONS]
    if len(actions) != 1:
        raise ValueError(f"found an entry with {', '.join(map(str, entry))}; expected one of {', '.join(ACTIONS)}")
    [action] = actions
    fields = {key: value for key, value in entry.items() if key != action}
    needed = {"rename": "to", "merge": "other", "move": "dialogue"}.get(action)
    if needed and fields.get(needed) is None:
        raise ValueError(f"the entry {action} {entry[action]} has no {needed}")
    if fields.get("dialogue") is not None:
        # Written by hand, an id of digits is read as a number.
        fields["dialogue"] = str(fields["dialogue"])
    terms, date = (str(term) for term in fields.pop("terms", ())), str(fields.pop("date", ""))
    decision = Edit(action, entry[action], terms=tuple(terms), date=date, **fields)
    for number in (decision.cluster, *(() if decision.other is None else (decision.other,))):
        if not isinstance(number, int) or isinstance(number, bool):
            raise ValueError(f"found {number!r} in the entry {action}; expected the id of a cluster")
    return decision


def apply_decisions(
    owners: Sequence[int], split_off: Sequence[tuple[int, int]], ids: Sequence[int], made: Sequence[Edit], next_id: int
) -> Decided:
    """Apply decisions to clusters, one after the other; the same input gives the same clusters.

    A cluster is a set of fine topics. `merge` joins two sets, `split` makes each fine topic a cluster: the first edit
    keeps the id, another one gets its id of `split_off`, or a new one. A fine topic that this split set apart earlier
    is set apart again, even if a new clustering found it in another cluster. `move` puts one dialogue into a cluster,
    whatever its fine topic is, and it stays with this cluster's id. A decision about a cluster that is gone is not
    applied.

    :param owners: id of the found cluster of each fine topic, [m].
    :param split_off: result of the same decisions applied earlier, as in `Decided`.
    :param ids: ids of all found clusters.
    :param next_id: smallest id that no cluster ever had.
    """
    now = Decided(list(owners), [(-1, -1)] * len(owners), list(ids))
    # The id of a cluster stays with this fine topic, whatever joins it or is split off.
    anchors: dict[int, int] = {}
    for place, id in enumerate(owners):
        anchors.setdefault(id, place)
    mentioned = [number for edit in made for number in (edit.cluster, edit.other) if number is not None]
    fresh = max([next_id, *(number + 1 for number in (*mentioned, *(id for id, _ in split_off), *ids))])
    pinned = {edit.cluster for edit in made if edit.action == "pin"}
    steps: Mapping[str, Callable[[Decided, Edit], None]] = {
        "rename": _rename, "merge": _merge, "pin": _pin, "hide": _hide, "move": _move,
    }  # fmt: skip
    for number, edit in enumerate(made):
        if edit.other is not None and edit.other not in now.ids and edit.cluster in pinned & set(now.ids):
            # The pin has kept the two together.
            continue
        gone = [id for id in (edit.cluster, edit.other) if id is not None and id not in now.ids]
        if gone:
            now.problems[number] = f"cluster {gone[0]} is gone"
        elif edit.cluster == edit.other:
            now.problems[number] = "a cluster cannot join itself"
        elif edit.cluster in {"hide": now.hidden, "pin": now.pinned}.get(edit.action, ()):
            now.problems[number] = (
                f"cluster {edit.cluster} is {'hidden' if edit.action == 'hide' else 'pinned'} already"
            )
        elif edit.action != "split":
            steps[edit.action](now, edit)
        else:
            fresh = _split(now, number, edit.cluster, split_off, anchors, fresh)
    return now


def _split(
    now: Decided, number: int, cluster: int, earlier: Sequence[tuple[int, int]], anchors: dict[int, int], fresh: int
) -> int:
    """Set fine topics apart, and return the next new id."""
    own = [place for place, id in enumerate(now.owners) if id == cluster]
    kept = anchors.setdefault(cluster, own[0]) if own else -1
    elsewhere = [place for place, (_, origin) in enumerate(earlier) if origin == number and place not in own]
    apart, before = [place for place in own if place != kept], len(now.ids)
    for place in apart + elsewhere:
        owner, (id, origin) = now.owners[place], now.split_off[place]
        if id < 0:
            id, origin = earlier[place][0], number
        # The last fine topic of a cluster stays: it is that cluster.
        if place in elsewhere and (id in now.ids or now.owners.count(owner) == 1):
            continue
        if id < 0 or id in now.ids:
            id, fresh = fresh, fresh + 1
        now.split_off[place], now.owners[place], anchors[id] = (id, origin), id, place
        if anchors[owner] == place:
            anchors[owner] = now.owners.index(owner)
        now.ids.append(id)
        now.parts |= {id, cluster}
    if len(now.ids) == before:
        now.problems[number] = f"cluster {cluster} has no fine topics into which it could be split"
        return fresh
    now.names.pop(cluster, None)
    now.pinned.discard(cluster)
    return fresh


def _rename(now: Decided, edit: Edit) -> None:
    now.names[edit.cluster] = str(edit.to)


def _merge(now: Decided, edit: Edit) -> None:
    now.owners[:] = [edit.cluster if id == edit.other else id for id in now.owners]
    now.ids[:] = [id for id in now.ids if id != edit.other]
    for kept in (now.hidden, now.pinned, now.parts):
        kept -= {edit.other}
    now.names = {id: name for id, name in now.names.items() if id != edit.other}
    now.moves = {dialogue: edit.cluster if id == edit.other else id for dialogue, id in now.moves.items()}


def _pin(now: Decided, edit: Edit) -> None:
    now.pinned.add(edit.cluster)
    now.names.setdefault(edit.cluster, edit.name)


def _hide(now: Decided, edit: Edit) -> None:
    now.hidden.add(edit.cluster)


def _move(now: Decided, edit: Edit) -> None:
    now.moves[str(edit.dialogue)] = edit.cluster
