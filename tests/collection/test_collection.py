from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conversations.dialogue import Dialogue, write_dialogues
from dial2vec.collection import Collection, add, adding
from dial2vec.encoder import DialogueEncoder, checksums, load_encoder
from dial2vec.encoder.checksums import md5_of
from dial2vec.errors import ArtifactError, BusyError, CorpusError
from dial2vec.files import folder_lock
from tests.conftest import make_dialogue
from tests.students import tiny_student

QUIET = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def encoder(tiny_folder: str) -> DialogueEncoder:
    return DialogueEncoder.from_pretrained(tiny_folder, device="cpu")


def dialogues_of(dialogue, numbers) -> list[Dialogue]:
    return [dialogue(f"d{n}", f"a: w{n % 7} w2", f"b: w{n % 5} w3 w{n % 11}") for n in numbers]


def write(path: Path, dialogues) -> Path:
    write_dialogues(path, dialogues)
    return path


def test_vectors_are_those_of_the_encoder_at_length_one(tmp_path, encoder, dialogue):
    dialogues = dialogues_of(dialogue, range(12))
    done = add(tmp_path / "c", write(tmp_path / "a.jsonl", dialogues), encoder=encoder)
    collection = Collection(tmp_path / "c")
    expected = encoder.encode(dialogues)
    assert (done.dialogues, done.existing, done.quarantine) == (12, 0, 0)
    np.testing.assert_allclose(
        collection.vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6
    )
    assert list(collection.dialogues()) == dialogues
    assert list(collection.dialogues([7, 2])) == [dialogues[7], dialogues[2]]


def test_git_takes_nothing_of_a_collection(tmp_path, encoder, dialogue):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    add(tmp_path / "c", write(tmp_path / "a.jsonl", dialogues_of(dialogue, range(4))), encoder=encoder)
    status = ["git", "status", "--short", "--untracked-files=all"]
    assert subprocess.run(status, cwd=tmp_path, check=True, capture_output=True, text=True).stdout == "?? a.jsonl\n"


@given(cuts=st.lists(st.integers(0, 20), max_size=3))
@QUIET
def test_added_in_any_portions_it_is_the_same_collection(tmp_path_factory, encoder, dialogue, cuts):
    folder = tmp_path_factory.mktemp("portions")
    dialogues = dialogues_of(dialogue, range(20))
    ends = sorted({0, 20, *cuts})
    for last in ends[1:]:
        # Each portion contains all earlier ones, like a growing export.
        add(folder / "c", write(folder / f"{last}.jsonl", dialogues[:last]), encoder=encoder)
        assert len(Collection(folder / "c")) == last
    collection = Collection(folder / "c")
    assert list(collection.dialogues()) == dialogues
    assert collection.rows["dialogue_id"].to_pylist() == [one.dialogue_id for one in dialogues]
    expected = encoder.encode(dialogues)
    cosines = (collection.vectors * expected).sum(axis=1) / np.linalg.norm(expected, axis=1)
    np.testing.assert_allclose(cosines, 1, atol=1e-5)


