"""MLflow's store: one process at a time makes it, a moved checkout is healed, and errors are one sentence."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from conversations.files import atomic_path
from dial2vec.addresses import shown, silence
from dial2vec.config import parts_of
from dial2vec.encoder.checksums import damaged_files
from dial2vec.encoder.folder import check_files
from dial2vec.errors import CorpusError, ModelError, did_you_mean
from dial2vec.files import locked
from dial2vec.registry import SMALL, corpus_of
from dial2vec.registry.records import CANDIDATE
from dial2vec.telemetry import switch_off

switch_off()  # mlflow reads its switches while it is imported

# Of one request to a registry server. MLflow's own limits add up to a quarter of an hour with a server that hangs.
LIMITS = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "60", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3"}
for limit, value in LIMITS.items():
    os.environ.setdefault(limit, value)

import mlflow  # noqa: E402
from mlflow import MlflowClient  # noqa: E402
from mlflow.entities.model_registry import ModelVersion, RegisteredModel  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore  # noqa: E402
from sqlalchemy.exc import SQLAlchemyError  # noqa: E402

# It logs each error of the database with a traceback, and raises it too.
logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)

SERVER = "MLFLOW_TRACKING_URI"
# Start of the names of our experiments and models.
PREFIX = "dial2vec-"
# Between collection and lens in the name of a registered lens; names of encoders have no such part.
LENS_MODELS = "-lens-"
# Columns of MLflow's database that hold absolute paths. MLflow has no call that changes them.
ABSOLUTE_PATHS = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "storage_location"),
    ("model_versions", "source"),
)


def model_name(corpus: str) -> str:
    """Return the name of a corpus's experiment and registered model.

    :param corpus: name of a corpus; with `SMALL` at its end for the model of its student.
    :raises CorpusError: if it is no corpus name.
    """
    names = parts_of(corpus_of(corpus))
    if not corpus.isascii() or not all(name.replace("_", "").isalnum() for name in names):
        raise CorpusError(
            f"{corpus!r} is no corpus name; use letters, digits and '_' only, and '{SMALL}' at the end for its student."
        )
    return f"{PREFIX}{corpus}"


def store_uri(root: Path) -> str:
    """Return the URI of the store: MLFLOW_TRACKING_URI if set, else the database in the project folder."""
    return os.environ.get(SERVER) or f"sqlite:///{database_path(root)}"


def open_store(root: Path, server: str = "") -> MlflowClient:
    """Open the project's store; make it on first use, also if several processes start at once.

    MLflow stores absolute paths; they are rewritten if the checkout was moved or copied.

    :param root: project folder; its store is `mlruns/mlflow.db` unless MLFLOW_TRACKING_URI names another.
    :param server: address of a server to open instead.
    :raises ModelError: if the server does not answer, or the database is damaged or read-only.
    """
    uri = server or store_uri(root)
    if server or os.environ.get(SERVER):
        _probe(uri)
    else:
        database = database_path(root)
        with one_sentence(uri), locked(database.with_name(".open.lock")):
            if database.is_file() and database.stat().st_size:
                _heal(database)
            else:
                _create(database)
    with one_sentence(uri):
        client = MlflowClient(tracking_uri=uri)
        client.search_experiments(max_results=1)
        return client


@contextlib.contextmanager
def opened(root: Path, server: str = "") -> Iterator[MlflowClient]:
    """Open the project's store for a `with` block, in which an error of MLflow or its database is one sentence.

    :raises ModelError: if the store cannot be used.
    """
    client = open_store(root, server)
    with one_sentence(server or store_uri(root)):
        yield client


def database_path(root: Path) -> Path:
    """Return the path of the project's own database."""
    return root.resolve() / "mlruns" / "mlflow.db"


def _artifacts(database: Path) -> Path:
    return database.with_name("artifacts")


def registry_lock(root: Path) -> contextlib.AbstractContextManager[None]:
    """Lock the registry of a project: only one process at a time makes versions and moves aliases."""
    return locked(database_path(root).with_name(".register.lock"))


@contextlib.contextmanager
def one_sentence(uri: str) -> Iterator[None]:
    """Turn errors of MLflow and its database into one sentence."""
    try:
        yield
    except (MlflowException, SQLAlchemyError, sqlite3.Error) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        advice = "Check the server."
        if "disk is full" in reason:
            advice = "Free some space and run again."
        elif uri.startswith("sqlite:///"):
            advice = (
                "Expected a complete database of this MLflow version in a writable folder; restore it, or move the "
                "folder `mlruns` away and run `dial2vec run`."
            )
        raise ModelError(f"the MLflow store {shown(uri)} cannot be used: {reason}. {advice}") from error


