"""Fitting a student's table to its targets: an epoch at a time, each a candidate; a killed run resumes."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from conversations.files import atomic_path
from dial2vec.config import Distil
from dial2vec.encoder.student import TokenTable
from dial2vec.errors import Dial2vecError
from dial2vec.files import claim
from dial2vec.training.distillation.bags import Bags
from dial2vec.training.distillation.learning_table import LearningTable, imitation_loss
from dial2vec.training.distillation.lesson import Lesson

# Rates of weights and matrix, relative to that of the rows.
WEIGHTS_RATE, MATRIX_RATE = 4.0, 0.4
# An epoch has at least so many steps, so that a small corpus is learnt too.
LEAST_STEPS = 64
# Weight of the squared distance of all rows from where they began, beside the sum of all dialogues' losses. It keeps
# rare words where the teacher has them, so that dialogues of unseen topics gain too; measured in docs/student.md.
PRIOR = 0.15

log = logging.getLogger(__name__)


def fit(lesson: Lesson, *, options: Distil, seed: int, folder: Path, fingerprint: str) -> list[Path]:
    """Train a table for `options.epochs` epochs, and return the file of the table after each.

    Rows are held near their beginning (`PRIOR`). Only rows of tokens that the dialogues have are trained; the others
    are moved by the matrix alone. The rates fall to 0 in equal steps. Draws depend on seed and epoch only.

    :param folder: Folder of the tables and of the state after the last whole epoch, from which a killed run goes on.
    :param fingerprint: Hash of everything the lesson is made of; a folder with another one is emptied.
    :raises Dial2vecError: if the loss is no longer a number.
    """
    claim(folder, fingerprint)
    # The trained table has the tokens of the dialogues only, so that the optimiser moves no others.
    known, tokens = np.unique(lesson.bags.tokens, return_inverse=True)
    bags = Bags(tokens.astype(np.int64), lesson.bags.counts, lesson.bags.speakers, lesson.bags.dialogues)
    table = LearningTable(*map(torch.from_numpy, (lesson.rows[known], lesson.weights[known], lesson.matrix)))
    optimiser = torch.optim.Adam(
        [
            {"params": [table.rows], "lr": options.learning_rate},
            {"params": [table.log_weights], "lr": WEIGHTS_RATE * options.learning_rate},
            {"params": [table.matrix], "lr": MATRIX_RATE * options.learning_rate},
        ],
        fused=True,
    )
    size = max(1, min(options.batch_size, len(bags) // LEAST_STEPS))
    n_steps = options.epochs * math.ceil(len(bags) / size)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, total_iters=n_steps)
    state = folder / "state.pt"
    first_rows, targets = table.rows.detach().clone(), torch.from_numpy(lesson.targets)
    for epoch in range(_resume(state, table, optimiser, schedule), options.epochs):
        order = np.random.default_rng([seed, 4, epoch]).permutation(len(bags))
        total = 0.0
        for first in range(0, len(order), size):
            rows = order[first : first + size]
            loss = imitation_loss(table(bags.take(rows)), targets[torch.from_numpy(rows)])
            optimiser.zero_grad()
            (loss + PRIOR / len(bags) * (table.rows - first_rows).square().sum()).backward()
            optimiser.step()
            schedule.step()
            total += loss.item() * len(rows)
        _report(epoch, total / len(order), options)
        with atomic_path(_file(folder, epoch)) as temporary:
            _whole(table, known, lesson).save(temporary)
        with atomic_path(state) as temporary:
            saved = {
                "done": epoch + 1,
                "table": table.state_dict(),
                "optimiser": optimiser.state_dict(),
                "schedule": schedule.state_dict(),
            }
            torch.save(saved, temporary)
    return [_file(folder, epoch) for epoch in range(options.epochs)]


def _file(folder: Path, epoch: int) -> Path:
    return folder / f"epoch-{epoch + 1}.safetensors"


def _resume(
    state: Path, table: LearningTable, optimiser: torch.optim.Optimizer, schedule: torch.optim.lr_scheduler.LRScheduler
) -> int:
    """Load the state after the last whole epoch, if there is one, and return the number of epochs done."""
    if not state.is_file():
        return 0
    saved: dict[str, Any] = torch.load(state, weights_only=True)
    table.load_state_dict(saved["table"])
    optimiser.load_state_dict(saved["optimiser"])
    schedule.load_state_dict(saved["schedule"])
    return int(saved["done"])


def _report(epoch: int, loss: float, options: Distil) -> None:
    """Log the mean loss of an epoch.

    :raises Dial2vecError: if it is no longer a number.
    """
    if not math.isfinite(loss):
        raise Dial2vecError(
            f"the student's loss was no number in epoch {epoch + 1}; expected it to fall. Lower distil.learning_rate "
            "in params.yaml."
        )
    log.info("student: epoch %d of %d, loss %.4f", epoch + 1, options.epochs, loss)


def _whole(table: LearningTable, known: NDArray[np.int64], lesson: Lesson) -> TokenTable:
    """Return the table of the whole vocabulary; tokens of no dialogue have their first row and weight."""
    matrix = table.matrix.detach().numpy()
    rows, weights = lesson.rows @ matrix, lesson.weights.copy()
    rows[known] = table.rows.detach().numpy() @ matrix
    weights[known] = table.log_weights.detach().exp().numpy()
    return TokenTable(rows, weights)