def test_rows_say_who_spoke_when_and_how_much(tmp_path, encoder):
    record = {"dialogue_id": "x", "turns": [{"speaker": "ann", "text": "w1 w2"}, {"speaker": "bob", "text": "w3"}]}
    lines = [
        record | {"labels": ["b", "a"], "date": "2026-03-04T10:15:00+01:00"},
        record | {"dialogue_id": "y", "date": "next week"},
        record | {"dialogue_id": "z", "date": "2026-03-05"},
        record
        | {"dialogue_id": "c", "turns": [{"speaker": "ann", "text": "卡丢了"}, {"speaker": "bob", "text": "w3"}]},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    add(tmp_path / "c", path, encoder=encoder)
    rows = Collection(tmp_path / "c").rows.to_pydict()
    assert rows["labels"] == [["a", "b"], [], [], []]
    dates = [datetime(2026, 3, 4, 9, 15, tzinfo=UTC), None, datetime(2026, 3, 5, tzinfo=UTC), None]
    assert rows["date"] == dates
    assert rows["speakers"] == [["ann", "bob"]] * 4
    assert (rows["turns"], rows["words"]) == ([2] * 4, [3, 3, 3, 4])


def test_changed_dialogue_is_set_aside_with_its_reason(tmp_path, encoder, dialogue):
    add(tmp_path / "c", write(tmp_path / "a.jsonl", [dialogue("d", "a: w1", "b: w2")]), encoder=encoder)
    changed = [dialogue("d", "a: w1", "b: w9"), dialogue("e", "a: w1")]
    done = add(tmp_path / "c", write(tmp_path / "b.jsonl", changed), encoder=encoder)
    assert (done.dialogues, done.quarantine) == (1, 1)
    aside = json.loads(done.quarantine_file.read_text())
    assert aside["dialogue_id"] == "d"
    assert "with other words" in aside["reason"]
    assert next(Collection(tmp_path / "c").dialogues([0])).turns[1].text == "w2"


@pytest.mark.parametrize("step", ["embed_file", "append_blocks", "Manifest.write"])
def test_killed_addition_changes_nothing_and_the_next_one_is_whole(tmp_path, encoder, dialogue, monkeypatch, step):
    dialogues = dialogues_of(dialogue, range(9))
    add(tmp_path / "c", write(tmp_path / "a.jsonl", dialogues[:4]), encoder=encoder)
    more = write(tmp_path / "b.jsonl", dialogues)

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"dial2vec.collection.adding.{step}", killed)
        with pytest.raises(KeyboardInterrupt):
            add(tmp_path / "c", more, encoder=encoder)
    assert list(Collection(tmp_path / "c").dialogues()) == dialogues[:4]
    # Bytes of a killed addition.
    with (tmp_path / "c" / "vectors.f32").open("ab") as handle:
        handle.write(os.urandom(100))
    assert add(tmp_path / "c", more, encoder=encoder).dialogues == 5
    collection = Collection(tmp_path / "c")
    assert list(collection.dialogues()) == dialogues
    assert (tmp_path / "c" / "vectors.f32").stat().st_size == collection.vectors.size * 4


def test_another_encoder_is_refused(tmp_path, encoder, tiny_folder, dialogue):
    path = write(tmp_path / "a.jsonl", dialogues_of(dialogue, range(3)))
    add(tmp_path / "c", path, encoder=encoder)
    other = DialogueEncoder.from_pretrained(tiny_folder, pooling="mean", device="cpu")
    with pytest.raises(ArtifactError, match="with other weights or settings of"):
        add(tmp_path / "c", path, encoder=other)
    other.name = "another"
    with pytest.raises(ArtifactError, match=f"made with {encoder.name}, whose"):
        add(tmp_path / "c", path, encoder=other)


def test_a_first_run_that_brought_nothing_binds_nobody_to_its_encoder(tmp_path, encoder, tiny_folder, dialogue):
    (tmp_path / "empty.jsonl").write_text("{}\n")
    with pytest.raises(CorpusError):
        add(tmp_path / "c", tmp_path / "empty.jsonl", encoder=encoder)
    other = DialogueEncoder.from_pretrained(tiny_folder, pooling="mean", device="cpu")
    path = write(tmp_path / "a.jsonl", dialogues_of(dialogue, range(3)))
    assert add(tmp_path / "c", path, encoder=other).dialogues == 3
    assert DialogueEncoder.from_pretrained(tmp_path / "c" / "model").pooling == "mean"


@pytest.mark.parametrize("name", ["vectors.f32", "dialogues.jsonl"])
def test_a_file_that_is_too_short_is_not_filled_with_zeros(tmp_path, encoder, dialogue, name):
    add(tmp_path / "c", write(tmp_path / "a.jsonl", dialogues_of(dialogue, range(3))), encoder=encoder)
    path = tmp_path / "c" / name
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ArtifactError, match=rf"{name} has \d+ bytes; expected at least"):
        add(tmp_path / "c", write(tmp_path / "b.jsonl", dialogues_of(dialogue, range(5, 7))), encoder=encoder)


def test_reasons_of_an_earlier_run_stay(tmp_path, encoder, dialogue):
    known = dialogue("e", "a: w1")
    add(tmp_path / "c", write(tmp_path / "a.jsonl", [dialogue("d", "a: w1"), known]), encoder=encoder)
    changed = write(tmp_path / "b.jsonl", [dialogue("d", "a: w2"), known])
    files = {add(tmp_path / "c", changed, encoder=encoder).quarantine_file for _ in range(2)}
    assert len(files) == 2
    assert all(path.is_file() for path in files)


