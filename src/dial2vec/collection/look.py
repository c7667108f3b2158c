"""From an export to a collection in one step: read, encode, cluster, name; unchanged exports are not read again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

from conversations.dialogue import read_dialogues, write_dialogues, write_quarantine
from conversations.files import read_json, write_json
from conversations.formats.addresses import as_address, without_secrets
from conversations.formats.formats import stem
from conversations.in_pieces import Content, Given, read_in_pieces
from conversations.options import Options
from conversations.progress import bar_to, counted, waiting
from conversations.reading import Export, holds_dialogues, read_export
from conversations.redaction import Masks, join_and_mask
from conversations.summary import import_summary
from conversations.writing import Places, quarantine_known_ids, write_import
from dial2vec.collection.adding import add, content_of
from dial2vec.collection.clustering import Clusters
from dial2vec.collection.clustering.clustering import cluster, clustering_steps
from dial2vec.collection.clustering.clusters import read_clusters
from dial2vec.collection.clustering.decisions import path_of
from dial2vec.collection.clustering.known import TOPICS
from dial2vec.collection.collection_folder import LENSES, MANIFEST, CollectionFolder, readable
from dial2vec.collection.explorer.better import take_over
from dial2vec.collection.explorer.maps import maps_of
from dial2vec.collection.lenses.as_encoder import dialogues_with_values, encoder_of
from dial2vec.data.workers import in_processes, spread
from dial2vec.encoder.advice import encoder_advice
from dial2vec.encoder.folder import is_student
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import ArtifactError, CorpusError
from dial2vec.files import folder_lock

# Hidden, because a new collection must be in an otherwise empty folder.
OWN = ".look"
# Dialogues from which a process of its own draws the map: it takes a second to start, and memory.
FEWEST_APART = 10_000
# What people wrote, while the collection is made again.
KEPT, WRITTEN = f"{OWN}/kept", ("notes.jsonl", TOPICS)


@dataclass(frozen=True, slots=True)
class LookReading:
    """How an export is read.

    :param model: Name or folder of the encoder.
    :param options: Overrides for the guesses about the export.
    :param masks: Options for masking; None masks nothing.
    :param merge_turns: True if consecutive turns of one speaker become one turn.
    :param adapted: True if the vectors are adapted to the dialogues.
    :param sample: Number of dialogues to draw at random; None takes all.
    :param better: Encoder whose page replaces the first one later; "" for none.
    :param lenses: Lenses of the collection that the export is, whose probabilities are the vectors; () for none.
    """

    model: str
    options: Options = field(default_factory=Options)
    masks: Masks | None = None
    merge_turns: bool = False
    adapted: bool = True
    sample: int | None = None
    better: str = ""
    lenses: tuple[str, ...] = ()


def look_into(
    folder: Path, source: Path, reading: LookReading, *, say: Callable[[str], object], turns: bool = True
) -> CollectionFolder:
    """Make a folder the collection of an export, and return the collection.

    If the export or its reading has changed, its dialogues replace those of the collection; dialogues that are the same
    word for word keep their vectors, and groups people's decisions, if no dialogue was changed or removed. A killed run
    resumes.

    :param folder: Empty or missing folder, or one that this function made.
    :param source: Export, a file or a folder; a `.jsonl` file of dialogues is read as it is.
    :param turns: Also index the turns, as `add` does.
    :raises CorpusError: if the export cannot be read, or has no usable dialogue.
    :raises ArtifactError: if the folder holds anything else.
    :raises BusyError: if another process works in the folder.
    """
    if folder.exists() and not (folder / OWN).is_dir() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArtifactError(
            f"{folder} exists and was not made by `dial2vec look`, which would replace what is in it; expected a new "
            "folder. Name one: --output FOLDER."
        )
    address = as_address(source)
    if not address and not source.exists():
        raise CorpusError(f"{source} does not exist; expected a file or folder of conversations. Check the path.")
    if source.resolve() in (folder.resolve(), *folder.resolve().parents):
        raise CorpusError(
            f"{folder} lies in {source}, so the next look would read it as an export; expected a folder outside. "
            "Name one: --output FOLDER."
        )
    of_lenses = None
    if reading.lenses:
        of_lenses = encoder_of(CollectionFolder(source), reading.lenses, folder / "model")
    record = folder / OWN / "record.json"
    known: dict[str, Any] = {} if address else {"state": _state(source, reading)}
    state = known | {
        "source": without_secrets(address or str(source)),
        "reading": json.loads(json.dumps(asdict(reading))),
    }
    with folder_lock(folder / OWN, "looks into"):
        take_over(folder)
        with suppress(ArtifactError):
            if not address and read_json(record) == state | {"done": True}:
                say(f"{source} is unchanged since {folder} was made from it")
                return CollectionFolder(folder)
        transcripts = _dialogues(folder / OWN, source, reading, say)
        with waiting("loading the encoder"):
            # Once the better page has replaced the first one, new dialogues join it.
            replaced = reading.better and (folder / MANIFEST).exists() and not is_student(folder / "model")
            encoder = of_lenses or load_encoder(reading.better if replaced else reading.model)
        if advice := encoder_advice(read_dialogues(transcripts, quarantine=[]), encoder):
            say(advice)
        _keep_if_same(folder, transcripts, encoder.fingerprint(), say)
        imported = transcripts != source
        added = add(folder, transcripts, encoder=encoder, turns=turns, adapted=reading.adapted, imported=imported)
        if added.adapted:
            say(added.adapted)
        _move_written(folder / KEPT, folder)
        if added.quarantine:
            say(f"{added.quarantine} records cannot be used; the reasons are in {added.quarantine_file}")
        write_json(record, state | {"done": True})
        return CollectionFolder(folder)


def last_look(folder: Path) -> tuple[Path, LookReading]:
    """Return the export that a folder was made from by `look_into`, and how it was read.

    :raises ArtifactError: if `look_into` did not make the folder, or has not ended.
    """
    path = folder / OWN / "record.json"
    with readable(path, f"; expected the record of a whole look. Run `dial2vec look` with --output {folder}."):
        record = read_json(path)
        reading = _tuples(record["reading"])
        options, masks = Options(**_tuples(reading["options"])), reading["masks"] and Masks(**_tuples(reading["masks"]))
        return Path(record["source"]), LookReading(**reading | {"options": options, "masks": masks})


def _tuples(record: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in record.items()}


def clusters_of(collection: CollectionFolder) -> Clusters | None:
    """Return the clusters of a collection, made if they are missing or old; None if it has fewer than 2 dialogues."""
    existing = read_clusters(collection)
    if existing and existing[0].seen == len(collection):
        return existing[0]
    if len(collection) < 2:
        return None
    with bar_to(clustering_steps(), "groups") as bar:
        return cluster(collection, done=bar.update)


@contextmanager
def drawing(collection: CollectionFolder) -> Iterator[None]:
    """Draw the map of a collection while the block runs, if it is large, and else at its end.

    :raises Dial2vecError: at the end, if the map cannot be made.
    """
    if len(collection) < FEWEST_APART:
        yield
        maps_of(collection)
        return
    failed: list[Exception] = []

    def draw() -> None:
        try:
            # In a process: a thread would wait for each piece of Python that the groups need.
            list(in_processes(_draw, [collection.folder], count=2))
        except Exception as error:
            failed.append(error)

    waits = Thread(target=draw, daemon=True)
    waits.start()
    yield
    with waiting("map"):
        waits.join()
    if failed:
        raise failed[0]


def _draw(folder: Path) -> None:
    maps_of(CollectionFolder(folder), progress=False)


def _state(source: Path, reading: LookReading) -> list[str]:
    """Return texts that change if the export, its reading or this library changes."""
    files = sorted(path for path in source.rglob("*") if path.is_file()) if source.is_dir() else [source]
    sizes = ((path, path.stat()) for path in files)
    return [version("dial2vec"), repr(reading), *(f"{path} {at.st_size} {at.st_mtime_ns}" for path, at in sizes)]


def _dialogues(work: Path, source: Path, reading: LookReading, say: Callable[[str], object]) -> Path:
    """Return a file of dialogues: the source itself, or what its import writes."""
    if replace(reading, adapted=True, better="") == LookReading(reading.model) and holds_dialogues(source):
        return source
    file = work / f"{stem(source)}.jsonl"
    for old in (path for path in work.iterdir() if path.is_file() and path.name not in (".lock", "record.json")):
        old.unlink()
    if reading.lenses:
        write_dialogues(file, dialogues_with_values(CollectionFolder(source), reading.lenses))
        return file
    places = Places(Path.cwd(), "", source, redacted=reading.masks is not None, file=file)
    export = None if reading.masks or as_address(source) else _in_pieces(source, file, reading)
    if export is None:
        return _at_once(source, places, reading, say)
    say(f"{import_summary(export, None)}\n")
    if export.result.quarantine:
        write_quarantine(places.quarantine, export.result.quarantine)
        say(f"Reasons of the quarantined dialogues: {places.quarantine}")
    return file


def _in_pieces(source: Path, file: Path, reading: LookReading) -> Export | None:
    """Read a large table by all processors into a file; None if it has to be read at once."""

    def spread_shown(work: Callable[[Given], Content], given: Sequence[Given]) -> Iterable[Content]:
        return counted(spread(work, given, n_parts=len(given), fewest=1), "pieces", total=len(given))

    return read_in_pieces(
        source, file, reading.options, merge_turns=reading.merge_turns, spread=spread_shown, sample=reading.sample
    )


def _at_once(source: Path, places: Places, reading: LookReading, say: Callable[[str], object]) -> Path:
    export = read_export(source, reading.options)
    redactor = join_and_mask(export.result, reading.masks, name=places.name, merge_turns=reading.merge_turns)
    quarantine_known_ids(export.result, places)
    export.result.draw(reading.sample)
    say(f"{import_summary(export, redactor)}\n")
    write_import(export.result, places, redactor)
    if export.result.quarantine:
        say(f"Reasons of the quarantined dialogues: {places.quarantine}")
    return places.output


def _move_written(folder: Path, target: Path) -> None:
    for path in (*(folder / name for name in WRITTEN), *(folder / LENSES).glob("*.examples.csv")):
        if path.exists():
            place = target / path.relative_to(folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            path.replace(place)


def _keep_if_same(folder: Path, transcripts: Path, fingerprint: str, say: Callable[[str], object]) -> None:
    """Empty the folder unless its collection has this encoder, and only dialogues that the file has word for word.

    What people wrote is kept aside: decisions name groups that are made again, and all else comes back.
    """
    if not (folder / MANIFEST).exists():
        return
    collection = CollectionFolder(folder)
    rows = collection.rows
    known = dict(zip(rows["dialogue_id"].to_pylist(), rows["content"].to_pylist(), strict=True))
    read = read_dialogues(transcripts, quarantine=[])
    same = sum(known.get(dialogue.dialogue_id) == content_of(dialogue) for dialogue in read)
    if collection.manifest.fingerprint == fingerprint and same == len(known):
        return
    kept = folder / KEPT
    kept.mkdir(exist_ok=True)
    _move_written(folder, kept)
    if (decisions := path_of(folder)).exists():
        place = next(path for n in count(1) if not (path := kept / f"curation-{n}.yaml").exists())
        decisions.rename(place)
        say(f"Dialogues have changed, so the groups are made again; your decisions about the old ones are in {place}")
    for path in folder.iterdir():
        if path.name != OWN:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
