"""MLflow: one run per training, one registered model per corpus; only the gate moves the alias `champion`."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version as installed
from pathlib import Path

from conversations.dialogue import Dialogue
from dial2vec.encoder.checksums import write_checksums
from dial2vec.encoder.folder import folder_hash
from dial2vec.errors import ModelError, did_you_mean
from dial2vec.files import find_root
from dial2vec.registry import EXAMPLES, corpus_of, decisions
from dial2vec.registry.by_hand import settled
from dial2vec.registry.model_card import model_card, start_card
from dial2vec.registry.records import CANDIDATE, CHAMPION, Decision, RegisteredVersion, Registration, TrainingRecord
from dial2vec.registry.store import (
    LENS_MODELS,
    SERVER,
    aliases_of,
    candidate_of,
    database_path,
    dev_scores,
    encoder_folder,
    experiment,
    has_whole_files,
    model_name,
    model_of,
    opened,
    own_files,
    registry_lock,
    store_figures,
    versions_of,
)

# isort: split
# After dial2vec.registry.store, which silences mlflow before it is imported.
import mlflow
from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, LoggedModelOutput, Metric, Param
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.models import Model

SOURCE = Path(__file__).parents[2]
# What an encoder imports, stored with each version.
CODE = (
    *(f"conversations/{name}.py" for name in ("__init__", "dialogue", "errors", "files")),
    "dial2vec/*.py",
    "dial2vec/encoder/**/*.*",
)
REQUIREMENTS = ("mlflow", "torch", "transformers", "numpy")
STUDENT_REQUIREMENTS = ("mlflow", "numpy", "tokenizers", "safetensors")


def register_training(root: Path, record: TrainingRecord) -> Registration:
    """Log one run for the training and register its encoder under the alias `candidate`.

    Registering the same fingerprint again changes nothing. Incomplete runs of a killed call are marked FAILED and made
    again. The first version of a corpus is its base encoder, also the first champion.

    :raises ModelError: if the store cannot be used.
    """
    name = model_name(record.corpus)
    with opened(root) as client, registry_lock(root):
        experiment_id = settled(client, root, record.corpus)
        start = _start_version(client, experiment_id, record)
        if CHAMPION not in client.get_registered_model(name).aliases:
            reason = "The base encoder, until a better one comes."
            first = Decision("first", start, before="", after=start, reason=reason, when=time.time())
            decisions.record(client, experiment_id, record.corpus, first)
        existing = _known_version(client, name, "fingerprint", record.fingerprint)
        for run in client.search_runs(experiment_id, f"tags.fingerprint = '{record.fingerprint}'"):
            if run.info.status == "RUNNING":
                whole = existing is not None and existing.run_id == run.info.run_id
                client.set_terminated(run.info.run_id, "FINISHED" if whole else "FAILED")
        rivals = {"start_version": start}
        if record.teacher_version:
            rivals["teacher_version"] = record.teacher_version
        version = existing or _candidate_version(client, root, experiment_id, record, rivals)
        for tag, number in rivals.items():
            if version.tags.get(tag) != number:
                # Somebody deleted the version that the tag names.
                client.set_model_version_tag(name, version.version, tag, number)
        client.set_registered_model_alias(name, CANDIDATE, version.version)
        champion = client.get_registered_model(name).aliases[CHAMPION]
    return Registration(str(version.version), version.run_id, start, str(champion), created=existing is None)


def _start_version(client: MlflowClient, experiment_id: str, record: TrainingRecord) -> str:
    """Return the version of the base encoder, registered if it is new, and store its present figures on dev."""
    name, digest = model_name(record.corpus), folder_hash(record.start_model)
    if model_of(client, name) is None:
        description = f"One vector per dialogue, for the corpus '{corpus_of(record.corpus)}'."
        client.create_registered_model(name, description=description)
    figures = {"dev_scores": json.dumps(record.dev_scores.get("start")), "dev_hash": record.dev_hash}
    if known := _known_version(client, name, "encoder_hash", digest):
        store_figures(client, known, record.dev_scores.get("start"), record.dev_hash)
        return str(known.version)
    tags = {"kind": "start", "encoder": record.start_name, "encoder_hash": digest}
    origin = {"data_hash": record.data_hash, "git_commit": record.git_commit}
    model_id = _log_model(client, experiment_id, record.start_model, record.example, REQUIREMENTS, run_id=None)
    created = _new_version(client, name, model_id, tags | figures | origin, start_card(record), run_id=None)
    return str(created.version)


def _known_version(client: MlflowClient, name: str, tag: str, value: str) -> ModelVersion | None:
    """Return the newest version with this tag and with whole files."""
    matches = (version for version in versions_of(client, name).values() if version.tags.get(tag) == value)
    return next((version for version in matches if has_whole_files(client, version)), None)


def _candidate_version(
    client: MlflowClient, root: Path, experiment_id: str, record: TrainingRecord, rivals: dict[str, str]
) -> ModelVersion:
    """Log the run and make the version, with the versions of its rivals as tags."""
    origin = {"data_hash": record.data_hash, "git_commit": record.git_commit, "dev_hash": record.dev_hash}
    origin["fingerprint"] = record.fingerprint
    description = model_card(record)
    tags = {**origin, "mlflow.source.git.commit": record.git_commit, "mlflow.note.content": description}
    with _run(client, experiment_id, tags, f"{record.corpus} {record.fingerprint[:8]}") as run_id:
        _log_data(client, run_id, root / "data" / corpus_of(record.corpus), record.data_hash)
        _log_figures(client, run_id, record)
        client.log_artifact(run_id, str(record.report))
        client.log_artifact(run_id, str(record.selection))
        needed = STUDENT_REQUIREMENTS if record.kind == "student" else REQUIREMENTS
        model_id = _log_model(client, experiment_id, record.model, record.example, needed, run_id=run_id)
        tags = rivals | origin | {"kind": record.kind, "dev_scores": json.dumps(record.dev_scores.get(record.kind))}
        return _new_version(client, model_name(record.corpus), model_id, tags, description, run_id=run_id)


@contextlib.contextmanager
def _run(client: MlflowClient, experiment_id: str, tags: dict[str, str], name: str) -> Iterator[str]:
    """Make a run, and close it after the `with` block."""
    run_id = client.create_run(experiment_id, tags=tags, run_name=name).info.run_id
    try:
        yield run_id
    except BaseException:
        with contextlib.suppress(Exception):
            client.set_terminated(run_id, "FAILED")
        raise
    client.set_terminated(run_id, "FINISHED")


def _new_version(
    client: MlflowClient, name: str, model_id: str, tags: dict[str, str], description: str, *, run_id: str | None
) -> ModelVersion:
    """Make a version with tags and description in one transaction: a kill leaves all of it or nothing."""
    source = own_files(client, model_id)
    return client.create_model_version(name, source, run_id=run_id, tags=tags, description=description)


def _log_data(client: MlflowClient, run_id: str, path: Path, digest: str) -> None:
    """Name the data of a run in the runs' table, with DVC's hash as its version."""
    data = Dataset(path.name, digest, source_type="local", source=json.dumps({"uri": str(path)}))
    client.log_inputs(run_id, [DatasetInput(data)])


def _log_figures(client: MlflowClient, run_id: str, record: TrainingRecord) -> None:
    now = int(time.time() * 1000)
    metrics = [
        Metric(key, float(value), now, int(entry["step"]))
        for entry in record.history
        for key, value in entry.items()
        if key != "step"
    ]
    final = {f"seconds_{stage}": seconds for stage, seconds in record.seconds.items()}
    for split, scores in (("test", record.scores), ("dev", record.dev_scores)):
        for encoder in dict.fromkeys(("start", "trained", record.kind)):
            prefix = f"{split}_" if encoder == record.kind else f"{split}_{encoder}_"
            final |= {f"{prefix}{key}": value for key, value in (scores.get(encoder) or {}).items()}
    metrics += [Metric(key, float(value), now, 0) for key, value in final.items()]
    sizes = {f"dialogues.{split}": size for split, size in record.split_sizes.items()}
    client.log_batch(run_id, metrics, [Param(key, str(value)) for key, value in {**record.params, **sizes}.items()])


def _log_model(
    client: MlflowClient,
    experiment_id: str,
    encoder: Path,
    example: Dialogue,
    requirements: Sequence[str],
    *,
    run_id: str | None,
) -> str:
    """Store an encoder folder as a pyfunc model and return its id.

    Use the client only: MLflow's fluent functions would change the tracking URI of the whole process.
    """
    logged = client.create_logged_model(experiment_id, name="encoder", source_run_id=run_id, model_type="encoder")
    own_id = logged.model_id
    about = Model(artifact_path=logged.artifact_location, run_id=run_id, model_uuid=own_id, model_id=own_id)
    record = example.to_record()
    with tempfile.TemporaryDirectory() as temporary:
        folder, code = Path(temporary) / "model", Path(temporary) / "code"
        _copy_code(code)
        mlflow.pyfunc.save_model(
            path=str(folder),
            mlflow_model=about,
            python_model=str(Path(__file__).with_name("registered_model.py")),
            artifacts={"encoder": str(encoder.resolve())},
            code_paths=[str(package) for package in sorted(code.iterdir())],
            # A local build such as 2.6.0+cpu is not on the package index.
            pip_requirements=[f"{name}=={installed(name).split('+')[0]}" for name in requirements],
            input_example=[{key: record[key] for key in ("dialogue_id", "turns")}],
        )
        write_checksums(folder, without=EXAMPLES)
        client.log_model_artifacts(own_id, str(folder))
    if run_id:
        client.log_outputs(run_id, [LoggedModelOutput(own_id, step=0)])
    client.finalize_logged_model(own_id, "READY")
    return str(own_id)


def _copy_code(folder: Path) -> None:
    for pattern in CODE:
        for path in SOURCE.glob(pattern):
            if path.suffix != ".pyc":
                target = folder / path.relative_to(SOURCE)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)


def log_run(
    root: Path,
    *,
    area: str,
    name: str,
    params: Mapping[str, object],
    metrics: Mapping[str, float],
    tags: dict[str, str],
    record: Mapping[str, object],
    course: Sequence[Mapping[str, float]] = (),
    once: str = "",
    data: tuple[Path, str] | None = None,
    table: Mapping[str, Sequence[object]] | None = None,
    file: Path | None = None,
) -> str:
    """Log one finished run without a model, and return its id.

    :param area: name of the experiment after `dial2vec-`.
    :param record: content of the run's artifact `record.json`.
    :param course: points of a training run, each with its "step"; their figures are logged as `course.<name>`.
    :param once: tag by whose value a finished run is known and not repeated; runs of killed calls are marked FAILED.
    :param data: path of the run's data, and DVC's hash of it.
    :param table: columns of the artifact `table.json`, which MLflow's page shows as a table.
    :param file: a further artifact.
    :raises ModelError: if the store cannot be used.
    """
    now = int(time.time() * 1000)
    logged = [Metric(key, float(value), now, 0) for key, value in metrics.items()]
    for point in course:
        logged += [Metric(f"course.{key}", value, now, int(point["step"])) for key, value in point.items()]
    with opened(root) as client:
        experiment_id = experiment(client, root, area)
        for run in client.search_runs([experiment_id], f"tags.`{once}` = '{tags[once]}'") if once else ():
            if run.info.status == "FINISHED":
                return str(run.info.run_id)
            client.set_terminated(run.info.run_id, "FAILED")
        with _run(client, experiment_id, tags, name) as run_id:
            if data:
                _log_data(client, run_id, *data)
            if table:
                import pandas as pd  # a server of a student has none

                # MLflow would warn of the columns that pandas makes of texts.
                client.log_table(run_id, pd.DataFrame(table, dtype=object), "table.json")
            if file:
                client.log_artifact(run_id, str(file))
            client.log_batch(run_id, logged, [Param(key, str(value)) for key, value in params.items()])
            client.log_dict(run_id, record, "record.json")
    return run_id


def local_model(uri: str, *, root: Path | None) -> Path:
    """Return the encoder folder of a registry address; a local store copies nothing.

    :param uri: address, "models:/dial2vec-demo@champion" or "models:/dial2vec-demo/2".
    :param root: project folder; None means the one at or above the working directory.
    :raises ModelError: if the model, alias or version is missing; the message names the existing ones.
    """
    name, at, alias = uri.removeprefix("models:/").partition("@")
    number = ""
    if not at:
        name, _, number = name.partition("/")
    if not uri.startswith("models:/") or not name or not (alias or number):
        raise ModelError(
            f"{uri} is no registry address; expected 'models:/<model>@<alias>' or 'models:/<model>/<version>'."
        )
    if root is None:
        root = Path.cwd() if os.environ.get(SERVER) else find_root()
    with opened(root) as client:
        aliases = aliases_of(client, name)
        if alias and alias not in aliases:
            raise ModelError(
                f"{name} has no alias '{alias}'.{did_you_mean(alias, aliases)} "
                f"It has: {', '.join(sorted(aliases)) or 'none'}."
            )
        versions = versions_of(client, name)
        wanted = aliases.get(alias, number)
        if wanted not in versions:
            raise ModelError(f"{name} has no version {wanted}. It has: {', '.join(sorted(versions, key=int))}.")
        return encoder_folder(client, versions[wanted])


def run_address(root: Path, corpus: str) -> str:
    """Return the address of the candidate's run on MLflow's page, relative to the page; of its version without a run.

    :raises ModelError: if nothing is registered, or the store cannot be used.
    """
    name = model_name(corpus)
    with opened(root) as client:
        version = candidate_of(client, name)
        try:
            of = client.get_run(version.run_id).info.experiment_id
        except MlflowException:
            # Somebody has deleted the run for good.
            return f"/#/models/{name}/versions/{version.version}"
        return f"/#/experiments/{of}/runs/{version.run_id}"


def registered_versions(root: Path, corpus: str) -> list[RegisteredVersion]:
    """Return the registered versions of a corpus, oldest first.

    :raises ModelError: if nothing is registered, or the store cannot be used.
    """
    name = model_name(corpus)
    with opened(root) as client:
        aliases = aliases_of(client, name)
        return [
            RegisteredVersion(
                version=number,
                aliases=tuple(sorted(alias for alias, of in aliases.items() if of == number)),
                kind=version.tags.get("kind", ""),
                dev_scores=dev_scores(version),
                created=version.creation_timestamp / 1000,
            )
            for number, version in reversed(versions_of(client, name).items())
        ]


def damaged_versions(root: Path) -> list[str]:
    """Return a sentence per registered encoder whose files are gone or damaged; nothing without a registry."""
    problems: list[str] = []
    if not os.environ.get(SERVER) and not database_path(root).is_file():
        return problems
    with opened(root) as client:
        names = [model.name for model in client.search_registered_models() if LENS_MODELS not in model.name]
        for name in names:
            for version in versions_of(client, name).values():
                try:
                    encoder_folder(client, version)
                except ModelError as error:
                    problems.append(str(error))
    return problems
