"""The command line of every stage: one corpus, one lock, one line per error; notes its seconds."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from conversations.files import write_json
from dial2vec import telemetry
from dial2vec.config import Settings
from dial2vec.errors import Dial2vecError
from dial2vec.files import checkout_lock, find_root
from dial2vec.params import load_settings
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.dvc_records import mend
from dial2vec.pipeline.free_space import naming_full_disk
from dial2vec.processes import collect_rarely, end_with

Stage = Callable[[Artifacts, Settings], str]
# Set by torchrun.
RANK = os.environ.get("RANK")


def main(stage: Stage, *, by_processes: bool = False) -> None:
    """Run `python -m dial2vec.pipeline.<stage> <corpus>`: its last line of output is the stage's summary.

    :param by_processes: True if several processes share the stage's work: `processes` of params.yaml, or those started
        by `torchrun -m dial2vec.pipeline.<stage> <corpus>`. Only the first one locks the checkout and writes files.
    """
    name = Path(sys.argv[0]).stem
    parser = argparse.ArgumentParser(prog=f"dial2vec.pipeline.{name}", description=stage.__doc__)
    parser.add_argument("corpus", help="a corpus named in params.yaml")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    arguments = parser.parse_args()
    _spare_imported()
    telemetry.switch_off()
    first = RANK in (None, "0")
    logging.basicConfig(level=logging.INFO if first else logging.ERROR, format="%(message)s")
    for chatty in ("httpx", "great_expectations", "alembic", "mlflow", "matplotlib", "fontTools"):
        logging.getLogger(chatty).setLevel(logging.ERROR)
    if RANK is not None:
        # If the launcher is killed, the checkout is unlocked, so this process must end.
        end_with(os.getppid())
    elif "DVC_STAGE" in os.environ:
        _end_with_dvc()
    try:
        root = find_root()
        artifacts = Artifacts(root, arguments.corpus)
        settings = load_settings(root / "params.yaml")
        if first:
            # Here too, because somebody may run DVC by hand: the records of earlier stages are then backed up.
            mend(root)
        lock = checkout_lock(root, f"stage {name} of {arguments.corpus}") if first else nullcontext()
        with lock, naming_full_disk(root):
            if by_processes and settings.processes > 1 and RANK is None:
                _launch(f"dial2vec.pipeline.{name}", arguments.corpus, settings.processes)
            elif first:
                _run(stage, name, artifacts, settings)
            else:
                stage(artifacts, settings)
    except Dial2vecError as error:
        if arguments.debug:
            raise
        sys.exit(f"{name} of {arguments.corpus}: {error}")
    except KeyboardInterrupt:
        sys.exit(f"{name} of {arguments.corpus}: stopped by you; `dial2vec run` goes on from here.")


def _spare_imported() -> None:
    """Look for garbage from now on, but not among the objects of the imported libraries."""
    gc.freeze()
    gc.enable()
    collect_rarely()


def _run(stage: Stage, name: str, artifacts: Artifacts, settings: Settings) -> None:
    began = time.perf_counter()
    summary = stage(artifacts, settings)
    seconds = time.perf_counter() - began
    write_json(artifacts.seconds(name), round(seconds, 1))
    logging.getLogger(__name__).info("%s of %s: %s (%.0f s)", name, artifacts.corpus, summary, seconds)


def _launch(module: str, corpus: str, n: int) -> None:
    """Run a stage in n processes, as `torchrun` does, and wait for them.

    :raises Dial2vecError: if one of them fails; it has printed why.
    :raises KeyboardInterrupt: if this process receives a signal to stop, such as Ctrl-C.
    """
    import torch
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    if torch.cuda.is_available() and n > torch.cuda.device_count():
        gpus = torch.cuda.device_count()
        raise Dial2vecError(f"`processes` is {n}, but this machine has {gpus} GPUs. Set it to at most {gpus}.")
    logging.getLogger("torch.distributed").setLevel(logging.CRITICAL)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=n,
        run_id=str(os.getpid()),
        rdzv_backend="c10d",
        # Any free port: another training may use the default one.
        rdzv_endpoint="localhost:0",
        max_restarts=0,
    )
    try:
        elastic_launch(config, sys.executable)("-m", module, corpus)
    except ChildFailedError as error:
        raise Dial2vecError(
            f"one of {n} processes failed; its reason is above. `processes: 1` trains in a single process."
        ) from error
    except SignalException as error:
        raise KeyboardInterrupt from error


def _end_with_dvc() -> None:
    """End this stage if the `dvc repro` that started it is killed, or was killed while libraries were imported."""
    parent = os.getppid()
    # The parent of an orphan is process 1. In a container that runs only DVC, process 1 is DVC itself.
    if parent == 1 and b"dvc" not in Path("/proc/1/cmdline").read_bytes():
        sys.exit("the `dvc repro` that started this stage was killed, so the stage ends as well")
    end_with(parent)
