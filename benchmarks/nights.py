"""Three nights of retraining on data that grows, by a real server and worker, and pictures of the pages they leave.

    .venv/bin/python benchmarks/nights.py --pictures docs

In a scratch project a corpus begins with 700 dialogues of the demo, and every night 300 more lie in the inbox; of the
third night's the words are shuffled, so that they teach nothing. After each night it prints what the run came to, at
the end the history and a rollback. With --pictures it opens MLflow's and Prefect's pages in headless Chromium. Takes 20
minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from gate import shuffled
from scratch import at_work, make_project, say

from dial2vec.corpora.demo import generate_demo
from dial2vec.dialogue import write_dialogues

CORPUS, FIRST, EACH, NIGHTS = "calls", 700, 300, 3
PREFECT, MLFLOW = 4291, 5091
# What is opened: name of the picture, address.
PAGES = {
    "prefect-run": f"http://127.0.0.1:{PREFECT}/runs",
    "prefect-artifacts": f"http://127.0.0.1:{PREFECT}/artifacts/key/verdict",
    "mlflow-runs": f"http://127.0.0.1:{MLFLOW}/#/experiments/1/runs",
    "mlflow-model": f"http://127.0.0.1:{MLFLOW}/#/models/dial2vec-{CORPUS}",
    "mlflow-version": f"http://127.0.0.1:{MLFLOW}/#/models/dial2vec-{CORPUS}/versions/3",
}


def bring(folder: Path, night: int) -> None:
    """Put a night's dialogues into the inbox."""
    last = FIRST + EACH * night
    dialogues = list(generate_demo(n_dialogues=last))[last - EACH :]
    path = folder / "inbox" / CORPUS / f"night{night}.jsonl"
    write_dialogues(path, shuffled(dialogues, seed=night) if night == NIGHTS else dialogues)
    long_ago = time.time() - 600
    os.utime(path, (long_ago, long_ago))


def picture(address: str, path: Path, *, profile: Path) -> None:
    """Open a page in headless Chromium, give it time to load, and keep what is seen."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("no chromium here; install it, or leave --pictures out")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1400,1000"]
    waiting = ["--virtual-time-budget=30000", "--run-all-compositor-stages-before-draw"]
    own = [f"--user-data-dir={profile}", f"--screenshot={path.resolve()}"]
    subprocess.run([browser, *options, *waiting, *own, address], check=True, capture_output=True, timeout=300)


def main() -> None:
    """Three nights, a rollback, and the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("artifacts/nights"), help="folder of the scratch project")
    parser.add_argument("--pictures", type=Path, help="folder that gets the pictures")
    arguments = parser.parse_args()
    folder = arguments.work.resolve()
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
            say(folder, "prefect", "deployment", "run", "retrain/nightly", "--watch", PREFECT_API_URL=server)
            say(folder, "dial2vec", "history", CORPUS)
        if arguments.pictures:
            page = ("dial2vec", "page", "mlflow", "--port", str(MLFLOW))
            with at_work(folder, f"http://127.0.0.1:{MLFLOW}/health", *page):
                for name, address in PAGES.items():
                    picture(address, arguments.pictures / f"{name}.png", profile=folder / "chromium")
    say(folder, "dial2vec", "rollback", CORPUS, "--because", "shown")
    say(folder, "dial2vec", "history", CORPUS)


if __name__ == "__main__":
    main()
