"""What is killed: commands, and what changes before each so that it has work to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from project import CORPUS, bring_by_hand, bring_to_collection, dialogues, drop, missing_in_collection


def new_dialogues(project: Path, number: int) -> None:
    """Data changes: every stage runs again."""
    drop(project, f"night{number}.jsonl", dialogues(12, first=10_000 + 100 * number, seed=number))


def new_by_hand(project: Path, number: int) -> None:
    """Data changes, without the inbox."""
    bring_by_hand(project, f"hand{number}.jsonl", dialogues(12, first=10_000 + 100 * number, seed=number))


def new_rate(project: Path, number: int) -> None:
    """A setting of training changes: train and what follows."""
    _set(project, "train", "learning_rate", 1e-4 * (1 + number / 1000))


def new_student(project: Path, number: int) -> None:
    """A setting of the student changes: distil and what follows."""
    _set(project, "distil", "learning_rate", 3e-3 * (1 + number / 1000))


def new_selection(project: Path, number: int) -> None:
    """A setting of evaluation changes: evaluate and register."""
    _set(project, "evaluate", "batch_size", 8 + number)


def new_export(project: Path, number: int) -> None:
    """The export of the collection grows."""
    bring_to_collection(project, dialogues(40, first=50_000 + 100 * number, seed=number))


def _set(project: Path, block: str, key: str, value: object) -> None:
    path = project / "params.yaml"
    params = yaml.safe_load(path.read_text())
    params[block][key] = value
    path.write_text(yaml.safe_dump(params))


def nothing(_: Path) -> list[str]:
    """Look at nothing more than what every kind looks at."""
    return []


@dataclass(frozen=True)
class Kind:
    """A command that is killed.

    :param change: change before it; None changes nothing.
    :param weight: probability of being drawn.
    :param before: command that has to succeed before.
    :param seconds: duration of the command, until it was measured.
    :param answers: path that a server has to answer; "" for a command that ends.
    :param check: function that returns sentences about what is wrong after the last run.
    """

    name: str
    command: tuple[str, ...]
    change: Callable[[Path, int], None] | None
    weight: float
    before: tuple[str, ...] = ()
    seconds: float = 25.0
    answers: str = ""
    check: Callable[[Path], list[str]] = nothing


RUN = ("dial2vec", "run")
INDEX = ("dial2vec", "index", "export.jsonl", "--model", "tiny", "--output", "collection")
LENS = ("dial2vec", "lens", "collection", "--name", "topic", "--is", "first: w1 w2 w3", "--is", "third: w21 w22 w23")
WATCH = ("dial2vec", "watch", "collection", "--source", "export.jsonl", "--once")
LOOK = ("dial2vec", "look", "export.jsonl", "--model", "tiny", "--port", "0")

KINDS = (
    Kind("nightly flow, new data", ("python", "flows/retrain.py"), new_dialogues, 0.18),
    Kind("training, new data", RUN, new_by_hand, 0.08),
    Kind("training", RUN, new_rate, 0.12),
    Kind("distillation", RUN, new_student, 0.1),
    Kind("evaluation", RUN, new_selection, 0.12),
    Kind("promotion", ("dial2vec", "promote", CORPUS), new_rate, 0.1, before=RUN),
    Kind("index", INDEX, new_export, 0.06, seconds=8, check=missing_in_collection),
    Kind("groups", ("dial2vec", "cluster", "collection"), new_export, 0.05, INDEX, 10, check=missing_in_collection),
    Kind("watch", WATCH, new_export, 0.04, INDEX, 10, check=missing_in_collection),
    Kind("segments", ("dial2vec", "segments", "collection"), new_export, 0.04, INDEX, 10, check=missing_in_collection),
    Kind("lenses", LENS, new_export, 0.03, INDEX, 8, check=missing_in_collection),
    Kind("look", LOOK, new_export, 0.05, seconds=15, answers="/"),
    Kind("serve", ("dial2vec", "serve", CORPUS, "--port", "0"), None, 0.03, seconds=15, answers="/health"),
)
