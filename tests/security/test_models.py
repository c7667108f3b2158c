"""A model's folder is data: no code in it runs, and nobody is asked whether it may."""

from __future__ import annotations

import ast
import builtins
import contextlib
import json
import pickle
import shutil
from pathlib import Path

import pytest
import torch

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.backbone import load_with_head
from dial2vec.errors import ModelError
from dial2vec.registry.tracking import local_model
from tests.conftest import make_dialogue
from tests.registry.conftest import encoders, record, registered_store
from tests.tiny_models import build

__all__ = ["encoders", "record", "registered_store"]

ROOT = Path(__file__).parents[2]
CODE = """from pathlib import Path
Path({ran!r}).touch()
from transformers import BertConfig, BertModel, BertTokenizerFast
class OwnConfig(BertConfig): model_type = "own"
class OwnModel(BertModel): config_class = OwnConfig
class OwnTokenizer(BertTokenizerFast): pass
"""
OWN = {
    "AutoConfig": "own.OwnConfig",
    "AutoModel": "own.OwnModel",
    "AutoModelForMaskedLM": "own.OwnModel",
    "AutoTokenizer": ["own.OwnTokenizer", "own.OwnTokenizer"],
}


class Harmful:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.fixture
def folder(tiny_folder, tmp_path, monkeypatch) -> Path:
    """A copy of a model with code of its own, before somebody who answers every question with yes."""
    copy = tmp_path / "model"
    shutil.copytree(tiny_folder, copy)
    (copy / "own.py").write_text(CODE.format(ran=str(tmp_path / "ran")))
    monkeypatch.setattr(builtins, "input", lambda *_: "y")
    return copy


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize("load", [DialogueEncoder.from_pretrained, "AutoModelForMaskedLM"])
def test_code_that_a_models_folder_names_does_not_run(file, load, folder, tmp_path):
    kind = {"model_type": "own"} if file == "config.json" else {"tokenizer_class": "OwnTokenizer"}
    change(folder / file, auto_map=OWN, **kind)
    # A tokenizer that transformers knows without the code is loaded without it.
    with contextlib.suppress(ModelError):
        if isinstance(load, str):
            load_with_head(folder, load, kind="masked language model", example="bert-base-uncased")
        else:
            load(folder)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["bert", "plato"])
@pytest.mark.parametrize("saved", [True, False], ids=["torch.save", "pickle"])
def test_of_weights_of_pytorch_only_tensors_are_read(name, saved, tmp_path):
    folder, ran = Path(build(name, tmp_path / name)), tmp_path / "ran"
    for weights in (*folder.glob("*.safetensors"), *folder.glob("*.pt")):
        weights.unlink()
    with (folder / "pytorch_model.bin").open("wb") as file:
        if saved:
            torch.save({"embedder.token_embedding.weight": Harmful(ran)}, file)
        else:
            pickle.dump({"weight": Harmful(ran)}, file, protocol=2)
    with pytest.raises(Exception, match=r"(?i)weights.only|unpickl|cannot be loaded"):
        DialogueEncoder.from_pretrained(folder, input="plato" if name == "plato" else "text")
    assert not ran.exists()


def test_a_version_of_the_registry_runs_none_of_its_code(registered_store, tmp_path, monkeypatch):
    store, ran = shutil.copytree(registered_store, tmp_path / "project"), tmp_path / "ran"
    folder = local_model("models:/dial2vec-demo/1", root=store)
    assert folder.is_relative_to(store)
    model = next(parent for parent in folder.parents if (parent / "MLmodel").is_file())
    scripts = list(model.rglob("*.py"))
    assert model / "registered_model.py" in scripts
    for script in scripts:
        script.write_text(f"open({str(ran)!r}, 'w')\n" + script.read_text())
    # Else the version is refused before any code could run.
    (model / "checksums.json").unlink()
    monkeypatch.chdir(store)
    for name in ("params.yaml", "dvc.yaml"):
        (store / name).touch()
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert DialogueEncoder.from_pretrained("models:/dial2vec-demo/1").encode(make_dialogue("d", "a: w1", "b: w2")).shape
    assert not ran.exists()


def test_every_loader_of_transformers_is_told_to_run_no_code():
    calls = [
        (path, call)
        for path in (ROOT / "src").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        and (ast.unparse(call.func).endswith(".from_pretrained") or ast.unparse(call.func) == "SentenceTransformer")
        and any(word in ast.unparse(call.func) for word in ("Auto", "SentenceTransformer"))
    ]
    assert len(calls) >= 5
    for path, call in calls:
        trusted = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}.get("trust_remote_code")
        assert trusted == "False", f"{path}:{call.lineno}"
