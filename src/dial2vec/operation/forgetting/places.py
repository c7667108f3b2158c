"""The places of a project that may hold a dialogue: each function finds what it holds, and how it goes.

Ids tell which files of a corpus hold a dialogue, and receipts of imports which exports brought it. What can be made
again goes unsearched; what has neither id nor receipt is searched for the dialogue's words.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from conversations.dialogue import Dialogue
from conversations.files import atomic_path, read_json, transcript_files, write_json, write_text
from conversations.writing import Places
from dial2vec.collection.collection_folder import MANIFEST, CollectionFolder
from dial2vec.collection.forgetting import dialogues_of_page, forget_in_collection, ids_in, without_dialogues
from dial2vec.config import parts_of
from dial2vec.data.corpora.transcripts import LABELS
from dial2vec.errors import Dial2vecError
from dial2vec.operation.forgetting.traces import Traces
from dial2vec.params import load_operation
from dial2vec.project.dvc_cache import (
    cache_folder,
    damaged_folder,
    object_name,
    other_storage,
    remote_folder,
    remove_objects,
    used_hashes,
)
from dial2vec.registry import EXAMPLES

# Folders of a project that hold no dialogues.
OTHERS = (".venv", ".git", "src", "flows", "docs", "tests", "node_modules", "__pycache__")
# Folders with vectors of dialogues, in artifacts/<corpus>; they are no outputs of stages.
VECTORS = ("vectors", "teacher_vectors", "teacher_vectors_dev", "on_dev", "checkpoints", "adaptation", "distilling")
# Outputs of stages with texts of dialogues or their ids. A model and its tokenizer only have words.
TEXTS = (
    *("dialogues.jsonl", "quarantine.jsonl", "validation.json", "validation.html", "splits", "splits.json"),
    "report.html",
)
# Files of registered versions that are searched; the others are weights and vocabularies.
READABLE = (".json", ".jsonl", ".csv", ".html", ".md", ".txt", ".parquet")
NEUTRAL = {"dialogue_id": "example", "turns": [{"speaker": "a", "text": "hello"}, {"speaker": "b", "text": "hello"}]}


class Held(NamedTuple):
    """Something that holds a dialogue.

    :param place: path, or address of a storage.
    :param fate: sentence on what becomes of it, and on who can remove what is left.
    :param remove: removes the dialogue from it; None if it is left.
    """

    place: Path | str
    fate: str
    remove: Callable[[], object] | None = None


@dataclass(frozen=True)
class Sought:
    """The dialogues to forget, and where they are sought.

    :param dialogues: all versions of them.
    :param words: words and turns that only they have.
    :param turns: turns that only they have.
    :param objects: DVC's objects of the corpus that hold one.
    :param collections: folders of collections outside the project.
    :param remote: True to clear a remote outside the project too.
    """

    root: Path
    corpus: str
    dialogues: Sequence[Dialogue]
    words: Traces
    turns: Traces
    objects: frozenset[str] = frozenset()
    collections: Sequence[Path] = field(default=())
    remote: bool = False

    @cached_property
    def ids(self) -> frozenset[str]:
        """Ids of the dialogues."""
        return frozenset(dialogue.dialogue_id for dialogue in self.dialogues)

    @cached_property
    def holding(self) -> list[Path]:
        """Files of the corpus that hold one of the ids."""
        data, imports = self.root / "data" / self.corpus, self.root / "artifacts" / self.corpus / "import"
        files = [*transcript_files(data), data / LABELS, *sorted(imports.rglob("*.jsonl"))]
        return [path for path in files if path.is_file() and not self.ids.isdisjoint(ids_in(path))]

    @cached_property
    def sure(self) -> bool:
        """True if no other corpus of the project has one of the ids."""
        files = (path for path in (self.root / "data").glob("*/*.jsonl*") if path.parent.name != self.corpus)
        return all(self.ids.isdisjoint(ids_in(path)) for path in files)

    @cached_property
    def imported(self) -> Path:
        """Folder of the exports that were imported from the inbox."""
        return self.root / load_operation(self.root / "operation.yaml").schedule.inbox / "imported" / self.corpus

    @cached_property
    def artifacts(self) -> list[Path]:
        """Folders of what was computed from the corpus, alone or joined with others."""
        return [path for path in (self.root / "artifacts").glob("*") if self.corpus in parts_of(path.name)]

    @cached_property
    def files(self) -> list[Path]:
        """Files and collections of the project that neither an import nor a stage wrote."""
        storage = (cache_folder(self.root), remote_folder(self.root), damaged_folder(self.root))
        skipped = {*self.holding, *self.artifacts, self.imported, *storage}
        folders, files = [self.root], list[Path]()
        for folder in folders:
            for path in sorted(set(folder.iterdir()) - skipped):
                # A link could lead back.
                if path.is_dir() and path.name not in OTHERS and not path.is_symlink():
                    (files if (path / MANIFEST).is_file() else folders).append(path)
                elif path.is_file():
                    files.append(path)
        return files


def inbox(sought: Sought) -> Iterator[Held]:
    """Exports that brought a dialogue, known by the receipts of their imports; another export had it before, too."""
    for export in sorted(sought.imported.glob("*")):
        brought = Places(sought.root, sought.corpus, export)
        written = [path for path in (brought.output, brought.quarantine) if path.exists()]
        if not set(sought.holding).isdisjoint(written) or (not written and sought.words.are_in(export)):
            yield Held(export, "removed", partial(_remove, export))
        elif not written:
            yield Held(export, "NOT SEARCHED: no receipt says what this export brought")


def receipts(sought: Sought) -> Iterator[Held]:
    """Receipts of imports, whose samples may be of the dialogue, and exports outside the inbox that brought it."""
    for path in sought.holding:
        name = path.name.removesuffix(".jsonl").removesuffix(".quarantine")
        record = sought.root / "artifacts" / sought.corpus / "import" / f"{name}.json"
        receipt = read_json(record) if record.is_file() else {}
        if receipt.get("masked"):
            counts = {kind: count | {"samples": []} for kind, count in receipt["masked"].items()}
            yield Held(record, "without its samples", partial(write_json, record, receipt | {"masked": counts}))
        source = Path(receipt.get("source", ""))
        if receipt and source.exists() and source.parent != sought.imported:
            yield Held(source, "LEFT, the export that brought it: remove it yourself")


def artifacts(sought: Sought) -> Iterator[Held]:
    """What the stages and runs kept of single dialogues."""
    for path in (folder / name for folder in sought.artifacts for name in (*TEXTS, *VECTORS)):
        if path.exists():
            yield Held(path, "removed; `dial2vec run` makes it again", partial(_remove, path))


def registry(sought: Sought) -> Iterator[Held]:
    """Examples, pages and tables of MLflow's runs and registered versions."""
    for path in sorted((sought.root / "mlruns" / "artifacts").rglob("*")):
        if path.name in EXAMPLES and sought.words.are_in(path):
            example = [NEUTRAL] if path.name == "input_example.json" else {"inputs": [NEUTRAL]}
            write = partial(write_text, path, json.dumps(example))
            yield Held(path, "the example of a registered version, replaced", write)
        elif path.suffix in READABLE and (sought.words if path.suffix == ".html" else sought.turns).are_in(path):
            yield Held(path, "removed", partial(_remove, path))


