"""A year of nights in minutes: does the disk stay flat with `prune`, and can the history still be read?

    .venv/bin/python benchmarks/year.py --nights 365

Every night brings ten dialogues, which DVC versions; a stage writes a "model" of random bytes, which DVC caches; the
model is registered in MLflow and judged by the gate, and `prune` removes what the rules let go. DVC, the registry, the
gate and pruning are the real ones, only the training is not. Every tenth night is better than its champion. Prints the
disk use every tenth night, and at the end what the history says.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import time
from pathlib import Path

import dvc.cli

from conversations.dialogue import write_dialogues
from dial2vec.config import Promote, Prune
from dial2vec.data.corpora.demo import generate_demo
from dial2vec.pipeline.dvc_records import data_hash
from dial2vec.project.prune import prune
from dial2vec.registry.champions import history, promote
from dial2vec.registry.records import TrainingRecord
from dial2vec.registry.tracking import local_model, register_training, registered_versions

CORPUS, EACH, BETTER = "calls", 10, 10
RULES = Prune(keep_last=3, keep_days=0)
STAGES = """stages:
  train:
    cmd: cat data/calls/* > artifacts/calls/dialogues.jsonl && head -c 1000000 /dev/urandom > artifacts/calls/model.bin
    deps: [data]
    outs: [artifacts/calls/dialogues.jsonl, artifacts/calls/model.bin]
"""


def main() -> None:
    """Let the nights pass."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("artifacts/year"), help="folder of the scratch project")
    parser.add_argument("--nights", type=int, default=365, help="number of nights")
    parser.add_argument("--keep", action="store_true", help="do not prune, to compare")
    arguments = parser.parse_args()
    # MLflow tries the example on each version and says that random bytes are no model.
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    root = arguments.work.resolve()
    begin(root)
    began, sizes = time.monotonic(), []
    print_line("night  seconds  MB in mlruns (database)  MB in DVC's cache  versions")
    for night in range(1, arguments.nights + 1):
        let_pass(root, night)
        if not arguments.keep:
            prune(root, [CORPUS], RULES, young=0)
        if night % 10 == 0 or night == arguments.nights:
            sizes.append(megabytes(root / "mlruns") + megabytes(root / ".dvc" / "cache"))
            database = (root / "mlruns" / "mlflow.db").stat().st_size / 1e6
            print_line(
                f"{night:5}  {time.monotonic() - began:7.0f}  {megabytes(root / 'mlruns'):12.1f} ({database:.1f})  "
                f"{megabytes(root / '.dvc' / 'cache'):21.1f}  {len(registered_versions(root, CORPUS)):8}"
            )
    decided = history(root, CORPUS)
    kinds = {
        kind: sum(decision.kind == kind for decision in decided) for kind in dict.fromkeys(d.kind for d in decided)
    }
    print_line(f"history: {len(decided)} lines, {', '.join(f'{number} {kind}' for kind, number in kinds.items())}")
    print_line(f"first: {decided[0]}\nlast:  {decided[-1]}")
    local_model(f"models:/dial2vec-{CORPUS}@champion", root=root)
    print_line(f"the champion loads; largest disk use {max(sizes):.1f} MB, at the end {sizes[-1]:.1f} MB")


def begin(root: Path) -> None:
    """Make an empty project with one stage."""
    shutil.rmtree(root, ignore_errors=True)
    for folder in (root / "artifacts" / CORPUS, root / "data" / CORPUS, root / "start"):
        folder.mkdir(parents=True)
    (root / "params.yaml").write_text(f"corpora: [{CORPUS}]\n", encoding="utf-8")
    (root / "dvc.yaml").write_text(STAGES, encoding="utf-8")
    (root / "start" / "model.bin").write_bytes(b"start")
    for name in ("report.html", "selection.json"):
        (root / name).write_text("{}", encoding="utf-8")
    os.chdir(root)
    run_dvc("init", "--no-scm")


def let_pass(root: Path, night: int) -> None:
    """Bring dialogues, train, register and judge."""
    last = EACH * night
    write_dialogues(
        root / "data" / CORPUS / f"night{night}.jsonl", list(generate_demo(n_dialogues=last))[last - EACH :]
    )
    run_dvc("add", "data")
    run_dvc("repro")
    model = root / "encoder"
    shutil.rmtree(model, ignore_errors=True)
    model.mkdir()
    shutil.copy(root / "artifacts" / CORPUS / "model.bin", model)
    register_training(root, record(root, night, model))
    promote(root, CORPUS, Promote(confidence=0.0))


def record(root: Path, night: int, model: Path) -> TrainingRecord:
    """Return the record of a training; every tenth night is better than all before."""
    points = 50 + night / BETTER if night % BETTER == 0 else 40.0
    scores = {"start": dict.fromkeys(("purity", "spearman", "map"), 45.0)}
    scores["trained"] = dict.fromkeys(("purity", "spearman", "map"), points)
    return TrainingRecord(
        corpus=CORPUS,
        params={"seed": night},
        data_hash=data_hash(root),
        git_commit="none",
        history=[{"step": step, "loss": 1 / step} for step in range(1, 21)],
        scores=dict(scores),
        dev_scores=dict(scores),
        intervals={"dev": {}, "test": {}},
        gains={"dev": {}, "test": {}},
        dev_hash="dev",
        split_sizes={"train": EACH * night, "dev": 0, "test": 0},
        model=model,
        start_model=root / "start",
        start_name="start",
        report=root / "report.html",
        selection=root / "selection.json",
        choice="The last one.",
        max_length=None,
        dimension=8,
        languages={"en": 1.0},
        example=next(iter(generate_demo(n_dialogues=1))),
        seconds={},
        fingerprint=f"night {night}",
    )


def run_dvc(*arguments: str) -> None:
    """Run DVC in this process: starting Python takes longer than the work."""
    if dvc.cli.main([*arguments, "--quiet"]):
        sys.exit(f"dvc {' '.join(arguments)} failed")


def megabytes(folder: Path) -> float:
    """Return the size of a folder; hard links of one file count once."""
    stats = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return sum({stat.st_ino: stat.st_size for stat in stats}.values()) / 1e6


def print_line(text: str) -> None:
    """Print at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
