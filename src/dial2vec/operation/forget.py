"""Forgetting dialogues: out of the data, whatever was computed from it, DVC's cache and remote, and collections.

The plan is made by looking: every file of the project is searched for the words of the dialogues. A note with these
dialogues is written first and removed last, so that a killed call is continued by the next one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml

from conversations.dialogue import Dialogue, dialogue_from_record, read_dialogues
from conversations.files import atomic_path, read_json, transcript_files, write_json
from dial2vec.collection.collection_folder import MANIFEST
from dial2vec.collection.forgetting import forget_in_collection, map_or_table_holds
from dial2vec.data.corpora.transcripts import LABELS, read_labels
from dial2vec.data.traces import holds, traces_of, without_dialogues, without_label_rows
from dial2vec.errors import CorpusError, did_you_mean
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.project.dvc import add_data
from dial2vec.project.dvc_cache import (
    cache_folder,
    directory_entries,
    object_path,
    remote_folder,
    remove_objects,
    used_hashes,
)
from dial2vec.registry.old_versions import trainings

# Folders of a project that hold no dialogues.
OTHERS = (".venv", ".git", "src", "flows", "docs", "tests", "node_modules", "__pycache__")
# Folders with vectors of dialogues, in artifacts/<corpus>; they are made again.
VECTORS = ("vectors", "teacher_vectors", "teacher_vectors_dev", "on_dev", "checkpoints", "adaptation", "distilling")
# Outputs of stages with words of dialogues, in artifacts/<corpus>. A model and its tokenizer only have words.
TEXTS = (
    *("dialogues.jsonl", "quarantine.jsonl", "validation.json", "validation.html", "splits", "splits.json"),
    *("selection.json", "report.html", "profile.json"),
)
EXAMPLES = ("input_example.json", "serving_input_example.json")
NEUTRAL = {"dialogue_id": "example", "turns": [{"speaker": "a", "text": "hello"}, {"speaker": "b", "text": "hello"}]}


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What forgetting some dialogues does.

    :param dialogues: the dialogues, by id.
    :param rewritten: files that lose these dialogues and keep the others.
    :param removed: files and folders that are removed; a run makes them again.
    :param examples: examples of registered versions that are replaced by a neutral one.
    :param objects: objects in DVC's cache and, if asked for, in its remote.
    :param collections: collections that are made again without them.
    :param left: files that hold a dialogue and are left to people.
    :param unread: files that cannot be read, so that nobody can say.
    :param versions: registered versions whose data held a dialogue.
    :param unknown: registered versions whose data is no longer here.
    """

    corpus: str
    dialogues: dict[str, Dialogue]
    rewritten: list[Path]
    removed: list[Path]
    examples: list[Path]
    objects: list[Path]
    collections: tuple[Path, ...]
    left: list[Path]
    unread: list[Path]
    versions: list[str]
    unknown: list[str]

    def lines(self, root: Path) -> Iterable[str]:
        """Yield the plan for people, with paths relative to the project."""
        owners = {path: _collection_of(path, root) for path in self.left}
        for title, paths in (
            ("without it from now on", self.rewritten),
            ("removed; `dial2vec run` makes them again", self.removed),
            ("the example of a registered version, replaced", self.examples),
            ("removed from DVC", self.objects),
            ("made again without it", self.collections),
            ("LEFT, edit or remove it yourself", [path for path, folder in owners.items() if not folder]),
            ("LEFT, cannot be read: damaged, encrypted or without permission", self.unread),
        ):
            for path in paths:
                yield f"  {_shown(path, root)}  ({title})"
        for folder in dict.fromkeys(filter(None, owners.values())):
            shown = _shown(folder, root)
            yield f"  {shown}  (LEFT, a collection; with --collection {shown} it is made again without it)"
        if self.versions:
            chosen = " ".join(f"--version {number}" for number in self.versions)
            yield f"Versions trained on data with it: {', '.join(self.versions)}. `dial2vec run` trains without it."
            yield f"Then remove them: dial2vec prune {self.corpus} {chosen} --yes"
        if self.unknown:
            yield f"Versions whose data is no longer here, so nobody can say: {', '.join(self.unknown)}."


