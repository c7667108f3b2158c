from __future__ import annotations

import logging
import os
import sqlite3
import time

import pytest

from dial2vec.errors import ModelError
from dial2vec.registry.store import one_sentence, open_store


def test_a_damaged_database_is_one_sentence(root):
    (root / "mlruns" / "mlflow.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(ModelError, match=r"mlflow.db cannot be used: file is not a database\. .* move the folder"):
        open_store(root)


def test_an_empty_database_file_is_made_anew(new_root):
    (new_root / "mlruns").mkdir(parents=True)
    (new_root / "mlruns" / "mlflow.db").touch()
    assert open_store(new_root).search_experiments()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_database_is_one_sentence(root):
    (root / "mlruns" / "mlflow.db").chmod(0o400)
    with pytest.raises(ModelError, match="readonly"):
        open_store(root)


def test_a_dead_server_is_found_out_at_once(root, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    started = time.monotonic()
    with pytest.raises(ModelError, match=r"http://127.0.0.1:9 does not answer .* unset MLFLOW_TRACKING_URI"):
        open_store(root)
    assert time.monotonic() - started < 5


def test_a_full_disk_is_one_sentence_and_no_traceback_of_the_store(caplog):
    with (
        pytest.raises(ModelError, match="Free some space and run again"),
        one_sentence("sqlite:///a.db"),
    ):
        raise sqlite3.OperationalError("database or disk is full")
    logging.getLogger("mlflow.store.db.utils").error("an error of the database, with a traceback")
    assert caplog.messages == []
