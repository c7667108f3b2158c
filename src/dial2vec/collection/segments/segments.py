"""Finding the segments and topics of a collection, and reading them, in the folder `segments` of the collection."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as pq
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.files import atomic_path, read_json, write_json
from conversations.words import words
from dial2vec.collection.clustering.partition import Groups, centres_of_groups
from dial2vec.collection.clustering.tree import find_levels
from dial2vec.collection.collection_folder import CollectionFolder, checked_table, readable, sampled, within
from dial2vec.collection.formulas import write_table
from dial2vec.collection.search.turns import TurnVectors, complete_turns
from dial2vec.collection.segments.cutting import Cuts, Cutter, fit_cutter, join_courtesies
from dial2vec.data.terms import READ, READ_WORDS, Term, characteristic_terms, names_of
from dial2vec.encoder.checksums import damaged_files, write_checksums
from dial2vec.errors import ArtifactError, CorpusError

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
# Dialogues from which cutting is learnt, at most, and their turns: 150 MB at d = 384.
SAMPLE, SAMPLE_TURNS = 3000, 100_000
# Typical segments of a topic, and turns that are read at a time.
SHOWN, AT_ONCE = 3, 4_096

TurnBlock = tuple[list[int], list[Dialogue], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Place:
    """A segment.

    :param dialogue_id: id of its dialogue.
    :param first: number of its first turn, from 0.
    :param last: number of its last turn.
    """

    dialogue_id: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Topic:
    """A group of similar segments.

    :param id: number from 0; the topic with most segments is 0.
    :param name: first terms of the topic.
    :param terms: terms of the topic, the most characteristic first.
    :param segments: number of segments.
    :param dialogues: number of dialogues with such a segment.
    :param share: share of the words of all dialogues, in [0, 1].
    :param typical: segments closest to the centre.
    """

    id: int
    name: str
    terms: tuple[Term, ...]
    segments: int
    dialogues: int
    share: float
    typical: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments and topics of a collection; the segments themselves are in `segments.parquet`.

    :param fingerprint: fingerprint of the collection's encoder.
    :param seed: random seed.
    :param seen: number of dialogues that were cut, the first ones of the collection.
    :param segments: number of segments.
    :param several: share of dialogues with more than one topic, in [0, 1].
    :param penalty: gain that a cut needed (`dial2vec.collection.segments.cutting.cut`).
    :param f1: F1 within one turn on dialogues joined from the collection; None if it has too few dialogues.
    :param topics: topics, the one with most segments first.
    """

    fingerprint: str
    seed: int
    seen: int
    segments: int
    several: float
    penalty: float
    f1: float | None
    topics: tuple[Topic, ...]


def find_segments(
    collection: CollectionFolder, *, seed: int = 1, done: Callable[[int], object] = lambda _: None
) -> Segments:
    """Cut the dialogues where their topic changes, group the segments into topics, write both, and return the topics.

    Writes `segments.parquet`, `segments.csv` and `topics.json` into the folder `segments`, atomically as a whole.

    :param seed: seed of the sample, of the joined dialogues and of the groups.
    :param done: called with numbers that sum to at most the number of dialogues and 1.
    :raises CorpusError: if the collection has fewer than 2 dialogues.
    """
    if len(collection) < 2:
        raise CorpusError(f"{collection.folder} has {len(collection)} dialogues; expected at least 2. Add some.")
    turns = complete_turns(collection)
    rows = sampled(len(collection), SAMPLE, seed)
    rows = within(rows, collection.rows["turns"].to_numpy()[rows], SAMPLE_TURNS, seed, fewest=2)
    sample = list(turn_blocks(collection, turns, rows.tolist(), done=done))
    cutter = _fitted(sample, seed)
    cuts = _cut_all(collection, turns, cutter, sample, done)
    cuts, groups = join_courtesies(cuts, find_levels(cuts.vectors, cuts.vectors, seed=seed).topics)
    done(1)
    result = _described(collection, cutter, cuts, groups, seed)
    with atomic_path(segments_folder(collection)) as temporary:
        temporary.mkdir()
        _write(temporary, collection, cuts, groups, result)
        write_checksums(temporary, without=("segments.csv",))
    return result


def segments_folder(collection: CollectionFolder) -> Path:
    """Return the folder with the segments of a collection."""
    return collection.folder / "segments"


def read_segments(collection: CollectionFolder) -> Segments:
    """Return the segments and topics that `find_segments` wrote.

    :raises ArtifactError: if there are none, or those of another encoder, or they are damaged.
    """
    path = segments_folder(collection) / "topics.json"
    mend = f"`dial2vec segments {collection.folder}` makes them."
    if not path.exists():
        raise ArtifactError(f"{collection.folder} has no segments; expected {path}. {mend}")
    for problem in damaged_files(path.parent):
        raise ArtifactError(f"{problem}. {mend}")
    with readable(path, f"; expected segments of this collection. {mend}"):
        record = read_json(path)
        version, topics = record.pop("format"), record.pop("topics")
        if version != FORMAT or record["fingerprint"] != collection.manifest.fingerprint:
            raise ValueError("another encoder or format")
        return Segments(**record, topics=tuple(_topic(topic) for topic in topics))


