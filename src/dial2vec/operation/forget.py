"""Forgetting dialogues: out of the data, what was computed from it, DVC's storage, the inbox and collections.

Ids tell which files of a corpus hold a dialogue, and receipts of imports which exports brought it. What has neither is
searched for its words. A note with the dialogues is written first and removed last, so that a killed call is continued
by the next one.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from shlex import quote

import yaml

from conversations.dialogue import Dialogue, dialogue_from_record, read_dialogues
from conversations.files import read_json, transcript_files, write_json, write_text
from conversations.writing import Places
from dial2vec.collection.collection_folder import MANIFEST
from dial2vec.collection.forgetting import forget_in_collection, ids_in, map_or_table_holds, without_dialogues
from dial2vec.config import parts_of
from dial2vec.data.corpora.transcripts import LABELS
from dial2vec.errors import CorpusError, did_you_mean
from dial2vec.operation.traces import holds, traces_of
from dial2vec.params import load_operation
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.project.dvc import add_data
from dial2vec.project.dvc_cache import (
    cache_folder,
    directory_entries,
    earlier_files,
    object_name,
    object_path,
    other_storage,
    remote_folder,
    remove_objects,
    used_hashes,
)
from dial2vec.registry import EXAMPLES
from dial2vec.registry.old_versions import trainings

# Folders of a project that hold no dialogues.
OTHERS = (".venv", ".git", "src", "flows", "docs", "tests", "node_modules", "__pycache__")
# Folders with vectors of dialogues, in artifacts/<corpus>; they are no outputs of stages.
VECTORS = ("vectors", "teacher_vectors", "teacher_vectors_dev", "on_dev", "checkpoints", "adaptation", "distilling")
# Outputs of stages with texts of dialogues or their ids. A model and its tokenizer only have words.
TEXTS = (
    *("dialogues.jsonl", "quarantine.jsonl", "validation.json", "validation.html", "splits", "splits.json"),
    "report.html",
)
NEUTRAL = {"dialogue_id": "example", "turns": [{"speaker": "a", "text": "hello"}, {"speaker": "b", "text": "hello"}]}


class Fate(StrEnum):
    """What becomes of a place that holds a dialogue; the plan lists the places in this order."""

    REWRITTEN = "without it from now on"
    COMPUTED = "removed; `dial2vec run` makes it again"
    REMOVED = "removed"
    EXAMPLE = "the example of a registered version, replaced"
    OBJECT = "removed from DVC"
    COLLECTION = "made again without it"
    LEFT = "LEFT, edit or remove it yourself"
    LEFT_COLLECTION = "LEFT, a collection; with --collection {} it is made again without it"
    LEFT_EXPORT = "LEFT, the export that brought it"
    LEFT_IN_REMOTE = "LEFT in DVC's remote; with --remote it is removed"
    NOT_SEARCHED = "NOT SEARCHED: packed, not in UTF-8, damaged or closed"
    NO_RECEIPT = "NOT SEARCHED: no receipt says what this export brought"


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What forgetting some dialogues does.

    :param places: files and folders, by what becomes of them.
    :param elsewhere: addresses of DVC's storage that cannot be searched from here.
    :param versions: registered versions whose data held a dialogue.
    :param unknown: registered versions whose data is no longer here.
    """

    corpus: str
    dialogues: dict[str, Dialogue]
    places: dict[Fate, list[Path]]
    elsewhere: list[str]
    versions: list[str]
    unknown: list[str]

    def lines(self, root: Path) -> Iterator[str]:
        """Yield the plan for people, with paths relative to the project."""
        for fate, paths in self.places.items():
            for path in dict.fromkeys(paths):
                shown = path.relative_to(root) if path.is_relative_to(root) else path
                yield f"  {shown}  ({fate.format(shown)})"
        for address in self.elsewhere:
            yield f"  {address}  (LEFT, storage of DVC elsewhere, which is not searched)"
        if self.versions:
            chosen = " ".join(f"--version {number}" for number in self.versions)
            yield f"Versions trained on data with it: {', '.join(self.versions)}. `dial2vec run` trains without it."
            yield f"Then remove them: dial2vec prune {self.corpus} {chosen} --yes"
        if self.unknown:
            yield f"Versions whose data is no longer here, so nobody can say: {', '.join(self.unknown)}."

    def done(self) -> str:
        """Return what was done, and what is left in DVC's remote."""
        number = len(self.dialogues)
        done = "1 dialogue is forgotten." if number == 1 else f"{number} dialogues are forgotten."
        if not self.places[Fate.LEFT_IN_REMOTE]:
            return done
        again = f"dial2vec forget {self.corpus} {' '.join(map(quote, self.dialogues))} --remote --yes"
        return f"{done} Copies are LEFT in DVC's remote; to remove them: {again}"


