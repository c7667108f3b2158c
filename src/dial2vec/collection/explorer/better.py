"""The better page: the same dialogues by a better encoder, made while the first page is shown, and taken over whole."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

from dial2vec.collection.adding import add
from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.clustering.clusters import Clusters, ClusterState, folder_of, read_stored, write_clusters
from dial2vec.collection.clustering.decisions import Decisions, Edit, path_of, read_decisions, write_decisions
from dial2vec.collection.clustering.known import TOPICS
from dial2vec.collection.clustering.partition import centres_of_groups
from dial2vec.collection.collection_folder import MANIFEST, CollectionFolder
from dial2vec.collection.explorer.later import Later, Shown
from dial2vec.collection.explorer.maps import Maps, like_before, maps_of
from dial2vec.encoder.loading import load_encoder
from dial2vec.files import folder_lock

# Folder within the collection in which the other one is made, hidden as all that is not of the collection itself, and
# the file that says that it is whole.
FOLDER, WHOLE = ".better", "WHOLE"


def better(model: str) -> Later:
    """Return the step that reads all dialogues by another encoder, and shows its groups and its map instead."""
    return Later(f"better map, by {Path(model).name}", lambda page: _read_again(page, model))


def take_over(folder: Path) -> None:
    """Put a better collection that is whole in the place of the one around it; after a kill, go on with it."""
    made = folder / FOLDER
    if not (made / WHOLE).exists():
        return
    # The manifest is the last one: it counts the bytes of the others.
    for path in sorted(made.iterdir(), key=lambda path: (path.name == MANIFEST, path.name)):
        if path.name != WHOLE:
            place = folder / path.name
            if place.is_dir():
                shutil.rmtree(place)
            path.replace(place)
    shutil.rmtree(made)


def _read_again(page: Shown, model: str) -> None:
    first = page.collection
    folder = first.folder / FOLDER
    encoder = load_encoder(model)
    if first.manifest.fingerprint == encoder.fingerprint():
        return
    add(folder, first.folder / "dialogues.jsonl", encoder=encoder, progress=False, imported=True)
    made = CollectionFolder(folder)
    maps = Maps(like_before(made, maps_of(made, progress=False).trained, page.maps.trained))
    decided = _grouped(first, made)
    with folder_lock(folder_of(first), "writes to"):
        # Somebody may have decided something meanwhile, but not from here on.
        if read_decisions(first.folder) != decided:
            _grouped(first, made)
        path_of(folder).unlink(missing_ok=True)
        (folder / WHOLE).touch()
        take_over(first.folder)
    page.show(CollectionFolder(first.folder), maps)


def _grouped(first: CollectionFolder, made: CollectionFolder) -> Decisions:
    """Group a collection as one that was grouped before, and return the decisions that it keeps.

    Groups that people decided about keep their dialogues, others the ids of those that they match.
    """
    decisions, before = read_decisions(first.folder), read_stored(first)
    if before is not None:
        folder_of(made).mkdir(exist_ok=True)
        clusters, state = _with_vectors_of(made, before.clusters, before.state)
        write_clusters(made, clusters, state, base=_with_vectors_of(made, before.base, before.base_state))
        touched = {edit.cluster for edit in decisions.made if edit.action != "pin"}
        names = {known.id: known.name for known in clusters.clusters if known.id in touched}
        pins = [Edit("pin", id, name) for id, name in names.items()]
        write_decisions(made.folder, replace(decisions, made=(*decisions.made, *pins)))
    if (topics := first.folder / TOPICS).exists():
        shutil.copyfile(topics, made.folder / TOPICS)
    if len(made) > 1:
        cluster(made, from_scratch=True)
    return decisions


def _with_vectors_of(made: CollectionFolder, clusters: Clusters, state: ClusterState) -> tuple[Clusters, ClusterState]:
    """Return groups of the same dialogues with centres among other vectors; an empty group has a centre of zeros."""
    units = np.asarray(made.vectors[: clusters.seen])
    centres = centres_of_groups(units, state.groups, len(state.centres))
    fine = centres_of_groups(units, state.fine, len(state.fine_centres))
    fingerprint = made.manifest.fingerprint
    return replace(clusters, fingerprint=fingerprint), replace(state, centres=centres, fine_centres=fine)