def _probe(uri: str) -> None:
    """Raise if a server does not answer within 10 s; MLflow's own client would retry for two minutes."""
    if not uri.startswith(("http://", "https://")):
        return
    if reason := silence(f"{uri.rstrip('/')}/health", seconds=10):
        raise ModelError(
            f"the MLflow server {shown(uri)} does not answer ({reason}). Start it, correct its address, or unset "
            f"{SERVER} to use the store in the project folder."
        )


def _create(database: Path) -> None:
    """Make the database under another name and rename it, so a kill leaves no incomplete tables."""
    with atomic_path(database) as temporary:
        store = SqlAlchemyStore(f"sqlite:///{temporary}", str(_artifacts(database)))
        store.engine.dispose()


def _heal(database: Path) -> None:
    """Rewrite all absolute paths of a moved or copied checkout in one transaction."""
    here = str(_artifacts(database))
    with contextlib.closing(sqlite3.connect(database, timeout=20, isolation_level=None)) as connection:
        # The write lock reveals a read-only or damaged database before any training is logged.
        connection.execute("BEGIN IMMEDIATE")
        moved = connection.execute(
            "SELECT DISTINCT artifact_location FROM experiments WHERE name LIKE 'dial2vec-%' "
            "AND artifact_location LIKE '/%/mlruns/artifacts' AND artifact_location <> ?",
            (here,),
        ).fetchall()
        for (old,) in moved:
            for table, column in ABSOLUTE_PATHS:
                connection.execute(
                    f"UPDATE {table} SET {column} = ? || substr({column}, ?) WHERE substr({column} || '/', 1, ?) = ?",
                    (here, len(old) + 1, len(old) + 1, f"{old}/"),
                )
        connection.execute("COMMIT")


def pages(search: Callable[..., Any], **wanted: Any) -> Iterator[Any]:
    """Yield what a search of MLflow finds, page by page."""
    page = search(**wanted)
    yield from page
    while page.token:
        page = search(**wanted, page_token=page.token)
        yield from page


def experiment(client: MlflowClient, root: Path, corpus: str) -> str:
    """Return the id of the corpus's experiment; make it on first use. Nothing else may make one."""
    name = model_name(corpus)
    existing = client.get_experiment_by_name(name)
    if existing is None:
        location = None if os.environ.get(SERVER) else str(_artifacts(database_path(root)))
        try:
            return str(client.create_experiment(name, artifact_location=location))
        except MlflowException:
            existing = client.get_experiment_by_name(name)
            if existing is None:  # else another process was faster
                raise
    if existing.lifecycle_stage == "deleted":
        client.restore_experiment(existing.experiment_id)
    return str(existing.experiment_id)


def versions_of(client: MlflowClient, name: str) -> dict[str, ModelVersion]:
    """Return the versions of a model by their numbers, newest first."""
    versions = client.search_model_versions(f"name = '{name}'")
    return {str(version.version): version for version in sorted(versions, key=lambda version: -int(version.version))}


def model_of(client: MlflowClient, name: str) -> RegisteredModel | None:
    """Return a registered model with its aliases; None if no model has that name."""
    try:
        return client.get_registered_model(name)
    except MlflowException as error:
        if error.error_code not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            raise
        return None


def aliases_of(client: MlflowClient, name: str) -> dict[str, str]:
    """Return alias -> version of a model.

    :raises ModelError: if nothing is registered under that name.
    """
    model = model_of(client, name)
    if model is None:
        names = [model.name for model in client.search_registered_models()]
        # Of all names the beginning is the same.
        alike = [other for other in names if did_you_mean(name.removeprefix(PREFIX), [other.removeprefix(PREFIX)])]
        if name.endswith(SMALL) and name.removesuffix(SMALL) in names:
            raise ModelError(
                f"nothing is registered as {name}: no run has kept a student. `dial2vec results` says why."
            )
        raise ModelError(
            f"nothing is registered as {name}.{did_you_mean(name, alike)} "
            f"Registered: {', '.join(sorted(names)) or 'nothing at all'}. Run `dial2vec run` first."
        )
    return {alias: str(number) for alias, number in model.aliases.items()}


