"""Adding dialogues to a collection: encode, append, then record the addition."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import count, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from conversations.dialogue import (
    Dialogue,
    Origin,
    Quarantined,
    dialogue_writer,
    dialogues_of_lines,
    read_dialogues,
    write_quarantine,
)
from conversations.files import atomic_path
from conversations.words import words
from dial2vec.collection.adapting.fitting import adapt
from dial2vec.collection.collection_folder import (
    MANIFEST,
    ROWS,
    Addition,
    CollectionFolder,
    Manifest,
    append_blocks,
    rows_file,
)
from dial2vec.collection.embedding.embed import FEWEST_PARTS, embed_file
from dial2vec.collection.embedding.shards import Shard, files_of, shards_of
from dial2vec.collection.search.moments import update_moments
from dial2vec.data.metadata import packed_metadata
from dial2vec.data.workers import spread
from dial2vec.encoder.checksums import note
from dial2vec.encoder.folder import is_lens
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.protocol import Encoder
from dial2vec.errors import ArtifactError, CorpusError
from dial2vec.files import folder_lock


@dataclass(frozen=True, slots=True)
class Added:
    """Result of `add`.

    :param dialogues: number of new dialogues.
    :param existing: number of dialogues that were in the collection already, word for word.
    :param quarantine: number of records that cannot be used.
    :param quarantine_file: list of these records with reasons; None if there are none.
    :param adapted: sentence on the adaptation of the vectors; empty if none was asked for.
    """

    dialogues: int
    existing: int
    quarantine: int
    quarantine_file: Path | None
    adapted: str = ""


def add(
    folder: Path,
    transcripts: Path,
    *,
    encoder: Encoder,
    batch_size: int = 32,
    progress: bool = True,
    turns: bool = True,
    adapted: bool = True,
    imported: bool = False,
) -> Added:
    """Add dialogues to the collection in a folder, or make a collection; atomic, in bounded memory.

    A dialogue that the collection has already, word for word, is skipped. A dialogue with a known id and other words
    goes to the quarantine; the collection keeps the old one. A killed run resumes.

    :param transcripts: file, or folder of `.jsonl` and `.jsonl.gz` files.
    :param turns: also make vectors of all turns and an index of their words, so that single moments are found
        (`dial2vec.collection.search.moments`); of dialogues that are there already, too.
    :param adapted: also fit a map to the dialogues, for groups and the map (`dial2vec.collection.adapting`).
    :param imported: True if an import of today has written the file, so that all of it is usable and no id is there
        twice: a new collection then takes it as it is.
    :raises CorpusError: if a file cannot be read, or no record can be used.
    :raises ArtifactError: if the folder is no collection, or was made with another encoder.
    :raises BusyError: if another run adds to the collection.
    """
    with folder_lock(folder, "adds dialogues to"):
        manifest = _opened(folder, encoder)
        work = folder / "adding"
        quarantine: list[Quarantined] = []
        if imported and not manifest.dialogues:
            n_new, n_existing = _taken(transcripts, work / "dialogues.jsonl"), 0
        else:
            n_new, n_existing = _write_new(CollectionFolder(folder), transcripts, work / "dialogues.jsonl", quarantine)
        if n_new:
            embed_file(
                work / "dialogues.jsonl",
                work / "vectors.parquet",
                encoder=encoder,
                batch_size=batch_size,
                progress=progress,
            )
            _append(folder, manifest, work, source=str(transcripts))
        reasons = _unused_file(folder / "quarantine")
        if quarantine:
            write_quarantine(reasons, quarantine)
        shutil.rmtree(work, ignore_errors=True)
        collection = CollectionFolder(folder)
        # A map would look for topics, which are not what lenses tell.
        adapted = adapted and not is_lens(folder / "model")
        adaptation = adapt(collection, encoder) if adapted and len(collection) else None
        if turns:
            update_moments(collection, encoder, batch_size=batch_size, progress=progress)
    if not n_new and not n_existing:
        raise CorpusError(f"nothing in {transcripts} can be used: {quarantine[0] if quarantine else 'it is empty'}.")
    sentence = "" if adaptation is None else adaptation.sentence
    return Added(n_new, n_existing, len(quarantine), reasons if quarantine else None, sentence)


def _unused_file(folder: Path) -> Path:
    """Return the first unused file name, so that the quarantine of earlier runs stays."""
    paths = (folder / f"{number:06d}.jsonl" for number in count())
    return next(path for path in paths if not path.exists())


def _opened(folder: Path, encoder: Encoder) -> Manifest:
    """Read the manifest of a folder; start a collection if the folder is empty."""
    fingerprint = encoder.fingerprint()
    if (folder / MANIFEST).exists():
        manifest = Manifest.read(folder)
        if not manifest.dialogues:
            # A run that added no dialogue does not fix the encoder.
            return _begin(folder, encoder, fingerprint)
        if manifest.fingerprint != fingerprint:
            other = "other weights or settings of " if manifest.model == encoder.name else ""
            raise ArtifactError(
                f"{folder} was made with {other}{manifest.model}, whose vectors cannot be compared with those of "
                f"{encoder.name}. Leave --model out to add to it, or index all dialogues again in another folder."
            )
        return manifest
    if others := sorted(path.name for path in folder.iterdir() if path.name != "model" and path.name[0] != "."):
        raise ArtifactError(f"{folder} is no collection and not empty (it has {others[0]}). Name another folder.")
    return _begin(folder, encoder, fingerprint)


def _begin(folder: Path, encoder: Encoder, fingerprint: str) -> Manifest:
    encoder.save_copy(folder / "model")
    # A collection holds the conversations, which a commit of the project around it must not take along.
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    manifest = Manifest(encoder.name, fingerprint, encoder.dimension)
    manifest.write(folder)
    return manifest


def _write_new(
    collection: CollectionFolder, transcripts: Path, path: Path, quarantine: list[Quarantined]
) -> tuple[int, int]:
    """Write the new dialogues to a file, and return the numbers of new and of existing dialogues."""
    contents = collection.rows["content"].to_numpy()
    known = dict(zip(collection.rows["dialogue_id"].to_pylist(), contents.tolist(), strict=True))
    n_new = n_existing = 0
    with dialogue_writer(path) as write:
        for dialogue in _read(transcripts, quarantine):
            content = content_of(dialogue)
            if dialogue.dialogue_id not in known:
                known[dialogue.dialogue_id] = content
                write(dialogue)
                n_new += 1
            elif known[dialogue.dialogue_id] == content:
                n_existing += 1
            else:
                reason = f"the id {dialogue.dialogue_id!r} is in the collection with other words"
                origin = dialogue.origin or Origin(str(transcripts), 0)
                quarantine.append(Quarantined(origin, dialogue.dialogue_id, reason))
    return n_new, n_existing


def _taken(transcripts: Path, path: Path) -> int:
    """Give a file of dialogues a second name, or copy it where there is none, and return the number of its lines."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    try:
        os.link(transcripts, path)
    except OSError:
        shutil.copyfile(transcripts, path)
    with path.open("rb") as lines:
        return sum(1 for _ in lines)


