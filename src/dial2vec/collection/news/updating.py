"""Bringing a collection up to date: new dialogues in, topics that keep their ids, what is new, and the sheet."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from conversations.files import read_json, write_json
from dial2vec.collection.adding import add
from dial2vec.collection.clustering.clustering import FAR, cluster
from dial2vec.collection.clustering.clusters import Clusters, read_clusters
from dial2vec.collection.collection_folder import MANIFEST, CollectionFolder
from dial2vec.collection.embedding.shards import files_of
from dial2vec.collection.lenses import read_new
from dial2vec.collection.lenses.lens import is_current, lens_names
from dial2vec.collection.news.ledger import read_ledger
from dial2vec.collection.news.looking import level_of, whats_new
from dial2vec.collection.news.telling import News, mark_sent
from dial2vec.collection.segments import find_segments, read_segments
from dial2vec.collection.segments.segments import segments_folder
from dial2vec.collection.summary import write_summary
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.files import locked

# The sheet, and the record of the files that were read.
SHEET, READ = "report.html", ".read.json"
# New dialogues since the last clustering from scratch, as a part of those before, from which it is done again: in any
# case, and if many of them are far from every cluster.
GROWN, GROWN_FAR = 1.0, 0.1
# Dialogues up to which segments are made again each time; beyond, after growth by a tenth, for all are cut again.
FEW, GROWN_SEGMENTS = 20_000, 1.1


def update(
    folder: Path,
    transcripts: Path | None,
    *,
    encoder: str | Path | None = None,
    regroup: bool = True,
    at: datetime | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> News | None:
    """Bring a collection up to date, and return what is new; None if no dialogue is new since the last look.

    New dialogues join the clusters, which keep their ids. Segments and lenses that exist, and the sheet `report.html`,
    are made again. Everything is clustered from scratch, with people's decisions kept, if the collection has doubled
    since the last time, or has grown by a tenth and a tenth of the new dialogues are far from every cluster; never if
    people chose the number of clusters. A killed run goes on at the next call, which tells what the killed one did not.

    :param folder: folder of the collection, which is made if it is missing.
    :param transcripts: file or folder of JSON Lines; unchanged files are not read again. None adds nothing.
    :param encoder: name or folder of the encoder of a new collection.
    :param regroup: False to never cluster from scratch.
    :param at: time of the look; None means now.
    :raises CorpusError: if there is no dialogue, or none can be read.
    :raises ArtifactError: if the collection, its clusters or its ledger are damaged.
    :raises BusyError: if another process updates the collection.
    """
    at = at or datetime.now(UTC)
    busy = f"another process updates {folder}. Wait until it ends, or stop it; then try again."
    with locked(folder / ".update.lock", lambda: busy, patience=0):
        if transcripts is not None:
            _add(folder, transcripts, encoder, say)
        collection = CollectionFolder(folder)
        _group(collection, regroup, at, say)
        _refresh(collection, say)
        # Opened again: lenses are metadata now.
        collection = CollectionFolder(folder)
        first, news = not read_ledger(folder).at, whats_new(collection, at=at)
        if not news.dialogues and not first:
            return None
        # Before the ledger: after a kill in between, both are made again.
        write_summary(folder / SHEET, collection)
        news.write(folder)
        if news.dialogues:
            return news
        mark_sent(folder, news.id)
        say(f"{len(collection):,} conversations in {news.topics} topics: what is new is told from now on")
        return None


def _add(folder: Path, transcripts: Path, encoder: str | Path | None, say: Callable[[str], object]) -> None:
    """Add the dialogues of new and changed files; of several files, each is noted once it is done."""
    exists = (folder / MANIFEST).exists() and len(CollectionFolder(folder)) > 0
    known = read_json(folder / READ) if exists and (folder / READ).exists() else {}
    states = {str(path.relative_to(transcripts)): path.stat() for path in files_of(transcripts)}
    files = {path: [state.st_size, state.st_mtime_ns] for path, state in states.items()}
    changed = {path: state for path, state in files.items() if known.get(path) != state}
    if not changed:
        return
    reader = load_encoder(folder / "model" if exists or encoder is None else encoder)
    each = [(transcripts / path, {path: state}) for path, state in changed.items()]
    for source, read in each if known else [(transcripts, files)]:
        try:
            added = add(folder, source, encoder=reader, progress=False)
            if added.quarantine:
                say(f"{added.quarantine} records of {source.name} cannot be used; {added.quarantine_file} says why")
        except CorpusError as error:
            if not known:
                raise
            # One bad file among others.
            say(str(error))
        known |= read
        write_json(folder / READ, known)


def _group(collection: CollectionFolder, regroup: bool, at: datetime, say: Callable[[str], object]) -> None:
    """Cluster a collection if its clusters are missing or old."""
    stored = read_clusters(collection)
    if stored is not None and stored[0].seen == len(collection):
        return
    clusters = cluster(collection, level=level_of(collection, at))
    reason = reason_to_regroup(clusters) if regroup and stored is not None else ""
    if reason:
        say(f"Topics are found again from scratch: {reason}")
        cluster(collection, seed=clusters.seed, from_scratch=True)


def reason_to_regroup(clusters: Clusters) -> str:
    """Return why everything should be clustered from scratch, as `update` explains; "" if nothing asks for it."""
    settled, growth = clusters.settled, clusters.seen / clusters.settled - 1
    if clusters.by == "k" or growth < GROWN_FAR:
        return ""
    if growth >= GROWN:
        return f"{clusters.seen:,} dialogues, and {settled:,} when they were found."
    # Those of a topic that has appeared are not far.
    return next((line.partition(",")[0] for line in clusters.news if FAR in line), "")


def _refresh(collection: CollectionFolder, say: Callable[[str], object]) -> None:
    """Bring segments and lenses up to date that exist; one that cannot be is told, and delays nothing else."""
    n = len(collection)
    try:
        if (segments_folder(collection) / "topics.json").exists():
            seen = read_segments(collection).seen
            if seen < n and (n <= FEW or n >= GROWN_SEGMENTS * seen):
                find_segments(collection)
        for name in lens_names(collection):
            if not is_current(collection, name):
                read_new(collection, name)
    except Dial2vecError as error:
        say(str(error))