def test_its_own_copy_of_the_encoder_adds_to_it(tmp_path, encoder, dialogue):
    add(tmp_path / "c", write(tmp_path / "a.jsonl", dialogues_of(dialogue, range(3))), encoder=encoder)
    copy = DialogueEncoder.from_pretrained(Collection(tmp_path / "c").model, device="cpu")
    more = write(tmp_path / "b.jsonl", dialogues_of(dialogue, range(5)))
    assert add(tmp_path / "c", more, encoder=copy).dialogues == 2


def test_folder_with_other_things_is_left_alone(tmp_path, encoder, dialogue):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "photo.png").write_text("x")
    path = write(tmp_path / "a.jsonl", dialogues_of(dialogue, range(3)))
    with pytest.raises(ArtifactError, match=r"not empty \(it has photo\.png\)"):
        add(tmp_path / "c", path, encoder=encoder)


def test_one_addition_at_a_time(tmp_path, encoder, dialogue):
    path = write(tmp_path / "a.jsonl", dialogues_of(dialogue, range(3)))
    with folder_lock(tmp_path / "c", "adds dialogues to"), pytest.raises(BusyError, match="adds dialogues to"):
        add(tmp_path / "c", path, encoder=encoder)


def test_nothing_usable_is_an_error(tmp_path, encoder):
    (tmp_path / "a.jsonl").write_text("{}\n")
    with pytest.raises(CorpusError, match=r"nothing in .* can be used"):
        add(tmp_path / "c", tmp_path / "a.jsonl", encoder=encoder)


def test_an_empty_file_among_others_is_passed_over(tmp_path, encoder, dialogue):
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "a.jsonl").touch()
    write(tmp_path / "calls" / "b.jsonl", dialogues_of(dialogue, range(2)))
    assert add(tmp_path / "c", tmp_path / "calls", encoder=encoder).dialogues == 2


def test_folder_that_is_no_collection_says_how_to_make_one(tmp_path):
    with pytest.raises(ArtifactError, match="dial2vec index"):
        Collection(tmp_path)


def test_damaged_manifest_or_short_file_is_named(tmp_path, encoder, dialogue):
    add(tmp_path / "c", write(tmp_path / "a.jsonl", dialogues_of(dialogue, range(3))), encoder=encoder)
    (tmp_path / "c" / "vectors.f32").write_bytes(b"1234")
    with pytest.raises(ArtifactError, match="has 4 bytes"):
        _ = Collection(tmp_path / "c").vectors
    manifest = tmp_path / "c" / "collection.json"
    whole = manifest.read_text()
    manifest.write_text(whole.replace('"format": 1', '"format": 9'))
    with pytest.raises(ArtifactError, match="its content has the MD5"):
        Collection(tmp_path / "c")
    manifest.write_text(json.dumps(json.loads(whole) | {"format": 9, "checksum": None}))
    with pytest.raises(ArtifactError, match="format 9"):
        Collection(tmp_path / "c")
    manifest.write_text("{}")
    with pytest.raises(ArtifactError, match="cannot be read"):
        Collection(tmp_path / "c")


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["vectors.f32", "dialogues.jsonl", "rows/000000.parquet"])
def test_damage_in_any_addition_is_told_and_nothing_is_added_to_it(tmp_path, encoder, dialogue, name):
    folder, of = tmp_path / "c", dialogues_of(dialogue, range(9))
    for n in (3, 6):
        add(folder, write(tmp_path / "a.jsonl", of[:n]), encoder=encoder)
    Collection(folder).check()
    flip(folder / name, 60)
    with pytest.raises(ArtifactError, match=r"is damaged: its bytes 0 to \d+ have the MD5 .*; expected .* backup"):
        Collection(folder).check()
    with pytest.raises(ArtifactError, match="is damaged"):
        add(folder, write(tmp_path / "a.jsonl", of), encoder=encoder)
    assert len(Collection(folder)) == 6


def test_additions_read_only_their_own_bytes(tmp_path, encoder, dialogue, monkeypatch):
    folder, of, read = tmp_path / "c", dialogues_of(dialogue, range(9)), []
    add(folder, write(tmp_path / "a.jsonl", of[:6]), encoder=encoder)
    monkeypatch.setattr(checksums, "md5_of", lambda *place: read.append(place) or md5_of(*place))
    add(folder, write(tmp_path / "a.jsonl", of), encoder=encoder)
    Collection(folder).check()
    width = 4 * Collection(folder).manifest.dimension
    assert [place[1:] for place in read if place[0].name == "vectors.f32"] == [(6 * width, 3 * width)]