def prefect(sought: Sought) -> Iterator[Held]:
    """Lines of Prefect's log, which runs of earlier versions wrote previews of imports into."""
    database = sought.root / ".prefect" / "prefect.db"
    if any(sought.turns.are_in(path) for path in sorted(database.parent.glob("prefect.db*"))):
        yield Held(database, "its log loses the lines", partial(_clean_log, database, sought.turns))
        if others := set(sought.turns.tables_with(database)) - {"log"}:
            yield Held(database, f"LEFT in its tables {', '.join(sorted(others))}: stop the schedule and remove it")


def data(sought: Sought) -> Iterator[Held]:
    """Transcripts, labels and quarantined records of the corpus."""
    for path in sought.holding:
        yield Held(path, "without it from now on", partial(without_dialogues, path, sought.ids))


def storage(sought: Sought) -> Iterator[Held]:
    """Objects of DVC's cache and remote, also of earlier versions of the data, and damaged ones that were set aside."""
    for path in sorted(damaged_folder(sought.root).glob("*")):
        yield Held(path, "a damaged object, which nobody can search: removed", partial(_remove, path))
    cache, far = cache_folder(sought.root), remote_folder(sought.root)
    for folder in filter(None, (cache, far)):
        cleared = folder == cache or sought.remote or folder.is_relative_to(sought.root.resolve())
        fate = "removed from DVC" if cleared else "LEFT in DVC's remote; with --remote it is removed"
        for path in sorted(folder.glob("??/*")):
            if object_name(path) in sought.objects or sought.words.are_in(path):
                yield Held(path, fate, partial(_remove_object, sought, path) if cleared else None)
    for address in other_storage(sought.root):
        yield Held(address, "LEFT, storage of DVC elsewhere, which is not searched: who runs it can remove it")


