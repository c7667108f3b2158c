import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.config import Distil
from dial2vec.encoder.student import TokenTable
from dial2vec.errors import Dial2vecError
from dial2vec.training.distillation import fitting
from dial2vec.training.distillation.bags import Bags
from dial2vec.training.distillation.fitting import fit
from dial2vec.training.distillation.learning_table import LearningTable, first_weights, imitation_loss
from dial2vec.training.distillation.lesson import Lesson

OPTIONS = Distil(epochs=3, batch_size=4, learning_rate=0.01)


def random_lesson(n: int = 12, *, vocabulary: int = 9, d: int = 4, seed: int = 0) -> Lesson:
    rng = np.random.default_rng(seed)
    dialogues = rng.integers(1, 3, n)
    speakers = rng.integers(1, 5, dialogues.sum())
    tokens = np.concatenate([rng.choice(vocabulary - 1, size, replace=False) for size in speakers]).astype(np.int64)
    bags = Bags(tokens, rng.integers(1, 4, len(tokens)).astype(np.float32), speakers, dialogues)
    rows = rng.normal(size=(vocabulary, d)).astype(np.float32)
    targets = rng.normal(size=(n, d)).astype(np.float32)
    return Lesson(bags, targets, rows, first_weights(bags, vocabulary), np.eye(d, dtype=np.float32))


def learning(lesson: Lesson) -> LearningTable:
    return LearningTable(*map(torch.from_numpy, (lesson.rows, lesson.weights, lesson.matrix)))


def plain_vectors(lesson: Lesson) -> list[list[float]]:
    """The definition, token by token in double precision."""
    vectors, token, speaker = [], 0, 0
    for n_speakers in lesson.bags.dialogues:
        total = [0.0] * lesson.rows.shape[1]
        for _ in range(n_speakers):
            mean, weights = [0.0] * len(total), 0.0
            for _ in range(lesson.bags.speakers[speaker]):
                number = int(lesson.bags.tokens[token])
                weight = float(lesson.weights[number]) * float(lesson.bags.counts[token])
                weights += weight
                mean = [old + weight * float(x) for old, x in zip(mean, lesson.rows[number], strict=True)]
                token += 1
            total = [old + x / weights for old, x in zip(total, mean, strict=True)]
            speaker += 1
        matrix = lesson.matrix.astype(float)
        vectors.append(
            [sum(x * row[column] for x, row in zip(total, matrix, strict=True)) for column in range(len(matrix[0]))]
        )
    return vectors


@settings(deadline=None)
@given(st.integers(0, 2**20))
def test_vectors_and_loss_are_those_of_a_plain_loop(seed: int) -> None:
    lesson = random_lesson(seed=seed)
    vectors = learning(lesson)(lesson.bags)
    plain = plain_vectors(lesson)
    assert np.allclose(vectors.detach().numpy(), plain, atol=1e-5)
    losses = []
    for vector, target in zip(plain, lesson.targets.astype(float), strict=True):
        product = sum(a * b for a, b in zip(vector, target, strict=True))
        losses.append(1 - product / math.sqrt(sum(a * a for a in vector)) / math.sqrt(sum(b * b for b in target)))
    loss = imitation_loss(vectors, torch.from_numpy(lesson.targets))
    assert loss.item() == pytest.approx(sum(losses) / len(losses), abs=1e-5)


def test_gradients_reach_rows_weights_and_matrix_as_finite_differences_say() -> None:
    lesson = random_lesson()
    table = learning(lesson).double()
    bags = Bags(lesson.bags.tokens, lesson.bags.counts.astype(np.float64), lesson.bags.speakers, lesson.bags.dialogues)
    targets = torch.from_numpy(lesson.targets).double()

    def loss() -> torch.Tensor:
        return imitation_loss(table(bags), targets)

    loss().backward()
    for parameter, place in ((table.rows, (0, 1)), (table.log_weights, (2,)), (table.matrix, (1, 3))):
        assert parameter.grad is not None
        with torch.no_grad():
            parameter[place] += 1e-6
            above = loss().item()
            parameter[place] -= 2e-6
            below = loss().item()
            parameter[place] += 1e-6
        assert parameter.grad[place].item() == pytest.approx((above - below) / 2e-6, abs=1e-6)


def test_the_loss_falls_and_tokens_of_no_dialogue_move_by_the_matrix_alone(tmp_path: Path) -> None:
    lesson = random_lesson(40)
    paths = fit(lesson, options=OPTIONS, seed=1, folder=tmp_path / "fit", fingerprint="a")
    assert len(paths) == 3
    before = imitation_loss(learning(lesson)(lesson.bags), torch.from_numpy(lesson.targets)).item()
    last = TokenTable.load(paths[-1])
    identity = torch.eye(4)
    after = LearningTable(torch.from_numpy(last.rows), torch.from_numpy(last.weights), identity)
    assert imitation_loss(after(lesson.bags), torch.from_numpy(lesson.targets)).item() < before
    unused = len(lesson.rows) - 1
    assert unused not in lesson.bags.tokens
    assert last.weights[unused] == lesson.weights[unused]
    saved = torch.load(tmp_path / "fit" / "state.pt", weights_only=True)
    assert np.allclose(last.rows[unused], lesson.rows[unused] @ saved["table"]["matrix"].numpy(), atol=1e-6)


def test_a_killed_run_goes_on_after_its_last_whole_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lesson = random_lesson()
    whole = fit(lesson, options=OPTIONS, seed=1, folder=tmp_path / "whole", fingerprint="a")
    epochs = []
    real = fitting._report

    def killed(epoch: int, *arguments: Any) -> None:
        epochs.append(epoch)
        if epochs == [0, 1, 2]:
            raise KeyboardInterrupt
        real(epoch, *arguments)

    monkeypatch.setattr(fitting, "_report", killed)
    with pytest.raises(KeyboardInterrupt):
        fit(lesson, options=OPTIONS, seed=1, folder=tmp_path / "cut", fingerprint="a")
    resumed = fit(lesson, options=OPTIONS, seed=1, folder=tmp_path / "cut", fingerprint="a")
    assert epochs == [0, 1, 2, 2]
    assert [path.read_bytes() for path in resumed] == [path.read_bytes() for path in whole]


def test_another_lesson_begins_again(tmp_path: Path) -> None:
    lesson = random_lesson()
    fit(lesson, options=replace(OPTIONS, epochs=1), seed=1, folder=tmp_path, fingerprint="a")
    fit(lesson, options=replace(OPTIONS, epochs=1), seed=1, folder=tmp_path, fingerprint="b")
    assert json.loads((tmp_path / "fingerprint.json").read_text()) == "b"


def test_another_seed_gives_another_student(tmp_path: Path) -> None:
    lesson = random_lesson()
    files = [fit(lesson, options=OPTIONS, seed=seed, folder=tmp_path / str(seed), fingerprint="a") for seed in (1, 2)]
    assert files[0][-1].read_bytes() != files[1][-1].read_bytes()


def test_a_loss_that_is_no_number_is_one_sentence(tmp_path: Path) -> None:
    lesson = random_lesson()
    lesson.targets[0, 0] = np.nan
    with pytest.raises(Dial2vecError, match=r"no number in epoch 1.*distil\.learning_rate"):
        fit(lesson, options=OPTIONS, seed=1, folder=tmp_path, fingerprint="a")
