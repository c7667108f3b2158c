from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest
import safetensors
import tokenizers
from safetensors.numpy import load_file, save_file

from dial2vec.encoder.folder import folder_hash
from dial2vec.encoder.student import StudentEncoder, saving
from dial2vec.errors import Dial2vecError, ModelError

from .test_student import DIALOGUES

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(student, tmp_path):
    student.save_pretrained(tmp_path / "student", rows="fp32")
    return tmp_path / "student"


@pytest.mark.parametrize("rows", ["fp32", "fp16", "int8"])
def test_a_saved_student_is_loaded_as_it_was(student, tmp_path, rows):
    student.save_pretrained(tmp_path / "s", rows=rows)
    again = StudentEncoder.from_pretrained(tmp_path / "s", device="cpu")
    assert (again.name, again.teacher, again.dimension) == ("start", "teacher", 8)
    cosines = np.einsum("nd,nd->n", again.encode(DIALOGUES), student.encode(DIALOGUES))
    assert cosines.min() > 0.999
    again.save_pretrained(tmp_path / "t", rows=rows)
    assert folder_hash(tmp_path / "s") == folder_hash(tmp_path / "t")
    assert StudentEncoder.from_pretrained(tmp_path / "t").fingerprint() == again.fingerprint()


def test_rows_are_fp16_if_nothing_is_said(student, tmp_path):
    student.save_pretrained(tmp_path / "s")
    assert load_file(tmp_path / "s" / "table.safetensors")["embeddings"].dtype == np.float16
    assert json.loads((tmp_path / "s" / "dialogue_student.json").read_text()) == {
        "name": "start",
        "teacher": "teacher",
        "dimension": 8,
        "rows": "fp16",
    }


def test_the_table_lies_on_the_disk_once_under_two_names(folder):
    assert (folder / "table.safetensors").samefile(folder / "model.safetensors")


def test_every_file_can_be_read_by_whom_the_umask_allows(folder):
    files = [path for path in folder.iterdir() if path.is_file()]
    assert len({path.stat().st_mode for path in files}) == 1


