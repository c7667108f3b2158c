"""What this package uses of other libraries without their promise: the parts, and the version that they were seen in.

If one of these fails with a newer version, the code named beside it needs another way, or the library an upper bound.
"""

from __future__ import annotations

import contextlib
import sqlite3
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# The library with the version that had the part; the part; what is used of it; the file that uses it.
PARTS = [
    ("torch 2.13.0", "torch:_softmax_backward_data", "", "attention.py"),
    ("torch 2.13.0", "torch:ops.mkldnn", "_reorder_linear_weight _linear_pointwise", "packed.py"),
    ("torch 2.13.0", "torch:ops.mkldnn._linear_pointwise", "binary", "packed.py"),
    ("torch 2.13.0", "torch:Tensor", "_version", "packed.py"),
    ("transformers 5.23.0", "transformers.integrations.sdpa_attention:sdpa_attention_forward", "", "attention.py"),
    ("transformers 5.23.0", "transformers.masking_utils:sdpa_mask", "", "attention.py"),
    ("mlflow 3.17.2", "mlflow.store.tracking.sqlalchemy_store:SqlAlchemyStore", "", "store.py"),
    ("mlflow 3.17.2", "mlflow.server.fastapi_app:app", "", "mlflow_app.py"),
    ("dvc 3.67.1", "dvc.dvcfile:Lockfile", "SCHEMA", "dvc_records.py"),
    ("dvc 3.67.1", "dvc.dvcfile:SingleStageFile", "SCHEMA", "dvc_records.py"),
    ("dvc 3.67.1", "dvc.utils.strictyaml:load", "", "dvc_records.py"),
    (
        *("prefect 3.8.8", "prefect.server.api.server:SubprocessASGIServer"),
        *("find_available_port _run_uvicorn_command stop api_url", "temporary_server.py"),
    ),
    (
        *("uvicorn 0.54.0", "uvicorn.protocols.http.h11_impl:H11Protocol"),
        *("connection_made data_received connection_lost", "server.py"),
    ),
]


@pytest.mark.parametrize(("seen", "part", "used", "file"), PARTS)
def test_a_private_part_is_where_it_was(seen, part, used, file):
    library, _, known = seen.partition(" ")
    module, _, path = part.partition(":")
    found = import_module(module)
    try:
        for name in path.split("."):
            found = getattr(found, name)
        for name in used.split():
            getattr(found, name)
    except AttributeError as error:
        pytest.fail(f"{library} {version(library)} lacks a part of {part} ({error}), which {known} had; see {file}")
    assert any(path.rpartition(".")[2] in source.read_text() for source in (ROOT / "src").rglob(file))


def test_mlflow_keeps_absolute_paths_in_the_columns_that_a_moved_project_corrects(empty_store):
    from dial2vec.registry.store import ABSOLUTE_PATHS, database_path

    with contextlib.closing(sqlite3.connect(database_path(empty_store))) as connection:
        for table, column in ABSOLUTE_PATHS:
            columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
            assert column in columns, f"mlflow {version('mlflow')}: {table} has no {column}, which 3.17.2 had"