def plan_forget(
    root: Path, corpus: str, ids: Sequence[str], *, collections: Sequence[Path] = (), remote: bool = False
) -> ForgetPlan:
    """Find everything in a project that holds some dialogues.

    :param corpus: name of a corpus of one's own.
    :param collections: folders of collections that lose the dialogues too.
    :param remote: True to clear DVC's remote too, if it is a folder; one inside the project is always cleared.
    :raises CorpusError: if the corpus has no data, or no dialogue with such an id.
    """
    cache, far = cache_folder(root), remote_folder(root)
    dialogues, others = _find(root, corpus, ids, [folder for folder in (cache, far) if folder])
    words, turns = traces_of(list(dialogues.values()), others)
    places: dict[Fate, list[Path]] = {fate: [] for fate in Fate}
    places[Fate.COLLECTION] += collections
    artifacts = [path for path in (root / "artifacts").glob("*") if corpus in parts_of(path.name)]
    places[Fate.COMPUTED] += [
        path for folder in artifacts for name in (*TEXTS, *VECTORS) if (path := folder / name).exists()
    ]
    _by_receipt(root, corpus, dialogues.keys(), places)
    seen = [path for paths in places.values() for path in paths]
    seen += [*artifacts, _imported(root, corpus), *(path.resolve() for path in collections)]
    for path in _files(root, {*seen, cache, far}):
        if not path.is_relative_to(root / "mlruns" / "artifacts"):
            _by_words(root, path, turns, dialogues.keys(), places)
        elif (path.name in EXAMPLES or path.suffix == ".html") and holds(path, words):
            places[Fate.EXAMPLE if path.name in EXAMPLES else Fate.REMOVED].append(path)
    cleared = far and (remote or far.is_relative_to(root.resolve()))
    for folder, fate in ((cache, Fate.OBJECT), (far, Fate.OBJECT if cleared else Fate.LEFT_IN_REMOTE)):
        places[fate] += [path for path in folder.glob("??/*") if holds(path, words)] if folder else []
    held = {object_name(path) for path in places[Fate.OBJECT]}
    return ForgetPlan(corpus, dialogues, places, other_storage(root), *_who_knew(root, corpus, cache, held))


def forget(root: Path, plan: ForgetPlan, say: Callable[[str], object]) -> None:
    """Carry out a plan. Call it with the checkout locked; a killed call is continued by the next one.

    :raises Dial2vecError: if a file cannot be written, or DVC cannot version the data.
    """
    places, note = plan.places, _note(root, plan.corpus)
    write_json(note, [dialogue.to_record() for dialogue in plan.dialogues.values()])
    # Before the data: without it, no receipt tells which export brought a dialogue.
    for path in [*places[Fate.COMPUTED], *places[Fate.REMOVED]]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for path in places[Fate.EXAMPLE]:
        _replace_example(path)
    for path in places[Fate.REWRITTEN]:
        without_dialogues(path, plan.dialogues.keys())
    add_data(root)
    _remove_objects(root, plan.corpus, places[Fate.OBJECT])
    for folder in places[Fate.COLLECTION]:
        forget_in_collection(folder, plan.dialogues.keys())
    say(plan.done())
    note.unlink()


def _find(
    root: Path, corpus: str, ids: Sequence[str], storage: Sequence[Path]
) -> tuple[dict[str, Dialogue], list[Dialogue]]:
    """Return the dialogues with these ids, also of earlier versions in DVC's storage, and the others of the corpus."""
    folder, note = Artifacts(root, corpus).data, _note(root, corpus)
    if not folder.is_dir():
        raise CorpusError(f"there is no data of corpus '{corpus}' in {folder}. Name a corpus of data/.")
    wanted = {}
    if note.is_file():
        wanted = {dialogue.dialogue_id: dialogue for dialogue in map(dialogue_from_record, read_json(note))}
    others = []
    for path in transcript_files(folder):
        for dialogue in read_dialogues(path, quarantine=[], may_be_empty=True):
            if dialogue.dialogue_id in ids or dialogue.dialogue_id in wanted:
                wanted[dialogue.dialogue_id] = dialogue
            else:
                others.append(dialogue)
    absent = set(ids) - wanted.keys()
    for path in earlier_files(storage, f"{corpus}/") if absent else ():
        # Of a file that is no transcript.
        with suppress(CorpusError):
            old = read_dialogues(path, quarantine=[], may_be_empty=True)
            wanted |= {dialogue.dialogue_id: dialogue for dialogue in old if dialogue.dialogue_id in absent}
    if unknown := [name for name in ids if name not in wanted]:
        hint = did_you_mean(unknown[0], [dialogue.dialogue_id for dialogue in others[:10_000]])
        raise CorpusError(f"{folder} has no dialogue {unknown[0]!r}; expected one of its {len(others)} ids.{hint}")
    return wanted, others


