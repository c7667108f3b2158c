"""`dial2vec verify` names damaged files of a collection, a model and a project, and exits with 1."""

from __future__ import annotations

import shutil

import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.encoder.loading import load_encoder
from tests.collection.made import indexed
from tests.conftest import make_dialogue
from tests.students import save_student


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def verify(*arguments):
    done = CliRunner().invoke(main, ["verify", *map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.fixture
def collection(tmp_path):
    encoder = load_encoder(save_student(tmp_path / "student"))
    dialogues = [make_dialogue(f"d{n}", f"a: w{n} w{n + 1}", "b: w3") for n in range(6)]
    return indexed(tmp_path / "project" / "calls", dialogues, encoder).folder


@pytest.mark.parametrize("name", ["vectors.f32", "rows/000000.parquet", "turns/turns.json", "model/table.safetensors"])
def test_a_damaged_file_of_a_collection_is_named(collection, name):
    assert verify(collection) == (0, f"collection {collection}: whole\n")
    flip(collection / name)
    code, said = verify(collection)
    assert code == 1
    assert str(collection / name) in said
    assert "damaged files; expected none. Each line above says the way back." in said


def test_a_model_is_looked_at_and_other_places_are_refused(tmp_path):
    folder = tmp_path / "student"
    save_student(folder)
    assert verify(folder) == (0, f"model {folder}: whole\n")
    (folder / "tokenizer.json").unlink()
    code, said = verify(folder)
    assert code == 1
    assert "tokenizer.json is missing; expected a file of" in said
    assert "is no folder; expected a project" in verify(tmp_path / "nothing")[1]


def test_a_project_is_looked_at_place_by_place(collection, tmp_path):
    project = tmp_path / "project"
    for name in ("params.yaml", "dvc.yaml"):
        (project / name).write_text("{}\n")
    shutil.copytree(collection, project / "artifacts" / "more")
    assert verify(project)[1].splitlines() == [
        "files of the project: whole", "DVC's cache: whole", "registered versions: whole",
        "collection artifacts/more: whole", "collection calls: whole",
    ]  # fmt: skip
    flip(collection / "dialogues.jsonl")
    md5 = "ab/cdef0123456789abcdef0123456789"
    (project / ".dvc/cache/files/md5/ab").mkdir(parents=True)
    (project / ".dvc/cache/files/md5" / md5).write_text("not what its name says")
    code, said = verify(project)
    assert code == 1
    for line in ("DVC's cache: 1 damaged", f"{md5} is damaged", "calls: 1 damaged", "The next run sets it aside."):
        assert line in said