def test_nan_in_vectors_without_checksums_is_told(tmp_path, encoder, dialogue):
    folder = tmp_path / "c"
    add(folder, write(tmp_path / "a.jsonl", dialogues_of(dialogue, range(3))), encoder=encoder)
    (folder / "checksums.json").unlink()
    vectors = np.fromfile(folder / "vectors.f32", np.float32)
    vectors[20] = np.nan
    vectors.tofile(folder / "vectors.f32")
    with pytest.raises(ArtifactError, match=r"row 1 has NaN or infinity; expected finite numbers"):
        _ = Collection(folder).vectors


def test_unknown_id_names_the_nearest(tmp_path, encoder, dialogue):
    add(tmp_path / "c", write(tmp_path / "a.jsonl", dialogues_of(dialogue, range(100, 103))), encoder=encoder)
    assert Collection(tmp_path / "c").row("d102") == 2
    with pytest.raises(CorpusError, match=r"no dialogue 'd109'.*Did you mean 'd10\d'"):
        Collection(tmp_path / "c").row("d109")


def test_adding_needs_a_whole_set_of_vectors(tmp_path, encoder, dialogue, monkeypatch):
    path = write(tmp_path / "a.jsonl", dialogues_of(dialogue, range(3)))
    monkeypatch.setattr(adding, "_units", lambda _: iter([np.zeros((2, 16), np.float32)]))
    with pytest.raises(ArtifactError, match="other dialogues"):
        add(tmp_path / "c", path, encoder=encoder)
    assert len(Collection(tmp_path / "c")) == 0


def test_metadata_has_a_type_per_key_over_all_additions(tmp_path, encoder, dialogue):
    first, second = [dialogue(f"d{n}", "a: w1 w2", "b: w3") for n in range(4)], dialogue("e", "a: w4")
    facts = [{"channel": "phone", "csat": 4}, {"channel": "chat", "csat": 3}, {"channel": "phone"}, {}]
    first = [replace(one, metadata=known) for one, known in zip(first, facts, strict=True)]
    for number, added in enumerate((first, [replace(second, metadata={"channel": "chat", "csat": 2.5})])):
        add(tmp_path / "c", write(tmp_path / f"{number}.jsonl", added), encoder=encoder)
    collection = Collection(tmp_path / "c")
    assert [one.metadata for one in collection.dialogues()] == [*facts, {"channel": "chat", "csat": 2.5}]
    assert {key: known.kind for key, known in collection.metadata_kinds.items()} == {
        "channel": "category",
        "csat": "number",
    }
    assert collection.metadata("csat").to_pylist() == [4, 3, None, None, 2.5]


def test_a_collection_of_an_older_version_has_no_metadata_and_grows(tmp_path, encoder, dialogue):
    folder = tmp_path / "c"
    add(folder, write(tmp_path / "a.jsonl", [dialogue("d", "a: w1")]), encoder=encoder)
    [rows] = (folder / "rows").glob("*.parquet")
    (folder / "rows" / "checksums.json").unlink()
    pq.write_table(pq.read_table(rows).drop_columns(["metadata"]), rows)
    assert Collection(folder).metadata_kinds == {}
    add(folder, write(tmp_path / "b.jsonl", [replace(dialogue("e", "a: w2"), metadata={"k": 1})]), encoder=encoder)
    assert Collection(folder).metadata("k").to_pylist() == [None, 1]


@pytest.mark.parametrize("rows", ["fp32", "fp16", "int8"])
def test_a_student_is_kept_as_it_is_so_that_more_can_be_added(tmp_path, rows):
    encoder = tiny_student()
    encoder.table = encoder.table.as_rows(rows)
    write_dialogues(tmp_path / "a.jsonl", [make_dialogue("d1", "a: w1 w2", "b: w3")])
    write_dialogues(tmp_path / "b.jsonl", [make_dialogue("d2", "a: w1 w2", "b: w4")])
    add(tmp_path / "c", tmp_path / "a.jsonl", encoder=encoder, progress=False)
    copy = load_encoder(tmp_path / "c" / "model")
    assert copy.fingerprint() == encoder.fingerprint()
    assert add(tmp_path / "c", tmp_path / "b.jsonl", encoder=copy, progress=False).dialogues == 1
