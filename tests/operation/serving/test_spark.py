"""A column of dialogues through MLflow's `spark_udf`; only where pyspark and Java are installed."""

from __future__ import annotations

import shutil
import sys

import numpy as np
import pytest

from dial2vec.encoder.loading import load_encoder
from dial2vec.registry.tracking import register_training
from tests.registry.conftest import new_root as new_root
from tests.registry.conftest import root as root

sql = pytest.importorskip("pyspark.sql")


@pytest.mark.services("pyspark")
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_a_column_of_dialogues_becomes_a_column_of_vectors(root, record, encoders, dialogue, monkeypatch):
    import mlflow

    from dial2vec.registry.store import store_uri

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store_uri(root))
    # With the whole package, not the small one of other tests: a Spark worker imports what is stored with the model.
    register_training(root, record)
    found = [dialogue("d1", "guest: w1 w2", "desk: w3"), dialogue("d2", "a: w9")]
    local = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    with local.config("spark.driver.host", "127.0.0.1").getOrCreate() as spark:
        records = [(one.dialogue_id, one.to_record()["turns"]) for one in found]
        calls = spark.createDataFrame(records, "dialogue_id string, turns array<struct<speaker:string, text:string>>")
        address = "models:/dial2vec-demo@champion"
        vector = mlflow.pyfunc.spark_udf(spark, address, env_manager="local", result_type="array<float>")
        rows = calls.withColumn("vector", vector(sql.functions.struct("dialogue_id", "turns"))).collect()
    expected = load_encoder(encoders / "start").encode(found)
    np.testing.assert_allclose([row.vector for row in rows], expected, atol=1e-5)