def _topic(record: dict[str, object]) -> Topic:
    terms = tuple(Term(**term) for term in record.pop("terms"))  # type: ignore[attr-defined]
    typical = tuple(Place(**place) for place in record.pop("typical"))  # type: ignore[attr-defined]
    return Topic(**record, terms=terms, typical=typical)  # type: ignore[arg-type]


def turn_blocks(
    collection: CollectionFolder, turns: TurnVectors, rows: Sequence[int], *, done: Callable[[int], object]
) -> Iterator[TurnBlock]:
    """Yield rows, dialogues, and vectors of length 1 of all turns of these dialogues, float32 [turns, d], in blocks.

    :param turns: vectors of all turns of the collection.
    :param rows: rows of the dialogues.
    :param done: called with the number of dialogues after each block.
    """
    sizes = collection.rows["turns"].to_numpy()
    places = np.array(rows, dtype=np.int64)
    # About `AT_ONCE` turns are in a block.
    begins = np.cumsum(sizes[places]) - sizes[places]
    for block in np.split(places, np.flatnonzero(np.diff(begins // AT_ONCE)) + 1) if len(places) else []:
        numbers, _ = turns.of_dialogues(block)
        own = block.tolist()
        yield own, list(collection.dialogues(own)), turns.vectors(numbers)
        done(len(own))


def _fitted(sample: list[TurnBlock], seed: int) -> Cutter:
    sizes = [len(dialogue.turns) for _, dialogues, _ in sample for dialogue in dialogues]
    counts = np.concatenate([_words_of(dialogue) for _, dialogues, _ in sample for dialogue in dialogues])
    vectors = np.concatenate([vectors for _, _, vectors in sample])
    return fit_cutter(vectors, counts, np.concatenate([[0], np.cumsum(sizes)]), seed=seed)


def _words_of(dialogue: Dialogue) -> NDArray[np.int64]:
    """Return the number of words of each turn."""
    return np.array([len(words(turn.text)) for turn in dialogue.turns], dtype=np.int64)


def _cut_all(
    collection: CollectionFolder,
    turns: TurnVectors,
    cutter: Cutter,
    sample: list[TurnBlock],
    done: Callable[[int], object],
) -> Cuts:
    """Cut all dialogues; those of the sample are not read again."""
    places = {row: at for at, row in enumerate(row for rows, _, _ in sample for row in rows)}
    rest = [row for row in range(len(collection)) if row not in places]
    parts: list[Cuts] = []
    for blocks in (iter(sample), turn_blocks(collection, turns, rest, done=done)):
        for rows, dialogues, vectors in blocks:
            begin, of_block = 0, list[Cuts]()
            for row, dialogue in zip(rows, dialogues, strict=True):
                own = vectors[begin : begin + len(dialogue.turns)]
                begin += len(own)
                of_block.append(Cuts.of(cutter, row, own, _words_of(dialogue), places.get(row)))
            # Small arrays of a million dialogues would take a gigabyte more than what they hold.
            parts.append(Cuts.joined(of_block))
    return Cuts.joined(parts)


def _described(collection: CollectionFolder, cutter: Cutter, cuts: Cuts, groups: Groups, seed: int) -> Segments:
    k = int(groups.max()) + 1
    rows = sampled(len(cuts.rows), READ, seed)
    rows = within(rows, cuts.words[rows], READ_WORDS, seed)
    terms = characteristic_terms(_segments_at(collection, cuts, rows), groups[rows].tolist(), k)
    names = [
        name if own else f"topic {at}"
        for at, (name, own) in enumerate(zip(names_of(terms, range(k)), terms, strict=True))
    ]
    centres = centres_of_groups(cuts.vectors, groups)
    pairs = np.unique(np.column_stack([cuts.rows, groups]), axis=0)
    n_dialogues, n_topics = np.bincount(pairs[:, 1], minlength=k), np.bincount(pairs[:, 0])
    sizes, n_words = np.bincount(groups, minlength=k), np.bincount(groups, weights=cuts.words, minlength=k)
    shares = n_words / max(1, n_words.sum())
    topics = []
    for topic in range(k):
        own = np.flatnonzero(groups == topic)
        nearest = own[np.argsort(-(cuts.vectors[own] @ centres[topic]), kind="stable")[:SHOWN]]
        topics.append(
            Topic(
                topic,
                names[topic],
                tuple(terms[topic]),
                int(sizes[topic]),
                int(n_dialogues[topic]),
                float(shares[topic]),
                tuple(_place(collection, cuts, at) for at in nearest.tolist()),
            )
        )
    f1 = None if math.isnan(cutter.f1) else cutter.f1
    return Segments(
        collection.manifest.fingerprint, seed, len(collection), len(groups), float((n_topics > 1).mean()),
        cutter.penalty, f1, tuple(topics),
    )  # fmt: skip


def _place(collection: CollectionFolder, cuts: Cuts, at: int) -> Place:
    return Place(collection.rows["dialogue_id"][int(cuts.rows[at])].as_py(), int(cuts.first[at]), int(cuts.last[at]))


def _segments_at(collection: CollectionFolder, cuts: Cuts, chosen: NDArray[np.int64]) -> Iterator[Dialogue]:
    """Yield the chosen segments as dialogues that have only their turns."""
    dialogues = collection.dialogues(cuts.rows[chosen].tolist())
    for at, dialogue in zip(chosen, dialogues, strict=True):
        yield replace(dialogue, turns=dialogue.turns[cuts.first[at] : cuts.last[at] + 1])


def _write(folder: Path, collection: CollectionFolder, cuts: Cuts, groups: Groups, result: Segments) -> None:
    totals = np.bincount(cuts.rows, weights=cuts.words)[cuts.rows]
    turns = np.asarray(collection.rows["turns"])[cuts.rows]
    # A dialogue without words has shares of its turns.
    share = np.where(totals > 0, cuts.words / np.maximum(totals, 1), (cuts.last - cuts.first + 1) / turns)
    table = pa.table(
        {
            "dialogue_id": collection.rows["dialogue_id"].combine_chunks().take(pa.array(cuts.rows)),
            "first_turn": pa.array(cuts.first.astype(np.int32)),
            "last_turn": pa.array(cuts.last.astype(np.int32)),
            "topic": pa.array(groups),
            "topic_name": pa.array([topic.name for topic in result.topics], pa.string()).take(pa.array(groups)),
            "share": pa.array(share),
        }
    )
    pq.write_table(table, folder / "segments.parquet", write_page_checksum=True)
    write_table(table, folder / "segments.csv")
    write_json(folder / "topics.json", {"format": FORMAT} | asdict(result))


def segments_table(collection: CollectionFolder) -> pd.DataFrame:
    """Return one row per segment, in the order of the dialogues and their turns.

    :return: `dialogue_id`, `first_turn` and `last_turn` (numbers from 0), `topic` (id), `topic_name`, and `share`, the
        segment's share of the words of its dialogue.
    :raises ArtifactError: if there are no segments.
    """
    return _read_table(collection).to_pandas()


def segments_of(collection: CollectionFolder, dialogue_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of `segments_table` of some dialogues, those of a dialogue in the order of its turns.

    :raises ArtifactError: if there are no segments, or they are damaged.
    """
    table = _read_table(collection)
    rows = table.filter(compute.is_in(table["dialogue_id"], value_set=pa.array(dialogue_ids, pa.string()))).to_pylist()
    return sorted(rows, key=lambda row: row["first_turn"])


def _read_table(collection: CollectionFolder) -> pa.Table:
    read_segments(collection)
    path = segments_folder(collection) / "segments.parquet"
    with readable(path, ". Make the segments again, or remove them."):
        return checked_table(path)


def topics_table(collection: CollectionFolder) -> pd.DataFrame:
    """Return one row per topic, indexed by `id`, the topic with most segments first.

    :return: `name`, `segments`, `dialogues` (with such a segment), `share` of all words, and `terms`.
    :raises ArtifactError: if there are no segments.
    """
    import pandas as pd

    rows = [
        {"id": topic.id, "name": topic.name, "segments": topic.segments, "dialogues": topic.dialogues}
        | {"share": topic.share, "terms": [term.text for term in topic.terms]}
        for topic in read_segments(collection).topics
    ]
    return pd.DataFrame(rows).set_index("id")


def dialogue_topics(collection: CollectionFolder) -> pd.DataFrame:
    """Return one row per dialogue and topic of it; the largest share of each dialogue comes first.

    :return: `dialogue_id`, `topic`, `topic_name`, `segments` (their number) and `share` of the dialogue's words; the
        shares of a dialogue sum to 1.
    :raises ArtifactError: if there are no segments.
    """
    table = segments_table(collection)
    keys = ["dialogue_id", "topic", "topic_name"]
    sums = table.groupby(keys, sort=False).agg(segments=("share", "size"), share=("share", "sum")).reset_index()
    order = sums.groupby("dialogue_id", sort=False).ngroup()
    sums = sums.assign(order=order).sort_values(["order", "share"], ascending=[True, False], kind="stable")
    return sums.drop(columns="order").reset_index(drop=True)
