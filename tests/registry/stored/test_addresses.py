from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib import import_module

import mlflow
import numpy as np
import pytest

from conversations.dialogue import dialogue_from_record
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.student import StudentEncoder
from dial2vec.errors import ModelError
from dial2vec.registry import store, tracking
from dial2vec.registry.tracking import local_model, register_training


def test_addresses_lead_to_the_encoder_inside_the_store(registered):
    by_alias = local_model("models:/dial2vec-demo@candidate", root=registered)
    assert by_alias == local_model("models:/dial2vec-demo/2", root=registered)
    assert registered / "mlruns" / "artifacts" in by_alias.parents
    assert (by_alias / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (
            "models:/dial2vec-demo@champoin",
            "has no alias 'champoin'. Did you mean 'champion'? It has: candidate, champion.",
        ),
        ("models:/dial2vec-demo/9", "dial2vec-demo has no version 9. It has: 1, 2."),
        ("models:/dial2vec-dmo/1", "nothing is registered as dial2vec-dmo. Did you mean 'dial2vec-demo'?"),
        ("models:/dial2vec-nix/1", "nothing is registered as dial2vec-nix. Registered: dial2vec-demo. Run"),
        ("models:/dial2vec-demo-small@champion", "as dial2vec-demo-small: no run has kept a student."),
        ("models:/dial2vec-demo", "is no registry address"),
        ("dial2vec-demo@champion", "is no registry address"),
    ],
)
def test_a_wrong_address_names_what_exists(registered, address, said):
    with pytest.raises(ModelError) as caught:
        local_model(address, root=registered)
    assert said in str(caught.value)


def test_a_version_whose_files_are_gone_is_one_sentence(registered):
    shutil.rmtree(registered / "mlruns" / "artifacts")
    with pytest.raises(ModelError, match="files of dial2vec-demo version 2 are gone"):
        local_model("models:/dial2vec-demo/2", root=registered)


def test_the_run_of_a_candidate_has_an_address_on_mlflows_page(registered):
    client = store.open_store(registered)
    [run] = client.search_runs(
        [client.get_experiment_by_name("dial2vec-demo").experiment_id], "tags.fingerprint = 'f1'"
    )
    expected = f"/#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}"
    assert tracking.run_address(registered, "demo") == expected


@pytest.mark.services("mlflow")
@pytest.mark.parametrize("version", ["1", "2"])
def test_a_registered_model_runs_where_dial2vec_is_not_installed(registered, version):
    script = (
        "import sys; uninstalled = lambda path: path.rstrip('/') != sys.argv[2]; "
        "sys.path[:] = filter(uninstalled, sys.path); import mlflow; mlflow.set_tracking_uri(sys.argv[1]); "
        "model = mlflow.pyfunc.load_model('models:/dial2vec-demo/' + sys.argv[3]); "
        "vectors = model.predict([{'turns': [{'speaker': 'a', 'text': 'w1'}]}]); import conversations, dial2vec; "
        "files = [conversations.__file__, dial2vec.__file__]; "
        "assert all('mlruns' in file for file in files) and len(vectors[0]) == 16, files"
    )
    arguments = [store.store_uri(registered), str(tracking.SOURCE), version]
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_model_lists_what_it_needs_and_what_it_takes(registered):
    model = local_model("models:/dial2vec-demo/2", root=registered).parents[1]
    needed = (model / "requirements.txt").read_text()
    assert all(f"{name}==" in needed for name in ("mlflow", "torch", "transformers", "numpy"))
    assert "+" not in needed
    about = mlflow.models.Model.load(model)
    assert "turns" in str(about.signature.inputs)
    assert json.loads((model / "input_example.json").read_text())[0]["turns"][0] == {
        "speaker": "guest",
        "text": "w1 w2",
    }
    assert not list(model.rglob("__pycache__"))


def test_versions_from_before_the_package_of_conversations_find_their_dialogues():
    assert import_module("dial2vec.dialogue").dialogue_from_record is dialogue_from_record


def test_a_version_holds_the_code_of_its_encoder_only(registered):
    model = local_model("models:/dial2vec-demo/2", root=registered).parents[1]
    files = [path for path in model.rglob("*") if path.is_file()]
    assert len(files) < 120
    assert not [path for path in files if "formats" in path.parts or "collection" in path.parts]


def test_a_students_requirements_name_no_transformer_and_it_runs(registered, dialogue, student_record, monkeypatch):
    register_training(registered, student_record)
    folder = local_model("models:/dial2vec-demo-small/2", root=registered)
    model = next(parent for parent in folder.parents if (parent / "MLmodel").is_file())
    needed = (model / "requirements.txt").read_text().splitlines()
    assert [line.split("==")[0] for line in needed] == ["mlflow", "numpy", "tokenizers", "safetensors"]
    expected = load_encoder(student_record.model).encode(dialogue("d", "a: w1", "b: w2"))
    assert isinstance(load_encoder(folder), StudentEncoder)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store.store_uri(registered))
    loaded = mlflow.pyfunc.load_model("models:/dial2vec-demo-small@candidate")
    turns = [{"speaker": "a", "text": "w1"}, {"speaker": "b", "text": "w2"}]
    np.testing.assert_allclose(loaded.predict([{"turns": turns}])[0], expected, atol=1e-6)
