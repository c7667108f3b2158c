"""Verdicts of the promotion gate on a better and on a worse model, as users read them.

    .venv/bin/python benchmarks/gate.py

In a scratch project the demo corpus is trained with params.yaml, and the candidate judged. Then the words are shuffled
among all dialogues, a second model is trained, and its last candidate is judged against that champion whatever the
criteria say. Prints the output of `dial2vec promote` and `dial2vec history`; 15 minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import yaml

from conversations.dialogue import Dialogue, Turn, read_dialogues, write_dialogues
from dial2vec.data.corpora.demo import write_demo
from dial2vec.files import find_root
from dial2vec.pipeline.artifacts import Artifacts

CORPUS = "demo"
BEFORE, AFTER = ("validate", "prepare"), ("sample", "train", "select", "distil", "evaluate", "register")


def shuffled(dialogues: list[Dialogue], seed: int) -> list[Dialogue]:
    """Return dialogues of the same shape with words drawn from all dialogues, so that none has a topic."""
    words = [word for dialogue in dialogues for turn in dialogue.turns for word in turn.text.split()]
    left = iter(np.random.default_rng(seed).permutation(words).tolist())
    return [
        Dialogue(
            dialogue.dialogue_id,
            tuple(Turn(turn.speaker, " ".join(next(left) for _ in turn.text.split())) for turn in dialogue.turns),
            dialogue.labels,
        )
        for dialogue in dialogues
    ]


def main() -> None:
    """Train twice, judge twice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("artifacts/gate"), help="folder of the scratch project")
    project = parser.parse_args().work.resolve()
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir(parents=True)
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(find_root() / name, project)
    write_demo(project / "data" / CORPUS)
    run(project, *BEFORE, *AFTER)
    say(project, "promote", CORPUS)
    train = Artifacts(project, CORPUS).split("train")
    write_dialogues(train, shuffled(list(read_dialogues(train)), seed=1))
    params = yaml.safe_load((project / "params.yaml").read_text())
    params["select"]["selection"] = "last"
    (project / "params.yaml").write_text(yaml.safe_dump(params))
    run(project, *AFTER)
    say(project, "promote", CORPUS)
    say(project, "history", CORPUS)


def run(project: Path, *stages: str) -> None:
    """Run stages, one after the other."""
    for stage in stages:
        subprocess.run([sys.executable, "-m", f"dial2vec.pipeline.{stage}", CORPUS], cwd=project, check=True)


def say(project: Path, *command: str) -> None:
    """Print a command and its output."""
    sys.stdout.write(f"\n$ dial2vec {' '.join(command)}\n")
    sys.stdout.flush()
    subprocess.run([sys.executable, "-m", "dial2vec.cli", *command], cwd=project, env=os.environ, check=True)


if __name__ == "__main__":
    main()
