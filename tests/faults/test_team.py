"""A team's servers, on loopback: Prefect and MLflow on PostgreSQL, models and DVC's data in an S3-compatible store.

Needs PostgreSQL's programs, and `pip install psycopg2-binary dvc-s3 'moto[server]'`.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from servers import OFF, free_port, running, wait_for_page

from project import CORPUS, dialogues, drop, environment, make_project

BIN = Path(sys.prefix) / "bin"
FOUND = [shutil.which("initdb"), *Path("/usr/lib").glob("postgresql/*/bin/initdb")]
POSTGRES = [Path(found).resolve().parent for found in FOUND if found]
NEEDED = ("psycopg2", "asyncpg", "moto", "dvc_s3")
MISSING = [name for name in NEEDED if find_spec(name) is None] + ([] if POSTGRES else ["PostgreSQL"])
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """PostgreSQL with the databases `prefect` and `mlflow`; its address, without the database."""
    port, as_account = free_port(), {}
    # It refuses to be root, and its account cannot reach pytest's own folders.
    folder = Path(tempfile.mkdtemp())
    if os.geteuid() == 0:
        account = pwd.getpwnam("postgres")
        os.chown(folder, account.pw_uid, account.pw_gid)
        as_account = {"user": account.pw_uid, "group": account.pw_gid}
    data, log = folder / "data", folder / "log"
    tool = POSTGRES[-1]
    subprocess.run(
        [tool / "initdb", "-D", data, "-U", "team", "--auth", "trust"], check=True, capture_output=True, **as_account
    )
    listen = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder}"
    subprocess.run([tool / "pg_ctl", "-D", data, "-l", log, "-o", listen, "-w", "start"], check=True, **as_account)
    import psycopg2

    with contextlib.closing(psycopg2.connect(host="127.0.0.1", port=port, user="team", dbname="postgres")) as found:
        found.autocommit = True
        for name in ("prefect", "mlflow"):
            found.cursor().execute(f"create database {name}")
    yield f"team@127.0.0.1:{port}"
    subprocess.run([tool / "pg_ctl", "-D", data, "-m", "fast", "-w", "stop"], check=True, **as_account)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def servers(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The servers, and the variables by which a worker finds them."""
    folder = tmp_path_factory.mktemp("servers")
    s3, mlflow, prefect = free_port(), free_port(), free_port()
    keys = {"AWS_ACCESS_KEY_ID": "team", "AWS_SECRET_ACCESS_KEY": "team", "AWS_DEFAULT_REGION": "us-east-1"}
    keys |= {"MLFLOW_S3_ENDPOINT_URL": f"http://127.0.0.1:{s3}", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{s3}"}
    with contextlib.ExitStack() as stack:
        stack.enter_context(running(folder / "s3", BIN / "moto_server", "-p", str(s3), variables={}))
        wait_for_page(f"http://127.0.0.1:{s3}")
        import boto3

        client = boto3.client("s3", endpoint_url=keys["AWS_ENDPOINT_URL"], aws_access_key_id="team",
                              aws_secret_access_key="team", region_name="us-east-1")  # fmt: skip
        for bucket in ("models", "data"):
            client.create_bucket(Bucket=bucket)
        listen = ("--host", "127.0.0.1", "--port")
        stores = ("--backend-store-uri", f"postgresql://{postgres}/mlflow", "--artifacts-destination", "s3://models")
        server = (sys.executable, "-m", "mlflow", "server", *listen, str(mlflow), "--workers", "1", *stores)
        stack.enter_context(running(folder / "mlflow", *server, variables=keys | OFF))
        database = {"PREFECT_API_DATABASE_CONNECTION_URL": f"postgresql+asyncpg://{postgres}/prefect"}
        database |= {"PREFECT_HOME": str(folder / "prefect-home"), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
        server = (sys.executable, "-m", "prefect", "server", "start", *listen, str(prefect))
        stack.enter_context(running(folder / "prefect", *server, variables=database))
        wait_for_page(f"http://127.0.0.1:{mlflow}/health")
        wait_for_page(f"http://127.0.0.1:{prefect}/api/health")
        named = {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{mlflow}"}
        named |= {"PREFECT_API_URL": f"http://127.0.0.1:{prefect}/api"}
        yield keys | named


def call(project: Path, servers: dict[str, str], *command: str) -> str:
    done = subprocess.run(
        [f".venv/bin/{command[0]}", *command[1:]],
        cwd=project, env=environment(project) | servers, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def project(servers: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout on the worker's machine, whose data goes to the team's store."""
    folder = make_project(tmp_path_factory.mktemp("worker"))
    call(folder, servers, "dvc", "remote", "add", "--default", "team", "s3://data")
    call(folder, servers, "dvc", "remote", "modify", "team", "endpointurl", servers["AWS_ENDPOINT_URL"])
    operation = folder / "operation.yaml"
    operation.write_text(operation.read_text().replace("push: nothing", "push: everything"))
    return folder


def test_a_retraining_registers_and_promotes_on_the_teams_servers(project, servers):
    call(project, servers, "python", "flows/retrain.py")
    assert "promoted; champion is version 2" in call(project, servers, "dial2vec", "history", CORPUS)
    assert not (project / "mlruns" / "mlflow.db").exists()


def test_the_champion_embeds_from_another_checkout(project, servers, tmp_path_factory):
    """It has settings and `data.dvc`, as from git, and neither models nor data of its own."""
    other = make_project(tmp_path_factory.mktemp("colleague"))
    for name in ("params.yaml", "operation.yaml", "data.dvc", "dvc.lock"):
        shutil.copy(project / name, other / name)
    shutil.copy(project / ".dvc" / "config", other / ".dvc" / "config")
    shutil.rmtree(other / "data")
    shutil.rmtree(other / ".dvc" / "cache")
    call(other, servers, "dvc", "pull")
    assert (other / "data" / CORPUS / "a.jsonl").read_text() == dialogues(240)
    (other / "new.jsonl").write_text(dialogues(5, first=900))
    model = f"models:/dial2vec-{CORPUS}@champion"
    done = call(other, servers, "dial2vec", "embed", "new.jsonl", "--model", model, "--output", "vectors.parquet")
    assert "5 vectors of length 16" in done
    assert "trained (candidate, champion)" in call(other, servers, "dial2vec", "versions", CORPUS)


def test_a_worker_takes_runs_from_the_teams_server(project, servers):
    drop(project, "tuesday.jsonl", dialogues(60, first=5000))
    with running(project / "said.log", project / ".venv/bin/dial2vec", "schedule", "--now",
                 variables=environment(project) | servers):  # fmt: skip
        deadline = time.monotonic() + 900
        while "version 3 promoted" not in call(project, servers, "dial2vec", "history", CORPUS):
            assert time.monotonic() < deadline, (project / "said.log").read_text()
            time.sleep(5)
    assert not (project / ".prefect" / "prefect.db").exists()


def test_a_server_that_is_gone_is_named_and_nothing_is_lost(project, servers):
    gone = servers | {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{free_port()}"}
    done = subprocess.run(
        [".venv/bin/dial2vec", "history", CORPUS],
        cwd=project, env=environment(project) | gone, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "does not answer" in done.stderr
    assert "version 3 promoted" in call(project, servers, "dial2vec", "history", CORPUS)


def test_a_present_encoder_moves_to_another_registry_without_training(project, servers):
    alone = {name: value for name, value in servers.items() if name != "MLFLOW_TRACKING_URI"}
    trained = (project / "artifacts" / CORPUS / "training.json").stat().st_mtime
    call(project, alone, "dvc", "repro", "--single-item", "--force", f"register@{CORPUS}")
    assert (project / "artifacts" / CORPUS / "training.json").stat().st_mtime == trained
    assert "candidate" in call(project, alone, "dial2vec", "versions", CORPUS)