def _by_receipt(root: Path, corpus: str, ids: Set[str], places: dict[Fate, list[Path]]) -> None:
    """Find the files of a corpus with one of these ids, and the exports that brought them."""
    data, imports = root / "data" / corpus, root / "artifacts" / corpus / "import"
    files = [*transcript_files(data), data / LABELS, *sorted(imports.rglob("*.jsonl"))]
    holding = [path for path in files if path.is_file() and not ids.isdisjoint(ids_in(path))]
    places[Fate.REWRITTEN] += holding
    for export in sorted(_imported(root, corpus).glob("*")):
        brought = Places(root, corpus, export)
        # The ids that another export had brought before are in the quarantine.
        written = [path for path in (brought.output, brought.quarantine) if path.exists()]
        if not written:
            places[Fate.NO_RECEIPT].append(export)
        elif not set(holding).isdisjoint(written):
            places[Fate.REMOVED].append(export)
    for path in holding:
        record = imports / f"{path.name.removesuffix('.jsonl').removesuffix('.quarantine')}.json"
        if record.is_file() and (source := Path(read_json(record)["source"])).exists():
            places[Fate.LEFT_EXPORT].append(source)


def _by_words(root: Path, path: Path, turns: re.Pattern[bytes], ids: Set[str], places: dict[Fate, list[Path]]) -> None:
    """Look for the turns of dialogues in a file that neither an import nor a stage wrote."""
    held = map_or_table_holds(path, turns, ids)
    held = holds(path, turns) if held is None else held
    within = [folder for folder in path.parents if folder.is_relative_to(root) and (folder / MANIFEST).is_file()]
    if held:
        places[Fate.LEFT_COLLECTION if within else Fate.LEFT].append(within[-1] if within else path)
    elif held is None and not within:
        places[Fate.NOT_SEARCHED].append(path)


def _files(root: Path, skipped: set[Path | None]) -> Iterable[Path]:
    """Yield the files of a project outside folders that hold no dialogues."""
    folders = [root]
    while folders:
        for path in sorted(folders.pop().iterdir()):
            if path in skipped:
                continue
            if path.is_dir():
                # A link could lead back.
                if path.name not in OTHERS and not path.is_symlink():
                    folders.append(path)
            elif path.is_file():
                yield path


def _who_knew(root: Path, corpus: str, cache: Path | None, holding: set[str]) -> tuple[list[str], list[str]]:
    """Return the versions whose data held a dialogue, and those whose data is gone."""
    knew, unknown = [], []
    for version, data_hash in trainings(root, corpus).items():
        entries = directory_entries(cache, data_hash) if cache else []
        files = {entry["md5"] for entry in entries if entry["relpath"].startswith(f"{corpus}/")}
        if files & holding:
            knew.append(version)
        elif cache is None or not files or not all(object_path(cache, md5).is_file() for md5 in files):
            unknown.append(version)
    return knew, unknown


def _replace_example(path: Path) -> None:
    example = [NEUTRAL] if path.name == "input_example.json" else {"inputs": [NEUTRAL]}
    write_text(path, json.dumps(example))


def _remove_objects(root: Path, corpus: str, objects: Sequence[Path]) -> None:
    """Remove objects that are no part of the present data, of a model, or of another corpus."""
    cache, lock = cache_folder(root) or remote_folder(root), root / "dvc.lock"
    if cache is None:
        return
    records = [(root / "data.dvc").read_text(encoding="utf-8")]
    stages = yaml.safe_load(lock.read_text(encoding="utf-8")).get("stages", {}) if lock.is_file() else {}
    texts = {f"artifacts/{corpus}/{name}" for name in TEXTS}
    outs = [out for stage in stages.values() for out in stage.get("outs", ()) if out["path"] not in texts]
    used = used_hashes(root, cache, (), records=[*records, yaml.safe_dump(outs)])
    remove_objects(cache, [path for path in objects if object_name(path) not in used])


def _imported(root: Path, corpus: str) -> Path:
    return root / load_operation(root / "operation.yaml").schedule.inbox / "imported" / corpus


def _note(root: Path, corpus: str) -> Path:
    return root / "artifacts" / corpus / ".forgetting.json"
