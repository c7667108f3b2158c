"""A collection of made-up dialogues of any size, with clusters and a map, in seconds: for measuring pages."""

from __future__ import annotations

import hashlib
import shutil
from datetime import date, timedelta
from pathlib import Path

import numpy as np

import student
from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.collection import Collection, add
from dial2vec.collection.clustering.clusters import Cluster, Clusters, ClusterState, none_split_off, write_clusters
from dial2vec.collection.clustering.levels import Area, FineTopic
from dial2vec.encoder.checksums import note

AREAS, CLOUDS, PARTS, DIMENSION = 6, 60, 3, 384
WORDS = (
    *("card", "parcel", "flight", "room", "table", "doctor", "ticket", "train"),
    *("invoice", "password", "garden", "music", "refund", "order", "delay", "key"),
    *("menu", "fee", "seat", "voucher", "address", "account", "fence", "concert"),
)


def made_up_collection(folder: Path, count: int) -> None:
    """Make a collection whose vectors lie in 60 clouds, with 6 areas, 60 topics and 180 fine topics."""
    shutil.rmtree(folder, ignore_errors=True)
    source = folder.with_suffix(".jsonl")
    random = np.random.default_rng(1)
    # Some clouds have ten times as many dialogues as others.
    shares = random.uniform(0.1, 1, size=CLOUDS)
    clouds = random.choice(CLOUDS, size=count, p=shares / shares.sum()).astype(np.int32)
    words = random.integers(len(WORDS), size=(count, 6, 12))
    write_dialogues(source, (made_up(number, int(clouds[number]), words[number]) for number in range(count)))
    add(folder, source, encoder=student.made_up(), turns=False)
    source.unlink()
    write_vectors(path := folder / "vectors.f32", clouds, random)
    note(path, path.stat().st_size, afresh=True)
    write_topics(Collection(folder), clouds, random.integers(PARTS, size=count))


def made_up(number: int, cloud: int, words: np.ndarray) -> Dialogue:
    """Return a dialogue of six turns of twelve words."""
    turns = tuple(
        Turn("agent" if place % 2 else "caller", " ".join(WORDS[word] for word in said))
        for place, said in enumerate(words)
    )
    moment = str(date(2025, 1, 1) + timedelta(days=number % 600))
    channel = ("phone", "chat", "mail")[number % 3]
    return Dialogue(f"call-{number:06d}", turns, (name_of(cloud),), date=moment, metadata={"channel": channel})


def name_of(cloud: int, part: int = -1) -> str:
    """Return three words for a cloud, or for a part of it."""
    first, second, third = (WORDS[(cloud * step + part + 1) % len(WORDS)] for step in (1, 5, 11))
    return f"{first}, {second} {cloud}, {third}" if part < 0 else f"{second} {part}, {third} {cloud}"


def write_vectors(path: Path, clouds: np.ndarray, random: np.random.Generator) -> None:
    """Write vectors of length 1: each lies near the centre of its cloud, some of the way to another one."""
    centres = random.normal(size=(CLOUDS, DIMENSION))
    with path.open("wb") as handle:
        for first in range(0, len(clouds), 10_000):
            own = clouds[first : first + 10_000]
            towards = random.uniform(0, 0.5, size=(len(own), 1)) ** 2
            near = (1 - towards) * centres[own] + towards * centres[random.integers(CLOUDS, size=len(own))]
            vectors = near + random.normal(scale=1.5, size=near.shape)
            handle.write((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32).tobytes())


def write_topics(collection: Collection, clouds: np.ndarray, parts: np.ndarray) -> None:
    """Write the clouds as clusters: their names are not computed."""
    units, sizes = collection.vectors, np.bincount(clouds, minlength=CLOUDS)
    fine = (clouds * PARTS + parts).astype(np.int32)
    centres = np.stack([units[np.flatnonzero(clouds == cloud)].mean(axis=0) for cloud in range(CLOUDS)])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    ids, first = collection.rows["dialogue_id"], np.unique(clouds, return_index=True)[1]
    clusters = tuple(
        Cluster(
            cloud, name_of(cloud), (), int(sizes[cloud]), 0.9, 0.5, 0.1, (ids[int(first[cloud])].as_py(),), (),
            area=cloud % AREAS, speaking=((0,),),
        )
        for cloud in range(CLOUDS)
    )  # fmt: skip
    areas = tuple(
        Area(area, f"{WORDS[area]}, {WORDS[area + AREAS]}", (), int(sizes[area::AREAS].sum())) for area in range(AREAS)
    )
    counts = np.bincount(fine, minlength=CLOUDS * PARTS)
    topics = tuple(
        FineTopic(place, place // PARTS, name_of(place // PARTS, place % PARTS), (), int(counts[place]))
        for place in range(CLOUDS * PARTS)
    )
    state = ClusterState(
        centres, clouds, centres.repeat(PARTS, axis=0), np.arange(CLOUDS, dtype=np.int32).repeat(PARTS), fine,
        none_split_off(CLOUDS * PARTS), np.ones(len(clouds), dtype=bool),
    )  # fmt: skip
    found = Clusters(
        collection.manifest.fingerprint, "communities", 1, 0.9, len(clouds), len(clouds), CLOUDS, clusters,
        areas=areas, fine=topics, lineage="made up",
    )  # fmt: skip
    (collection.folder / "clusters").mkdir(exist_ok=True)
    write_clusters(collection, found, state)


def write_map(collection: Collection) -> None:
    """Write a map on which each cloud is a bell, near those of its area; making one from the vectors takes minutes."""
    import pyarrow.parquet as pq

    clouds = pq.read_table(collection.folder / "clusters" / "assignment.parquet")["cluster"].to_numpy()
    random = np.random.default_rng(2)
    around = 2 * np.pi * (np.arange(CLOUDS) % AREAS) / AREAS
    middles = 45 * np.stack([np.cos(around), np.sin(around)], axis=1) + random.normal(scale=14, size=(CLOUDS, 2))
    points = middles[clouds] + random.normal(size=(len(clouds), 2)) * random.uniform(1, 3.5, size=CLOUDS)[clouds, None]
    content = hashlib.sha256(collection.rows["content"].to_numpy().tobytes()).hexdigest()
    (collection.folder / "map").mkdir(exist_ok=True)
    np.savez(
        collection.folder / "map" / "trained.npz",
        points=points.astype(np.float32),
        fitted=np.arange(min(len(clouds), 100_000)),
        content=content,
    )
