"""MLflow's client in memory, as far as the registry uses it; `stored/test_contract.py` holds it to the real one."""

from __future__ import annotations

import itertools
import re
import shutil
import time
from pathlib import Path
from types import SimpleNamespace as Record
from typing import Any

import pytest
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST
from mlflow.store.entities import PagedList

from dial2vec.registry import store

MLMODEL = "flavors: {python_function: {artifacts: {encoder: {path: artifacts/encoder}}}}"
CONDITION = re.compile(r"(tags|attributes)\.`?([\w.]+)`? = '(.*?)'")


class FakeClient:
    """Experiments, runs, models and versions; only the files of versions lie in a folder."""

    def __init__(self, root: Path) -> None:
        self.artifacts = root.resolve() / "mlruns" / "artifacts"
        self.tracking_uri = f"sqlite:///{root}/mlruns/mlflow.db"
        self.experiments: dict[str, Record] = {}
        self.runs: dict[str, Record] = {}
        self.models: dict[str, Record] = {}
        self.versions: dict[tuple[str, str], Record] = {}
        self.ids = itertools.count(1)
        self._tracking_client = Record(store=self)

    # Experiments and runs.
    def get_experiment_by_name(self, name: str) -> Record | None:
        return self.experiments.get(name)

    def create_experiment(self, name: str, artifact_location: str | None = None) -> str:
        found = Record(experiment_id=str(next(self.ids)), name=name, lifecycle_stage="active")
        return self.experiments.setdefault(name, found).experiment_id

    def search_experiments(self, max_results: int = 1) -> list[Record]:
        return list(self.experiments.values())

    def create_run(
        self, experiment_id: str, start_time: int | None = None, tags: Any = None, run_name: str = ""
    ) -> Record:
        run_id, began = f"run{next(self.ids)}", start_time or int(time.time() * 1000)
        info = Record(run_id=run_id, experiment_id=experiment_id, start_time=began, status="RUNNING", run_name=run_name)
        self.runs[run_id] = Record(info=info, data=Record(tags=dict(tags), metrics={}), number=next(self.ids))
        return self.runs[run_id]

    def get_run(self, run_id: str) -> Record:
        return _found(self.runs, run_id)

    def log_batch(self, run_id: str, metrics: Any = (), params: Any = ()) -> None:
        self.runs[run_id].data.metrics |= {metric.key: metric.value for metric in metrics}

    def log_artifact(self, run_id: str, path: str) -> None:
        folder = self.artifacts / run_id / "artifacts"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder)

    def set_tag(self, run_id: str, key: str, value: str) -> None:
        self.runs[run_id].data.tags[key] = value

    def set_terminated(self, run_id: str, status: str) -> None:
        self.runs[run_id].info.status = status

    def delete_run(self, run_id: str) -> None:
        _found(self.runs, run_id)

    def _hard_delete_run(self, run_id: str) -> None:
        del self.runs[run_id]

    def search_runs(
        self, experiment_ids: Any, filter_string: str, view: Any = None, most: int = 1000, order_by: Any = (), **_: Any
    ) -> PagedList[Record]:
        wanted = CONDITION.findall(filter_string)
        found = [
            run
            for run in sorted(self.runs.values(), key=lambda run: (run.info.start_time, run.number), reverse=True)
            if run.info.experiment_id in experiment_ids
            and all((run.data.tags if of == "tags" else vars(run.info)).get(key) == value for of, key, value in wanted)
        ]
        return PagedList(found[:most], None)

    # Logged models: only their folders.
    def get_logged_model(self, model_id: str) -> Record:
        return Record(artifact_location=str(self.artifacts / "models" / model_id / "artifacts"))

    def delete_logged_model(self, model_id: str) -> None:
        pass

    _hard_delete_logged_model = delete_logged_model

    # Registered models, versions and aliases.
    def create_registered_model(self, name: str, description: str = "") -> None:
        self.models[name] = Record(name=name, description=description, aliases={}, last=0)

    def get_registered_model(self, name: str) -> Record:
        return _found(self.models, name)

    def search_registered_models(self) -> list[Record]:
        return list(self.models.values())

    def update_registered_model(self, name: str, description: str) -> None:
        self.models[name].description = description

    def rename_registered_model(self, name: str, new_name: str) -> None:
        self.models[new_name] = self.models.pop(name)
        self.models[new_name].name = new_name
        for key in [key for key in self.versions if key[0] == name]:
            version = self.versions[new_name, key[1]] = self.versions.pop(key)
            version.name = new_name

    def delete_registered_model(self, name: str) -> None:
        del self.models[name]
        self.versions = {key: version for key, version in self.versions.items() if key[0] != name}

    def set_registered_model_alias(self, name: str, alias: str, version: str) -> None:
        _found(self.versions, (name, str(version)))
        self.models[name].aliases[alias] = str(version)

    def delete_registered_model_alias(self, name: str, alias: str) -> None:
        del self.models[name].aliases[alias]

    def create_model_version(
        self, name: str, source: str, run_id: str = "", tags: Any = None, description: str = ""
    ) -> Record:
        model = self.models[name]
        model.last += 1
        number, now = str(model.last), int(time.time() * 1000)
        version = Record(name=name, version=number, source=source, run_id=run_id, tags=dict(tags or {}))
        version.description, version.creation_timestamp, version.current_stage = description, now, "None"
        self.versions[name, number] = version
        return version

    def get_model_version(self, name: str, version: str) -> Record:
        return _found(self.versions, (name, str(version)))

    def search_model_versions(self, filter_string: str = "") -> list[Record]:
        name = filter_string.removeprefix("name = ").strip("'")
        return [version for version in self.versions.values() if name in ("", version.name)]

    def get_model_version_download_uri(self, name: str, version: str) -> str:
        return str(self.get_model_version(name, version).source)

    def update_model_version(self, name: str, version: str, description: str) -> None:
        self.versions[name, version].description = description

    def set_model_version_tag(self, name: str, version: str, key: str, value: str) -> None:
        self.versions[name, str(version)].tags[key] = value

    def delete_model_version_tag(self, name: str, version: str, key: str) -> None:
        del self.versions[name, version].tags[key]

    def delete_model_version(self, name: str, version: str) -> None:
        del self.versions[name, version]
        aliases = self.models[name].aliases
        self.models[name].aliases = {alias: number for alias, number in aliases.items() if number != version}


def use_memory(monkeypatch: pytest.MonkeyPatch, root: Path) -> FakeClient:
    """Give a project an empty registry in memory."""
    client = FakeClient(root)
    monkeypatch.delenv(store.SERVER, raising=False)
    monkeypatch.setattr(store, "MlflowClient", lambda tracking_uri: client)
    monkeypatch.setattr(store, "_create", lambda database: None)
    return client


def log_model(client: FakeClient, experiment_id: str, encoder: Path, *_: object, run_id: str | None) -> str:
    """Lay an encoder's files where those of a logged model are; stands for `tracking._log_model`."""
    model_id = f"m-{next(client.ids)}"
    folder = Path(client.get_logged_model(model_id).artifact_location)
    shutil.copytree(encoder, folder / "artifacts" / "encoder")
    (folder / "MLmodel").write_text(MLMODEL)
    return model_id


def _found(records: dict[Any, Record], key: Any) -> Record:
    if key not in records:
        raise MlflowException(f"{key} not found", error_code=RESOURCE_DOES_NOT_EXIST)
    return records[key]
