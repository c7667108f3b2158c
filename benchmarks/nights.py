"""Three nights of retraining on data that grows, by a real server and worker, and pictures of the pages they leave.

    .venv/bin/python benchmarks/nights.py --pictures docs

In a scratch project a corpus begins with 700 dialogues of the demo, and every night 300 more lie in the inbox; of the
third night's the words are shuffled, so that they teach nothing. After each night it prints what the run came to, at
the end the history and a rollback. With --pictures it opens MLflow's and Prefect's pages in headless Chromium. Takes 20
minutes on two cores.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import yaml
from gate import shuffled

from dial2vec.artifacts import find_root
from dial2vec.corpora.demo import generate_demo
from dial2vec.dialogue import write_dialogues

ROOT = find_root(Path(__file__).parent)
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


def make_project(folder: Path) -> None:
    """Make a checkout with the first dialogues, and less training than usual."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("dvc.yaml", "src", "flows"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["corpora"] = [CORPUS]
    params["train"] |= {"max_dialogues": 320, "checkpoint_steps": 5}
    params["schedule"]["cron"] = "0 3 1 1 *"
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    write_dialogues(folder / "data" / CORPUS / "first.jsonl", list(generate_demo(n_dialogues=FIRST)))
    say(folder, "dvc", "init", "--no-scm", "--quiet")
    say(folder, "dial2vec", "add", CORPUS)


def bring(folder: Path, night: int) -> None:
    """Put a night's dialogues into the inbox."""
    last = FIRST + EACH * night
    dialogues = list(generate_demo(n_dialogues=last))[last - EACH :]
    path = folder / "inbox" / CORPUS / f"night{night}.jsonl"
    write_dialogues(path, shuffled(dialogues, seed=night) if night == NIGHTS else dialogues)
    long_ago = time.time() - 600
    os.utime(path, (long_ago, long_ago))


def environment(folder: Path) -> dict[str, str]:
    """Return the variables of the project's commands."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_"))}
    return clean | {"PYTHONPATH": str(folder / "src")}


def say(folder: Path, *command: str, **variables: str) -> None:
    """Print a command and what it says."""
    sys.stdout.write(f"\n$ {' '.join(command)}\n")
    sys.stdout.flush()
    run = [f".venv/bin/{command[0]}", *command[1:]]
    subprocess.run(run, cwd=folder, env=environment(folder) | variables, check=True)


@contextlib.contextmanager
def at_work(folder: Path, address: str, *command: str) -> Iterator[None]:
    """Keep a server going until the end of the `with`."""
    with (folder / "servers.log").open("ab") as log:
        run = [f".venv/bin/{command[0]}", *command[1:]]
        process = subprocess.Popen(run, cwd=folder, env=environment(folder), stdout=log, stderr=log)
    try:
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
                break
            if process.poll() is not None:
                sys.exit(f"{' '.join(command)} ended; see {folder / 'servers.log'}")
            time.sleep(1)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


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
    make_project(folder)
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
