"""Topics without dialogues, in one file, from which another collection of the same encoder takes them over."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from conversations.files import atomic_path, read_json, write_json
from dial2vec.collection.adapting.adaptation import Adaptation
from dial2vec.collection.clustering.clusters import ClusterState, Stored, from_record, none_split_off, stored_clusters
from dial2vec.collection.collection_folder import CollectionFolder, readable
from dial2vec.errors import ArtifactError

# Arrays of a `ClusterState` that are no dialogue's.
CENTRES = ("centres", "fine_centres", "fine_parents")
# Where descriptions are, and what of them is no secret, such as the address of the language model.
DESCRIPTIONS, PUBLIC = Path("descriptions", "descriptions.json"), ("format", "fingerprint", "clusters", "areas")
# What is known only of a collection's own dialogues. Halves of 1: that a topic can be split is no news.
OWN = {"size": 0, "typical": (), "borderline": (), "speaking": (), "known": "", "hidden": False, "halves": 1.0}
OWN_OF_ALL = {"seen": 0, "settled": 0, "news": (), "emerging": (), "topics": "", "outside": 0.0}


def save_topics(collection: CollectionFolder, path: Path) -> None:
    """Write ids, names, terms, descriptions and centres of the topics, fine topics and areas; atomic.

    The file is one of safetensors, whose header holds the names as JSON. It holds no dialogue and no id of one, but the
    map of the vectors (`Adaptation`), to which the centres belong.

    :raises ArtifactError: if the collection has no clusters, or they are damaged.
    """
    stored, adaptation = stored_clusters(collection), collection.adaptation
    clusters, file = asdict(stored.clusters) | OWN_OF_ALL, collection.folder / DESCRIPTIONS
    clusters["clusters"] = [cluster | OWN for cluster in clusters["clusters"]]
    for name in ("areas", "fine"):
        clusters[name] = [group | {"size": 0} for group in clusters[name]]
    described = {key: value for key, value in read_json(file).items() if key in PUBLIC} if file.exists() else {}
    record = {"model": Path(collection.manifest.model).name, "clusters": clusters, "described": described, "fitted": 0}
    arrays = {name: np.ascontiguousarray(getattr(stored.state, name)) for name in CENTRES}
    if adaptation is not None and adaptation.weight is not None:
        arrays |= {"mean": adaptation.mean, "weight": np.ascontiguousarray(adaptation.weight)}
        record["fitted"] = adaptation.dialogues
    with atomic_path(path) as temporary:
        save_file(arrays, temporary, {"dial2vec": json.dumps(record, ensure_ascii=False)})


def load_topics(collection: CollectionFolder, path: Path) -> Stored:
    """Return the topics of a file of `save_topics`, without dialogues, as clusters of this collection.

    The vectors of the collection get the map of the file instead of their own. Descriptions are taken over if the
    collection has none.

    :raises ArtifactError: if the file cannot be read, or its topics are by another encoder.
    """
    with readable(path, "; expected a file of `dial2vec cluster COLLECTION --save-topics`. Save it again."):
        with safe_open(path, "np") as file:
            record = json.loads(file.metadata()["dial2vec"])
        arrays, clusters, described = load_file(path), from_record(record["clusters"]), record["described"]
        none, m = np.zeros(0, dtype=np.int32), len(arrays["fine_parents"])
        if (len(clusters.clusters), len(clusters.fine)) != (len(arrays["centres"]), m):
            raise ValueError("centres and topics do not match")
        own = {"groups": none, "fine": none, "split_off": none_split_off(m), "belongs": none.astype(bool)}
        state = ClusterState(**own, **{name: arrays[name] for name in CENTRES})
        mean, weight = arrays.get("mean", np.zeros(0, np.float32)), arrays.get("weight")
    if clusters.fingerprint != collection.manifest.fingerprint:
        raise ArtifactError(
            f"{path} has topics by the encoder {record['model']}, and {collection.folder} was indexed by another, "
            f"{Path(collection.manifest.model).name}; expected the same weights. Index it again by that of the topics."
        )
    # In a small collection the map would soon be fitted again, and topics without dialogues would stay behind.
    adaptation = Adaptation(mean, weight, max(len(collection), record["fitted"]), reason="those topics have no map")
    adaptation.write(collection.folder, collection.vectors)
    for name in ("adaptation", "adapted"):
        collection.__dict__.pop(name, None)
    if described and not (collection.folder / DESCRIPTIONS).exists():
        write_json(collection.folder / DESCRIPTIONS, described)
    clusters = replace(clusters, adapted=adaptation.name)
    return Stored(clusters, state, clusters, state)