def candidate_of(client: MlflowClient, name: str) -> ModelVersion:
    """Return the candidate of a model.

    :raises ModelError: if no version has that alias.
    """
    aliases = aliases_of(client, name)
    if CANDIDATE not in aliases:
        raise ModelError(f"{name} has no version under the alias '{CANDIDATE}'. Run `dial2vec run` first.")
    return client.get_model_version(name, aliases[CANDIDATE])


def encoder_folder(client: MlflowClient, version: ModelVersion) -> Path:
    """Return the encoder folder of a version; files of a server are downloaded once, into the user's cache.

    :raises ModelError: if the files are gone or damaged.
    """
    location = client.get_model_version_download_uri(version.name, version.version)
    model = Path(location) if location.startswith("/") else _downloaded(version, location)
    if not (model / "MLmodel").is_file():
        raise ModelError(
            f"the files of {version.name} version {version.version} are gone: {model} holds no model. "
            "Restore them, or run `dial2vec run` to train and register again."
        )
    corpus = version.name.removeprefix(PREFIX)
    check_files(
        model,
        f"It is of {version.name} version {version.version}, which is not used. Bring the file back from a backup, or "
        f"make another version the champion: dial2vec rollback {corpus} [--to N].",
    )
    about = yaml.safe_load((model / "MLmodel").read_text(encoding="utf-8"))
    return model / about["flavors"]["python_function"]["artifacts"]["encoder"]["path"]


def has_files(client: MlflowClient, version: ModelVersion) -> bool:
    """Return True if the files of a version exist; those of a server always count as existing."""
    location = client.get_model_version_download_uri(version.name, version.version)
    return not location.startswith("/") or (Path(location) / "MLmodel").is_file()


def has_whole_files(client: MlflowClient, version: ModelVersion) -> bool:
    """Return True if `encoder_folder` would return the files of a version; those of a server count as whole."""
    location = client.get_model_version_download_uri(version.name, version.version)
    return has_files(client, version) and not any(damaged_files(Path(location)))


def _downloaded(version: ModelVersion, location: str) -> Path:
    server = os.environ.get(SERVER, "")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "dial2vec"
    model = cache / hashlib.sha256(f"{server} {location}".encode()).hexdigest()[:16]
    if not model.is_dir() or any(damaged_files(model)):
        with atomic_path(model) as temporary:
            temporary.mkdir()
            address = f"models:/{version.name}/{version.version}"
            mlflow.artifacts.download_artifacts(address, dst_path=str(temporary), tracking_uri=server)
    return model


def store_figures(client: MlflowClient, version: ModelVersion, scores: dict[str, float] | None, dev_hash: str) -> None:
    """Store the figures of a version on the dev split with this hash."""
    for key, value in (("dev_scores", json.dumps(scores)), ("dev_hash", dev_hash)):
        client.set_model_version_tag(version.name, version.version, key, value)
        version.tags[key] = value


def dev_scores(version: ModelVersion) -> dict[str, float] | None:
    """Return the stored figures of a version in points, or None."""
    scores: Any = json.loads(version.tags.get("dev_scores", "null"))
    return scores


def own_files(client: MlflowClient, model_id: str) -> str:
    """Return the source of a version of a logged model: files of its own, which `mlflow gc` does not remove.

    `mlflow gc` deletes the files of a logged model even if a version uses them. The copies are hard links, so they take
    no space. A server keeps its files itself.
    """
    if os.environ.get(SERVER):
        return f"models:/{model_id}"
    logged = Path(client.get_logged_model(model_id).artifact_location)
    # From .../models/m-<id>/artifacts.
    own = logged.parents[2] / "registered" / model_id
    with atomic_path(own) as temporary:
        shutil.copytree(logged, temporary, copy_function=_link)
    return str(own)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def hard_delete(client: MlflowClient, *, run_id: str = "", model_id: str = "") -> None:
    """Delete a run and a logged model; those of the store in the project folder for good, as `mlflow gc` does.

    :param run_id: id of the run; "" for none.
    :param model_id: id of the logged model; "" for none.
    """
    if model_id:
        client.delete_logged_model(model_id)
    if run_id:
        client.delete_run(run_id)
    if not os.environ.get(SERVER):
        # MLflow has this for its own command `gc` only.
        store = client._tracking_client.store
        if model_id:
            store._hard_delete_logged_model(model_id)
        if run_id:
            store._hard_delete_run(run_id)
