"""Forgetting dialogues: all places are asked first, then each removes what it holds.

A note with the dialogues is written first and removed last, so that a killed call is continued by the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from conversations.dialogue import Dialogue, dialogue_from_record, read_dialogues
from conversations.files import read_json, transcript_files, write_json
from dial2vec.errors import CorpusError, did_you_mean
from dial2vec.operation.forgetting import places
from dial2vec.operation.forgetting.places import Held, Sought, note_of
from dial2vec.operation.forgetting.traces import traces_of
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.project.dvc import add_data
from dial2vec.project.dvc_cache import (
    cache_folder,
    directory_entries,
    earlier_files,
    object_name,
    object_path,
    remote_folder,
)
from dial2vec.registry.old_versions import trainings


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What forgetting some dialogues does.

    :param held: files and folders that each place holds, in the order in which it goes.
    :param versions: registered versions whose data held a dialogue.
    :param unknown: registered versions whose data is no longer here.
    """

    sought: Sought
    held: dict[str, list[Held]]
    versions: list[str]
    unknown: list[str]

    def lines(self) -> Iterator[str]:
        """Yield the plan for people, with paths relative to the project; what is left comes last."""
        yield from self._shown(left=False)
        yield from self.left()

    def left(self) -> Iterator[str]:
        """Yield what is left, and who can remove it."""
        yield from self._shown(left=True)
        if self.versions:
            chosen = " ".join(f"--version {number}" for number in self.versions)
            yield f"Versions trained on data with it: {', '.join(self.versions)}. `dial2vec run` trains without it."
            yield f"Then remove them: dial2vec prune {self.sought.corpus} {chosen} --yes"
        if self.unknown:
            yield f"Versions whose data is no longer here, so nobody can say: {', '.join(self.unknown)}."

    def _shown(self, *, left: bool) -> Iterator[str]:
        root = self.sought.root
        every = (held for each in self.held.values() for held in each if (held.remove is None) == left)
        for place, fate in dict.fromkeys((held.place, held.fate) for held in every):
            shown = place.relative_to(root) if isinstance(place, Path) and place.is_relative_to(root) else place
            yield f"  {shown}  ({fate.replace(f'{root}/', '')})"

    def done(self) -> str:
        """Return what was done, and what is left in DVC's remote."""
        ids = sorted(self.sought.ids)
        done = "1 dialogue is forgotten." if len(ids) == 1 else f"{len(ids)} dialogues are forgotten."
        if not any("--remote" in held.fate for held in self.held["storage"]):
            return done
        again = f"dial2vec forget {self.sought.corpus} {' '.join(map(quote, ids))} --remote --yes"
        return f"{done} Copies are LEFT in DVC's remote; to remove them: {again}"


def plan_forget(
    root: Path, corpus: str, ids: Sequence[str], *, collections: Sequence[Path] = (), remote: bool = False
) -> ForgetPlan:
    """Find everything in a project that holds some dialogues.

    :param corpus: name of a corpus of one's own.
    :param collections: folders of collections outside the project that lose the dialogues too.
    :param remote: True to clear DVC's remote too, if it is a folder; one inside the project is always cleared.
    :raises CorpusError: if the corpus has no data, or no dialogue with such an id.
    """
    dialogues, others, objects = _find(root, corpus, ids)
    words, turns = traces_of(dialogues, others)
    sought = Sought(root, corpus, dialogues, words, turns, objects, collections, remote)
    held = {place.__name__: list(place(sought)) for place in places.PLACES}
    gone = {object_name(each.place) for each in held["storage"] if isinstance(each.place, Path)}
    return ForgetPlan(sought, held, *_who_knew(root, corpus, gone))


def forget(plan: ForgetPlan, say: Callable[[str], object]) -> None:
    """Carry out a plan. Call it with the checkout locked; a killed call is continued by the next one.

    :raises Dial2vecError: if a file cannot be written, or DVC cannot version the data.
    """
    sought = plan.sought
    note = note_of(sought.root, sought.corpus)
    write_json(note, [dialogue.to_record() for dialogue in sought.dialogues])
    for place, held in plan.held.items():
        for each in held:
            if each.remove:
                each.remove()
        if place == places.data.__name__:
            add_data(sought.root)
    say(plan.done())
    for line in plan.left():
        say(line)
    note.unlink()


def _find(root: Path, corpus: str, ids: Sequence[str]) -> tuple[list[Dialogue], list[Dialogue], frozenset[str]]:
    """Return the dialogues with these ids in all versions, the others of the corpus, and DVC's objects with the ids."""
    folder, note = Artifacts(root, corpus).data, note_of(root, corpus)
    if not folder.is_dir():
        raise CorpusError(f"there is no data of corpus '{corpus}' in {folder}. Name a corpus of data/.")
    versions = [dialogue_from_record(record) for record in read_json(note)] if note.is_file() else []
    wanted, others = {*ids, *(dialogue.dialogue_id for dialogue in versions)}, list[Dialogue]()
    for path in transcript_files(folder):
        for dialogue in read_dialogues(path, quarantine=[], may_be_empty=True):
            (versions if dialogue.dialogue_id in wanted else others).append(dialogue)
    objects: dict[str, list[Dialogue]] = {}
    for path in earlier_files(filter(None, (cache_folder(root), remote_folder(root))), f"{corpus}/"):
        # Of a file that is no transcript.
        with suppress(CorpusError):
            if object_name(path) not in objects:
                old = read_dialogues(path, quarantine=[], may_be_empty=True)
                objects[object_name(path)] = [dialogue for dialogue in old if dialogue.dialogue_id in wanted]
    versions += [dialogue for old in objects.values() for dialogue in old]
    if unknown := [name for name in ids if all(dialogue.dialogue_id != name for dialogue in versions)]:
        hint = did_you_mean(unknown[0], [dialogue.dialogue_id for dialogue in others[:10_000]])
        raise CorpusError(f"{folder} has no dialogue {unknown[0]!r}; expected one of its {len(others)} ids.{hint}")
    return list(dict.fromkeys(versions)), others, frozenset(name for name, old in objects.items() if old)


def _who_knew(root: Path, corpus: str, holding: set[str]) -> tuple[list[str], list[str]]:
    """Return the versions whose data held a dialogue, and those whose data is gone."""
    cache = cache_folder(root)
    knew, unknown = [], []
    for version, data_hash in trainings(root, corpus).items():
        entries = directory_entries(cache, data_hash) if cache else []
        files = {entry["md5"] for entry in entries if entry["relpath"].startswith(f"{corpus}/")}
        if files & holding:
            knew.append(version)
        elif cache is None or not files or not all(object_path(cache, md5).is_file() for md5 in files):
            unknown.append(version)
    return knew, unknown
