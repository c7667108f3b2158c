"""MLflow's client in memory, as far as the registry uses it; `stored/test_contract.py` holds it to the real one."""

from __future__ import annotations

import itertools
import re
import shutil
import time
from pathlib import Path
from types import SimpleNamespace as Record

from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST
from mlflow.store.entities import PagedList

from dial2vec.encoder.checksums import write_checksums
from dial2vec.registry import store

MLMODEL = "flavors: {python_function: {artifacts: {encoder: {path: artifacts/encoder}}}}"
CONDITION = re.compile(r"(tags|attributes)\.`?([\w.]+)`? = '(.*?)'")


class FakeClient:
    """Experiments, runs, models and versions; only the files of versions lie in a folder."""

    def __init__(self, root):
        self.artifacts = root.resolve() / "mlruns" / "artifacts"
        self.experiments, self.runs, self.models, self.versions = {}, {}, {}, {}
        self.ids = itertools.count(1)
        # MLflow's command `gc` uses this.
        self._tracking_client = Record(store=self)

    def get_experiment_by_name(self, name):
        return self.experiments.get(name)

    def create_experiment(self, name, artifact_location=None):
        found = Record(experiment_id=str(next(self.ids)), lifecycle_stage="active")
        return self.experiments.setdefault(name, found).experiment_id

    def search_experiments(self, max_results=1):
        return list(self.experiments.values())

    def create_run(self, experiment_id, start_time=None, tags=(), run_name=""):
        run_id, began = f"run{next(self.ids)}", start_time or int(time.time() * 1000)
        info = Record(run_id=run_id, experiment_id=experiment_id, start_time=began, status="RUNNING", run_name=run_name)
        self.runs[run_id] = Record(info=info, data=Record(tags=dict(tags), metrics={}), number=next(self.ids))
        return self.runs[run_id]

    def get_run(self, run_id):
        return _found(self.runs, run_id)

    def log_batch(self, run_id, metrics=(), params=()):
        self.runs[run_id].data.metrics |= {metric.key: metric.value for metric in metrics}

    def log_artifact(self, run_id, path):
        folder = self.artifacts / run_id / "artifacts"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder)

    def log_inputs(self, run_id, datasets):
        self.runs[run_id].inputs = Record(dataset_inputs=datasets)

    def set_terminated(self, run_id, status):
        self.runs[run_id].info.status = status

    def delete_run(self, run_id):
        # It can still be searched for.
        _found(self.runs, run_id)

    def _hard_delete_run(self, run_id):
        del self.runs[run_id]

    def search_runs(self, experiment_ids, filter_string, view=None, most=1000, order_by=(), page_token=None):
        wanted = CONDITION.findall(filter_string)
        newest = sorted(self.runs.values(), key=lambda run: (-run.info.start_time, -run.number))
        found = [
            run
            for run in newest
            if run.info.experiment_id in experiment_ids
            and all((run.data.tags if of == "tags" else vars(run.info)).get(key) == value for of, key, value in wanted)
        ]
        return PagedList(found[:most], None)

    def get_logged_model(self, model_id):
        return Record(artifact_location=str(self.artifacts / "models" / model_id / "artifacts"))

    def delete_logged_model(self, model_id):
        pass

    _hard_delete_logged_model = delete_logged_model

    def create_registered_model(self, name, description=""):
        self.models[name] = Record(name=name, description=description, aliases={}, last=0)

    def get_registered_model(self, name):
        return _found(self.models, name)

    def search_registered_models(self):
        return list(self.models.values())

    def update_registered_model(self, name, description):
        self.models[name].description = description

    def rename_registered_model(self, name, new_name):
        self.models[new_name] = self.models.pop(name)
        for of in [self.models[new_name], *self.search_model_versions(f"name = '{name}'")]:
            of.name = new_name
        self.versions = {(version.name, version.version): version for version in self.versions.values()}

    def delete_registered_model(self, name):
        del self.models[name]
        self.versions = {key: version for key, version in self.versions.items() if key[0] != name}

    def set_registered_model_alias(self, name, alias, version):
        self.models[name].aliases[alias] = self.get_model_version(name, version).version

    def delete_registered_model_alias(self, name, alias):
        del self.models[name].aliases[alias]

    def create_model_version(self, name, source, run_id="", tags=(), description=""):
        self.models[name].last += 1
        version = Record(name=name, version=str(self.models[name].last), source=source, run_id=run_id, tags=dict(tags))
        version.description, version.current_stage = description, "None"
        version.creation_timestamp = int(time.time() * 1000)
        self.versions[name, version.version] = version
        return version

    def get_model_version(self, name, version):
        return _found(self.versions, (name, str(version)))

    def search_model_versions(self, filter_string=""):
        name = filter_string.removeprefix("name = ").strip("'")
        return [version for version in self.versions.values() if name in ("", version.name)]

    def get_model_version_download_uri(self, name, version):
        return str(self.get_model_version(name, version).source)

    def update_model_version(self, name, version, description):
        self.get_model_version(name, version).description = description

    def set_model_version_tag(self, name, version, key, value):
        self.get_model_version(name, version).tags[key] = value

    def delete_model_version_tag(self, name, version, key):
        del self.get_model_version(name, version).tags[key]

    def delete_model_version(self, name, version):
        del self.versions[name, version]
        aliases = self.models[name].aliases
        self.models[name].aliases = {alias: number for alias, number in aliases.items() if number != version}


def use_memory(monkeypatch, root):
    """Give a project an empty registry in memory."""
    client = FakeClient(root)
    monkeypatch.delenv(store.SERVER, raising=False)
    monkeypatch.setattr(store, "MlflowClient", lambda tracking_uri: client)
    monkeypatch.setattr(store, "_create", lambda database: None)
    return client


def log_model(client, experiment_id, encoder, *_, run_id):
    """Lay an encoder's files where those of a logged model are; stands for `tracking._log_model`."""
    model_id = f"m-{next(client.ids)}"
    folder = Path(client.get_logged_model(model_id).artifact_location)
    shutil.copytree(encoder, folder / "artifacts" / "encoder")
    (folder / "MLmodel").write_text(MLMODEL)
    write_checksums(folder)
    return model_id


def _found(records, key):
    if key not in records:
        raise MlflowException(f"{key} not found", error_code=RESOURCE_DOES_NOT_EXIST)
    return records[key]
