"""What every stage's command line has in common: one corpus, one lock, one line per error, its seconds."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from dial2vec import telemetry
from dial2vec.artifacts import Artifacts, find_root
from dial2vec.config import Settings
from dial2vec.errors import Dial2vecError
from dial2vec.files import checkout_lock, ending_with, write_json
from dial2vec.params import load_settings

Stage = Callable[[Artifacts, Settings], str]


def main(stage: Stage) -> None:
    """Run `python -m dial2vec.stages.<stage> <corpus>`: the stage's last line says what it did."""
    name = Path(sys.argv[0]).stem
    parser = argparse.ArgumentParser(prog=f"dial2vec.stages.{name}", description=stage.__doc__)
    parser.add_argument("corpus", help="a corpus named in params.yaml")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    arguments = parser.parse_args()
    telemetry.switch_off()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for chatty in ("httpx", "great_expectations", "alembic", "mlflow", "matplotlib", "fontTools"):
        logging.getLogger(chatty).setLevel(logging.ERROR)
    if "DVC_STAGE" in os.environ:
        _end_with_dvc()
    try:
        root = find_root()
        with checkout_lock(root, f"stage {name} of {arguments.corpus}"):
            run(stage, name, Artifacts(root, arguments.corpus))
    except Dial2vecError as error:
        if arguments.debug:
            raise
        sys.exit(f"{name} of {arguments.corpus}: {error}")
    except KeyboardInterrupt:
        sys.exit(f"{name} of {arguments.corpus}: stopped by you; `make run` goes on from here.")


def run(stage: Stage, name: str, artifacts: Artifacts) -> None:
    """Run a stage and note its seconds."""
    began = time.perf_counter()
    said = stage(artifacts, load_settings(artifacts.root / "params.yaml"))
    seconds = time.perf_counter() - began
    write_json(artifacts.seconds(name), round(seconds, 1))
    logging.getLogger(__name__).info("%s of %s: %s (%.0f s)", name, artifacts.corpus, said, seconds)


def _end_with_dvc() -> None:
    """End when the `dvc repro` that started this stage is killed, also while its libraries were still imported."""
    parent = os.getppid()
    # An orphan belongs to process 1, unless DVC is process 1 itself, as in a container that runs nothing else.
    if parent == 1 and b"dvc" not in Path("/proc/1/cmdline").read_bytes():
        sys.exit("the `dvc repro` that started this stage is gone, so it ends as well")
    ending_with(parent)()