def test_without_hard_links_the_table_is_copied(student, tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(saving.os, "link", refuse)
    student.save_pretrained(tmp_path / "s")
    assert (tmp_path / "s" / "table.safetensors").read_bytes() == (tmp_path / "s" / "model.safetensors").read_bytes()


def test_the_hash_of_a_folder_leaves_out_what_other_libraries_read(folder):
    before = folder_hash(folder)
    for name in ("README.md", "config.json", "modules.json", "config_sentence_transformers.json"):
        (folder / name).write_text("{}")
    assert folder_hash(folder) == before
    (folder / "tokenizer.json").write_text("{}")
    assert folder_hash(folder) != before


def test_a_student_replaces_a_model_as_a_whole_and_nothing_else(student, tiny_folder, tmp_path):
    from dial2vec.encoder import DialogueEncoder

    DialogueEncoder.from_pretrained(tiny_folder, device="cpu").save_pretrained(tmp_path / "m")
    student.save_pretrained(tmp_path / "m")
    assert not (tmp_path / "m" / "dialogue_encoder.json").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(ModelError, match="other holds other files, which saving would remove"):
        student.save_pretrained(tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["thesis.txt"]


def test_after_an_error_the_old_student_stays(student, folder, monkeypatch):
    before = folder_hash(folder)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dial2vec.encoder.student.table.save", fail)
    with pytest.raises(Dial2vecError, match=r"cannot write .* No space left on device"):
        student.save_pretrained(folder)
    assert folder_hash(folder) == before
    assert [path.name for path in folder.parent.iterdir()] == ["student"]


def test_the_card_names_three_libraries_and_no_private_path(student, tmp_path):
    private = StudentEncoder(student.table, student.tokenizer, name="/home/me/secret/start", teacher="/home/me/encoder")
    private.save_pretrained(tmp_path / "s", rows="int8")
    card = (tmp_path / "s" / "README.md").read_text()
    assert "/home/me" not in card
    assert "the vectors of encoder. Its tokenizer is that of start." in card.replace("\n", " ")
    for words in ("StudentEncoder.from_pretrained", "SentenceTransformer(", "StaticModel.from_pretrained", "45 token"):
        assert words in card


DAMAGES = {
    "no mark": ("dialogue_student.json", None, "holds no student: dialogue_student.json is missing"),
    "mark cut": ("dialogue_student.json", b'{"name": ', "dialogue_student.json is not whole JSON"),
    "mark no object": ("dialogue_student.json", b"3", "dialogue_student.json is not whole JSON"),
    "mark empty": ("dialogue_student.json", b"{}", "lacks name, teacher, dimension, rows; expected name"),
    "mark of another": (
        "dialogue_student.json",
        b'{"name": "a", "teacher": "b", "dimension": 9, "rows": "fp32"}',
        "table.safetensors has vectors of 8 numbers, but dialogue_student.json says 9",
    ),
    "no table": ("table.safetensors", None, "table.safetensors is missing; expected the table of a student"),
    "table empty": ("table.safetensors", b"", "table.safetensors does not hold a whole table"),
    "table cut": ("table.safetensors", 300, "table.safetensors does not hold a whole table"),
    "no tokenizer": ("tokenizer.json", None, "tokenizer.json is missing; expected the tokenizer of a student"),
    "tokenizer cut": ("tokenizer.json", 300, "tokenizer.json is no whole tokenizer"),
    "tokenizer of another kind": ("tokenizer.json", b"{}", "tokenizer.json is no whole tokenizer"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_missing_file_is_one_sentence(folder, damage):
    name, content, message = DAMAGES[damage]
    path = folder / name
    (folder / "checksums.json").unlink()
    whole = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(whole[:content] if isinstance(content, int) else content)
    with pytest.raises(ModelError, match=message) as error:
        StudentEncoder.from_pretrained(folder)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(("Save the student again.", "dial2vec.load_encoder."))


@pytest.mark.parametrize("change", ["lacks weights", "nan", "too few weights", "not finite scale"])
def test_a_table_with_wrong_numbers_is_one_sentence(folder, change):
    arrays = load_file(folder / "table.safetensors")
    (folder / "checksums.json").unlink()
    if change == "lacks weights":
        del arrays["weights"]
    elif change == "nan":
        arrays["embeddings"][3, 3] = np.nan
    elif change == "too few weights":
        arrays["weights"] = arrays["weights"][:7]
    else:
        arrays["scales"] = np.zeros_like(arrays["weights"])
    (folder / "table.safetensors").unlink()
    save_file(arrays, folder / "table.safetensors")
    with pytest.raises(ModelError, match=r"does not hold a whole table \(.*\)\. Save the student again\."):
        StudentEncoder.from_pretrained(folder)


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(ModelError, match="is not a folder with a model"):
        StudentEncoder.from_pretrained(tmp_path / "nothing")


@pytest.mark.parametrize("rows", ["fp32", "fp16", "int8"])
def test_sentence_transformers_gives_the_mean_over_all_tokens(student, tmp_path, rows):
    library = pytest.importorskip("sentence_transformers")
    student.save_pretrained(tmp_path / "s", rows=rows)
    model = library.SentenceTransformer(str(tmp_path / "s"), device="cpu", local_files_only=True)
    texts = [dialogue.text for dialogue in DIALOGUES]
    expected = StudentEncoder.from_pretrained(tmp_path / "s").encode_utterances(texts)
    np.testing.assert_allclose(model.encode(texts), expected, atol=1e-6)


@pytest.mark.parametrize("rows", ["fp32", "fp16", "int8"])
def test_model2vec_gives_the_mean_over_all_known_tokens(student, tmp_path, rows):
    library = pytest.importorskip("model2vec")
    student.save_pretrained(tmp_path / "s", rows=rows)
    model = library.StaticModel.from_pretrained(tmp_path / "s")
    texts = ["w1 w2 w3 w1", "w4", "w5 " * 2000 + "w6"]
    expected = StudentEncoder.from_pretrained(tmp_path / "s").encode_utterances(texts)
    np.testing.assert_allclose(model.encode(texts), expected, atol=1e-2 if rows == "fp16" else 1e-5)


def test_numpy_tokenizers_and_safetensors_are_enough(folder, student, tmp_path):
    venv.create(tmp_path / "venv", with_pip=False)
    [packages] = (tmp_path / "venv").glob("lib/python*/site-packages")
    for package in (np, tokenizers, safetensors):
        place = Path(package.__file__).parents[1]
        for path in place.glob(f"{package.__name__}*"):
            (packages / path.name).symlink_to(path)
    (packages / "source.pth").write_text(f"{ROOT / 'src'}\n")
    script = f"""
import sys
from dial2vec import Dialogue, StudentEncoder, Turn, load_encoder
import conversations.dialogue, dial2vec.errors, dial2vec.files, dial2vec.encoder.conversations
encoder = load_encoder({str(folder)!r})
assert type(encoder) is StudentEncoder
dialogue = Dialogue("d", (Turn("a", "w1 w2"), Turn("b", "w3")))
print(*encoder.encode(dialogue), *encoder.turn_shares(dialogue))
encoder.save_pretrained({str(tmp_path / "again")!r}, rows="int8")
try:
    import torch
except ModuleNotFoundError:
    print("no torch")
"""
    python = str(tmp_path / "venv" / "bin" / "python")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", script], capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    numbers, last = done.stdout.splitlines()
    assert last == "no torch"
    [vector] = student.encode([[{"role": "a", "content": "w1 w2"}, {"role": "b", "content": "w3"}]])
    np.testing.assert_allclose([float(number) for number in numbers.split()[:8]], vector, atol=1e-5)


def test_nothing_heavy_is_imported_where_it_is_installed(folder):
    script = f"""
import sys
import dial2vec
encoder = dial2vec.StudentEncoder.from_pretrained({str(folder)!r})
encoder.encode([[{{"role": "a", "content": "w1 w2"}}]])
heavy = {{"torch", "transformers", "pandas", "scipy", "sklearn", "huggingface_hub", "tqdm", "mlflow"}}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
