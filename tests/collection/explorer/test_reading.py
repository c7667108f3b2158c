from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conversations.files import write_json
from dial2vec.collection import Collection
from dial2vec.collection.clustering import cluster, read_clusters
from dial2vec.collection.clustering.clusters import read_assignment
from dial2vec.collection.clustering.curation import curate
from dial2vec.collection.clustering.notes import notes_file, write_note
from dial2vec.collection.explorer.reading import ReaderContent
from dial2vec.collection.segments.segments import Segments, segments_folder
from dial2vec.errors import ArtifactError
from tests.collection.clustering.conftest import Maker
from tests.collection.clustering.conftest import few as few


@pytest.fixture
def make(tmp_path, dialogue) -> Maker:
    """Each dialogue d0, d1, ... is `ann: yeah okay`, `bob: topica worda` with the letter of its topic."""
    return Maker(tmp_path / "c", dialogue)


def beside(make: Maker, row: int) -> dict:
    collection = Collection(make.folder)
    [found] = ReaderContent(collection).of([row], collection.dialogues([row]))
    return found


def write_segments(collection: Collection, rows: list[tuple[str, int, int, str]], *, fingerprint: str = "f") -> None:
    folder = segments_folder(collection)
    folder.mkdir()
    names = ("dialogue_id", "first_turn", "last_turn", "topic_name")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    kinds = (pa.string(), pa.int32(), pa.int32(), pa.string())
    table = {name: pa.array(columns[name], kind) for name, kind in zip(names, kinds, strict=True)}
    pq.write_table(pa.table(table), folder / "segments.parquet")
    segments = Segments(fingerprint, 1, len(collection), len(rows), 0.0, 1.0, None, ())
    write_json(folder / "topics.json", {"format": 1} | asdict(segments))


def test_a_dialogue_without_groups_segments_and_notes_has_none(make):
    make.add(0, 1)
    assert beside(make, 1) == {"segments": [], "group": None, "reasons": [], "terms": [], "note": None}


def test_segments_are_those_of_the_dialogue_in_the_order_of_its_turns(make):
    collection = make.add(0, 1, 2)
    write_segments(collection, [("d2", 1, 1, "bye"), ("d0", 0, 1, "cards"), ("d2", 0, 0, "rooms"), ("gone", 0, 0, "x")])
    assert beside(make, 0)["segments"] == [{"first": 0, "last": 1, "topic": "cards"}]
    assert beside(make, 1)["segments"] == []
    assert [one["topic"] for one in beside(make, 2)["segments"]] == ["rooms", "bye"]


def test_segments_of_another_encoder_are_not_shown(make):
    write_segments(make.add(0, 1), [("d0", 0, 1, "cards")], fingerprint="other")
    assert beside(make, 0)["segments"] == []


def test_reasons_are_the_turns_with_terms_of_the_group(make):
    make.add(*[0] * 20, *[1] * 20)
    cluster(Collection(make.folder), k=2)
    found = beside(make, 0)
    # The first turn says the same in both groups.
    assert found["reasons"] == [1]
    assert found["terms"] == ["topica worda"]
    id = int(read_assignment(Collection(make.folder))[0])
    clusters, centres = read_clusters(Collection(make.folder))
    [place] = [place for place, one in enumerate(clusters.clusters) if one.id == id]
    assert found["group"]["topic"] == {"id": id, "name": clusters.clusters[place].name}
    vectors = Collection(make.folder).vectors
    assert found["group"]["similarity"] == pytest.approx(float(vectors[0] @ centres[place]), abs=1e-4)


def test_the_closest_of_a_group_is_closer_than_all_others_of_it(make):
    make.add(*[0] * 20, *[1] * 20)
    cluster(Collection(make.folder), k=2)
    closer = np.array([beside(make, row)["group"]["closer"] for row in range(20)])
    similarity = np.array([beside(make, row)["group"]["similarity"] for row in range(20)])
    assert sorted(closer) == pytest.approx(np.arange(20) / 19, abs=1e-4)
    assert np.argsort(closer).tolist() == np.argsort(similarity).tolist()


def test_a_hidden_group_and_a_dialogue_added_since_are_no_group(make):
    make.add(*[0] * 20, *[1] * 20)
    cluster(Collection(make.folder), k=2)
    curate(Collection(make.folder), "hide", int(read_assignment(Collection(make.folder))[0]))
    make.add(1)
    for row in (0, 40):
        found = beside(make, row)
        assert (found["group"], found["reasons"], found["terms"]) == (None, [], [])
    assert beside(make, 39)["group"] is not None


def test_a_moved_dialogue_says_when_people_moved_it(make):
    make.add(*[0] * 20, *[1] * 20)
    cluster(Collection(make.folder), k=2)
    assert beside(make, 0)["group"]["moved"] is None
    target = int(read_assignment(Collection(make.folder))[39])
    decision = curate(Collection(make.folder), "move", target, dialogue="d0").decision
    group = beside(make, 0)["group"]
    assert (group["topic"]["id"], group["moved"]) == (target, decision.date)


def test_a_note_shows_while_the_page_is_open(make):
    collection = make.add(0, 1)
    reading = ReaderContent(collection)
    note = write_note(collection, "d1", "call back")
    [found] = reading.of([1], collection.dialogues([1]))
    assert found["note"] == {"text": "call back", "date": note.date}
    notes_file(make.folder).write_text("{")
    with pytest.raises(ArtifactError, match=r"notes\.jsonl cannot be read .*line 1"):
        list(reading.of([1], collection.dialogues([1])))