def collections(sought: Sought) -> Iterator[Held]:
    """Collections of the project that have a dialogue word for word, and those that were named."""
    turns = {dialogue.turns for dialogue in sought.dialogues}
    for folder in sought.collections:
        yield Held(folder, "made again without it", partial(forget_in_collection, folder, sought.ids))
    named = {folder.resolve() for folder in sought.collections}
    for folder in (path for path in sought.files if path.is_dir() and path.resolve() not in named):
        try:
            collection = CollectionFolder(folder)
            rows = [row for name, row in collection.row_of.items() if name in sought.ids]
            held = [dialogue.turns in turns for dialogue in collection.dialogues(rows)]
        # A damaged collection.
        except (Dial2vecError, OSError, ValueError):
            held = [False] if any(sought.turns.are_in(path) for path in sorted(folder.rglob("*"))) else []
        if any(held):
            yield Held(folder, "made again without it", partial(forget_in_collection, folder, sought.ids))
        elif held:
            yield Held(folder, f"LEFT, a collection; with --collection {folder} it is made again without it")


def files(sought: Sought) -> Iterator[Held]:
    """Maps, tables, logs, notes and whatever else is in the project."""
    others = (".prefect/prefect.db", "mlruns/artifacts")
    for path in (path for path in sought.files if path.is_file()):
        name = path.relative_to(sought.root).as_posix()
        if name.startswith(others):
            continue
        page = dialogues_of_page(path) if path.suffix == ".html" else b""
        if path.suffix == ".parquet" and not sought.ids.isdisjoint(ids_of_table(path)):
            fate = (
                "without its rows from now on"
                if sought.sure
                else "LEFT: another corpus has the same id; edit it yourself"
            )
            yield Held(path, fate, partial(_without_rows, path, sought.ids) if sought.sure else None)
        elif page and sought.turns.are_in_text(page):
            yield Held(path, "a map, removed", partial(_remove, path))
        elif (held := sought.turns.are_in(path)) is None:
            yield Held(path, "NOT SEARCHED: a PDF, damaged or closed; look into it yourself")
        elif held:
            yield Held(path, "LEFT, edit or remove it yourself")


# In this order: without the data, no receipt tells which export brought a dialogue.
PLACES = (inbox, receipts, artifacts, registry, prefect, files, data, storage, collections)


def note_of(root: Path, corpus: str) -> Path:
    """Return the file by which a killed call is continued."""
    return root / "artifacts" / corpus / ".forgetting.json"


def ids_of_table(path: Path) -> set[str]:
    """Return the ids in a table with the column `dialogue_id`; none for another file."""
    try:
        return set(pq.read_table(path, columns=["dialogue_id"])["dialogue_id"].to_pylist())
    except (OSError, ValueError, KeyError):
        return set()


def _without_rows(path: Path, ids: frozenset[str]) -> None:
    table = pq.read_table(path)
    rows = pc.invert(pc.is_in(table["dialogue_id"], pa.array(sorted(ids))))
    with atomic_path(path) as temporary:
        pq.write_table(table.filter(rows), temporary)


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _clean_log(database: Path, turns: Traces) -> None:
    try:
        with closing(sqlite3.connect(database, timeout=60)) as prefect_log, prefect_log:
            prefect_log.create_function("holds", 1, turns.are_in_text)
            prefect_log.execute("DELETE FROM log WHERE holds(message)")
            prefect_log.commit()
            # Deleted rows stay in a file until it is written again.
            prefect_log.execute("VACUUM")
            prefect_log.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        raise Dial2vecError(
            f"the log in {database} cannot be cleaned ({error}). Stop `dial2vec schedule` and call this again."
        ) from error


def _remove_object(sought: Sought, path: Path) -> None:
    """Remove an object unless it is part of the present data, of a model, or of another corpus."""
    root = sought.root
    cache, lock = cache_folder(root) or remote_folder(root), root / "dvc.lock"
    if cache is None:
        return
    records = [(root / "data.dvc").read_text(encoding="utf-8")]
    stages = yaml.safe_load(lock.read_text(encoding="utf-8")).get("stages", {}) if lock.is_file() else {}
    texts = {f"artifacts/{sought.corpus}/{name}" for name in TEXTS}
    outs = [out for stage in stages.values() for out in stage.get("outs", ()) if out["path"] not in texts]
    if object_name(path) not in used_hashes(root, cache, (), records=[*records, yaml.safe_dump(outs)]):
        remove_objects(cache, [path])
