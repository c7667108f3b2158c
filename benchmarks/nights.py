"""Three nights of retraining on data that grows, by a real server and worker, and pictures of the pages they leave.

    .venv/bin/python benchmarks/nights.py --pictures docs

In a scratch project a corpus begins with 700 dialogues of the demo, and every night 300 more lie in the inbox; of the
third night's the words are shuffled, so that they teach nothing. After each night it prints what the run came to, at
the end the history and a rollback. With --pictures it opens MLflow's and Prefect's pages in headless Chromium. Takes 20
minutes on two cores; once the nights are over, only pictures are taken.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from browser import browser
from explorer import fresh
from gate import shuffled
from prefect.client.orchestration import SyncPrefectClient
from scratch import at_work, make_project, say

from conversations.dialogue import write_dialogues
from dial2vec.data.corpora.demo import generate_demo
from dial2vec.operation.pages import prefect_password

CORPUS, FIRST, EACH, NIGHTS = "calls", 700, 300, 3
PREFECT, MLFLOW = 4291, 5091
SIZE = (1400, 1250)
PREFECT_PAGES = {"prefect-runs": "/runs", "prefect-verdict": "/artifacts/artifact/{verdict}"}
MLFLOW_PAGES = {
    "mlflow-runs": "/#/experiments/1/runs",
    "mlflow-model": f"/#/models/dial2vec-{CORPUS}",
    "mlflow-version": f"/#/models/dial2vec-{CORPUS}/versions/{NIGHTS + 2}",
}


def bring(folder: Path, night: int) -> None:
    """Put a night's dialogues into the inbox."""
    last = FIRST + EACH * night
    dialogues = list(generate_demo(n_dialogues=last))[last - EACH :]
    path = folder / "inbox" / CORPUS / f"night{night}.jsonl"
    write_dialogues(path, shuffled(dialogues, seed=night) if night == NIGHTS else dialogues)
    long_ago = time.time() - 600
    os.utime(path, (long_ago, long_ago))


def main() -> None:
    """Three nights, a rollback, and the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("artifacts/nights"), help="folder of the scratch project")
    parser.add_argument("--pictures", type=Path, help="folder that gets the pictures")
    arguments = parser.parse_args()
    folder = arguments.work.resolve()
    if not (folder / "over").exists():
        nights(folder)
    if arguments.pictures:
        take(folder, arguments.pictures)


def nights(folder: Path) -> None:
    """Train on the first dialogues and then night by night, and take the last promotion back."""
    make_project(folder, CORPUS, train={"max_dialogues": 320, "checkpoint_steps": 5})
    write_dialogues(folder / "data" / CORPUS / "first.jsonl", list(generate_demo(n_dialogues=FIRST)))
    say(folder, "dial2vec", "add", CORPUS)
    server = f"http://127.0.0.1:{PREFECT}/api"
    deployed = (folder / "prefect.yaml").is_file
    with at_work(folder, f"{server}/health", "dial2vec", "schedule", "--port", str(PREFECT)):
        while not deployed():
            time.sleep(1)
        # The deployment is made after the server is up.
        time.sleep(60)
        for night in range(NIGHTS + 1):
            if night:
                bring(folder, night)
            variables = {"PREFECT_API_URL": server, "PREFECT_API_AUTH_STRING": prefect_password(folder)}
            say(folder, "prefect", "deployment", "run", "retrain/nightly", "--watch", **variables)
            say(folder, "dial2vec", "history", CORPUS)
    say(folder, "dial2vec", "rollback", CORPUS, "--because", "to show how")
    say(folder, "dial2vec", "history", CORPUS)
    (folder / "over").touch()


def take(folder: Path, pictures: Path) -> None:
    """Open both pages, give them time to load, and keep what is seen."""
    prefect, mlflow = f"http://127.0.0.1:{PREFECT}", f"http://127.0.0.1:{MLFLOW}"
    with (
        at_work(folder, f"{prefect}/api/health", "dial2vec", "page", "prefect", "--port", str(PREFECT)),
        at_work(folder, f"{mlflow}/health", "dial2vec", "page", "mlflow", "--port", str(MLFLOW)),
        browser(fresh(folder / "chromium")) as page,
    ):
        page.look(SIZE)
        password = prefect_password(folder)
        page.open(prefect)
        page.value(f"localStorage.setItem('prefect-password', btoa({json.dumps(password)}))")
        verdict = newest(f"{prefect}/api", password, key="verdict")
        addresses = {name: prefect + path.format(verdict=verdict) for name, path in PREFECT_PAGES.items()}
        addresses |= {name: mlflow + path for name, path in MLFLOW_PAGES.items()}
        for name, address in addresses.items():
            page.open(address)
            time.sleep(15)
            page.picture(pictures / f"{name}.png")


def newest(address: str, password: str, *, key: str) -> str:
    """Return the id of the newest artifact of this key."""
    wanted = {"artifacts": {"key": {"any_": [key]}}, "sort": "CREATED_DESC", "limit": 1}
    with SyncPrefectClient(address, auth_string=password) as client:
        [artifact] = client.request("POST", "/artifacts/filter", json=wanted).json()
    return str(artifact["id"])


if __name__ == "__main__":
    main()