def _read(transcripts: Path, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
    paths = files_of(transcripts)
    for path in paths:
        yield from read_dialogues(path, quarantine=quarantine, may_be_empty=len(paths) > 1)


def content_of(dialogue: Dialogue) -> int:
    """Return the hash of speakers and texts that the rows of a collection hold."""
    words = json.dumps([(turn.speaker, turn.text) for turn in dialogue.turns])
    return int.from_bytes(hashlib.blake2b(words.encode(), digest_size=8).digest(), "little")


def _append(folder: Path, manifest: Manifest, work: Path, *, source: str) -> None:
    """Append dialogues and vectors to the collection, then write the manifest, and their checksums.

    A kill before the checksums leaves dialogues without; they are of the next addition's part.
    """
    CollectionFolder(folder).check()
    with atomic_path(rows_file(folder, len(manifest.additions))) as temporary:
        n_rows = _write_rows(temporary, work / "dialogues.jsonl", begin=manifest.text_bytes)
    size = manifest.dialogues * manifest.dimension * 4
    n_vectors = append_blocks(folder / "vectors.f32", size, _units(work / "vectors.parquet"))
    if n_vectors != n_rows * manifest.dimension * 4:
        raise ArtifactError(f"{work} holds vectors of other dialogues. Remove it, and index the dialogues again.")
    with (work / "dialogues.jsonl").open("rb") as handle:
        text = append_blocks(folder / "dialogues.jsonl", manifest.text_bytes, iter(lambda: handle.read(1 << 20), b""))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    replace(manifest, additions=(*manifest.additions, Addition(source, now, n_rows, text))).write(folder)
    note(folder / "vectors.f32", size + n_vectors, afresh=not size)
    note(folder / "dialogues.jsonl", manifest.text_bytes + text, afresh=not size)
    note(rows_file(folder, len(manifest.additions)))


def _write_rows(path: Path, dialogues: Path, *, begin: int) -> int:
    """Write the rows of dialogues, whose lines begin at this offset of `dialogues.jsonl`, and return their number."""
    count, (shards, _) = 0, shards_of(dialogues)
    with pq.ParquetWriter(path, ROWS, write_page_checksum=True) as writer:
        for table in spread(partial(_rows_of, begin), shards, n_parts=len(shards), fewest=FEWEST_PARTS):
            writer.write_table(table)
            count += len(table)
    return count


def _rows_of(begin: int, shard: Shard) -> pa.Table:
    with shard.path.open("rb") as handle:
        handle.seek(shard.byte)
        lines = list(islice(handle, shard.lines))
    starts = np.cumsum([begin + shard.byte, *map(len, lines)])[:-1]
    numbered = ((number, line.decode()) for number, line in enumerate(lines, start=shard.line))
    return _rows(list(dialogues_of_lines(numbered, shard.path)), starts.tolist())


def _rows(dialogues: list[Dialogue], starts: list[int]) -> pa.Table:
    columns = {
        "dialogue_id": [dialogue.dialogue_id for dialogue in dialogues],
        "labels": [list(dialogue.labels) for dialogue in dialogues],
        "date": [dialogue.moment for dialogue in dialogues],
        "speakers": [list(dict.fromkeys(turn.speaker for turn in dialogue.turns)) for dialogue in dialogues],
        "turns": [len(dialogue.turns) for dialogue in dialogues],
        "words": [sum(len(words(turn.text)) for turn in dialogue.turns) for dialogue in dialogues],
        "byte": starts,
        "content": [content_of(dialogue) for dialogue in dialogues],
        "metadata": packed_metadata(dialogue.metadata for dialogue in dialogues),
    }
    return pa.table(columns, schema=ROWS)


def _units(vectors: Path) -> Iterator[NDArray[np.float32]]:
    """Yield blocks of vectors of length 1; zero vectors stay zero."""
    with pq.ParquetFile(vectors) as file:
        for batch in file.iter_batches(batch_size=10_000, columns=["embedding"]):
            column = batch.column("embedding")
            block = column.flatten().to_numpy().reshape(len(column), -1)
            yield unit_rows(block).astype(np.float32)