def plan_forget(
    root: Path, corpus: str, ids: Sequence[str], *, collections: Sequence[Path] = (), remote: bool = False
) -> ForgetPlan:
    """Find everything in a project that holds some dialogues.

    :param corpus: name of a corpus of one's own.
    :param ids: ids of dialogues of the corpus.
    :param collections: folders of collections that lose the dialogues too.
    :param remote: True to look into DVC's remote too, if it is a folder.
    :raises CorpusError: if the corpus has no data, or no dialogue with such an id.
    """
    dialogues, others = _find(root, corpus, ids)
    traces = traces_of(list(dialogues.values()), others)
    artifacts, data = root / "artifacts" / corpus, root / "data" / corpus
    cache, far = cache_folder(root), remote_folder(root) if remote else None
    removed = [artifacts / name for name in VECTORS if (artifacts / name).exists()]
    skipped = (*removed, cache, remote_folder(root), _note(root, corpus), *(path.resolve() for path in collections))
    rewritten: list[Path] = []
    examples: list[Path] = []
    left: list[Path] = []
    unread: list[Path] = []
    held = partial(holds, unread=unread)
    own = (traces.words, traces.ids)
    for path in _files(root, skipped):
        if path.is_relative_to(data) or path.is_relative_to(artifacts / "import"):
            labelled = path == data / LABELS and bool(read_labels(path).keys() & dialogues.keys())
            rewritten += [path] if labelled or held(path, *own) else []
        elif path.is_relative_to(artifacts):
            removed += [path] if path.relative_to(artifacts).parts[0] in TEXTS and held(path, *own) else []
        elif path.is_relative_to(root / "inbox" / "imported" / corpus):
            removed += [path] if held(path, traces.words) else []
        elif path.is_relative_to(root / "mlruns" / "artifacts"):
            if path.name in EXAMPLES or path.suffix == ".html":
                (examples if path.name in EXAMPLES else removed).extend([path] if held(path, traces.words) else [])
        elif held(path, traces.turns) or map_or_table_holds(path, traces.turns, set(dialogues)):
            left.append(path)
    folders = [folder for folder in (cache, far) if folder]
    objects = [path for folder in folders for path in folder.glob("??/*") if held(path, traces.words)]
    knew, unknown = _who_knew(root, corpus, cache, {path.parent.name + path.name for path in objects})
    given = tuple(collections)
    return ForgetPlan(corpus, dialogues, rewritten, removed, examples, objects, given, left, unread, knew, unknown)


def forget(root: Path, plan: ForgetPlan) -> None:
    """Carry out a plan. Call it with the checkout locked; a killed call is continued by the next one.

    :raises Dial2vecError: if a file cannot be written, or DVC cannot version the data.
    """
    corpus, ids = plan.corpus, set(plan.dialogues)
    write_json(_note(root, corpus), [dialogue.to_record() for dialogue in plan.dialogues.values()])
    for path in plan.rewritten:
        without_label_rows(path, ids) if path.name == LABELS else without_dialogues(path, ids)
    add_data(root)
    for path in plan.removed:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for path in plan.examples:
        _replace_example(path)
    _remove_objects(root, corpus, plan.objects)
    for folder in plan.collections:
        forget_in_collection(folder, ids)
    record = {"versions": plan.versions, "unknown": plan.unknown, "dialogues": len(ids)}
    write_json(root / "artifacts" / corpus / "forgotten.json", record)
    _note(root, corpus).unlink()


def _collection_of(path: Path, root: Path) -> Path | None:
    """Return the folder of the collection in a project to which a file belongs; None outside collections."""
    within = [folder for folder in path.parents if folder.is_relative_to(root)]
    return next((folder for folder in reversed(within) if (folder / MANIFEST).is_file()), None)


def _shown(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path


def _find(root: Path, corpus: str, ids: Sequence[str]) -> tuple[dict[str, Dialogue], list[Dialogue]]:
    """Return the dialogues with these ids, and the other ones of the corpus."""
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
    if unknown := [name for name in ids if name not in wanted]:
        hint = did_you_mean(unknown[0], [dialogue.dialogue_id for dialogue in others[:10_000]])
        raise CorpusError(f"{folder} has no dialogue {unknown[0]!r}; expected one of its {len(others)} ids.{hint}")
    return wanted, others


def _files(root: Path, without: Iterable[Path | None]) -> Iterable[Path]:
    """Yield the files of a project outside folders that hold no dialogues."""
    skipped = {path for path in without if path}
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
    for training in trainings(root, corpus):
        entries = directory_entries(cache, training.data_hash) if cache else []
        files = {entry["md5"] for entry in entries if entry["relpath"].startswith(f"{corpus}/")}
        if files & holding:
            knew.append(training.version)
        elif cache is None or not files or not all(object_path(cache, md5).is_file() for md5 in files):
            unknown.append(training.version)
    return knew, unknown


def _replace_example(path: Path) -> None:
    example = [NEUTRAL] if path.name == "input_example.json" else {"inputs": [NEUTRAL]}
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(example), encoding="utf-8")


def _remove_objects(root: Path, corpus: str, objects: Sequence[Path]) -> None:
    """Remove objects that are no part of the present data, of a model, or of another corpus."""
    cache, lock = cache_folder(root), root / "dvc.lock"
    if cache is None:
        return
    records = [(root / "data.dvc").read_text(encoding="utf-8")]
    stages = yaml.safe_load(lock.read_text(encoding="utf-8")).get("stages", {}) if lock.is_file() else {}
    texts = {f"artifacts/{corpus}/{name}" for name in TEXTS}
    outs = [out for stage in stages.values() for out in stage.get("outs", ()) if out["path"] not in texts]
    used = used_hashes(root, cache, (), records=[*records, yaml.safe_dump(outs)])
    remove_objects(cache, [path for path in objects if path.parent.name + path.name not in used])


def _note(root: Path, corpus: str) -> Path:
    return root / "artifacts" / corpus / ".forgetting.json"
