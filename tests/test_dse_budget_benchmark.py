"""DSE at its own budget, benchmarks/dse_budget.py: the preset, its speed, and a training on a few dialogues."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

from dial2vec.config import Settings
from dial2vec.encoder import DialogueEncoder
from tests.training.methods.tiny_runs import corpus

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import dse_budget


def tiny(folder, **options):
    paper = dse_budget.of_budget(Settings(encoder=replace(Settings().encoder, name=folder)), batch=4, epochs=2)
    return replace(paper, dse=replace(paper.dse, min_words=1, **options))


def test_the_budget_is_the_papers_but_for_the_batch():
    dse = dse_budget.of_budget(Settings(), batch=64, epochs=15).dse
    assert (dse.pairs, dse.weights, dse.epochs, dse.batch_size, dse.max_pairs) == ("1-1", "code", 15, 64, None)
    assert (dse.learning_rate, dse.head_learning_rate, dse.temperature) == (3e-6, 3e-4, 0.05)


def test_a_part_of_the_budget_has_fewer_pairs_and_another_rate():
    dse = dse_budget.of_budget(Settings(), batch=64, epochs=1, pairs=6400, rate=1e-4).dse
    assert (dse.max_pairs, dse.learning_rate, dse.head_learning_rate) == (6400, 1e-4, 3e-4)


def test_the_speed_of_a_part_gives_the_hours_of_the_whole(tiny_folder):
    said = dse_budget.timed(corpus(8), tiny(tiny_folder), seconds=0.1)
    # 8 dialogues of 3 pairs.
    assert re.fullmatch(
        r"[3-6] steps of 4 pairs: \d+ pairs per second on cpu; 2 epochs of 24 pairs need 0\.0 hours", said
    )


def test_all_pairs_train_and_the_model_of_the_last_epoch_is_written(tiny_folder, tmp_path):
    said = dse_budget.trained(corpus(8), tiny(tiny_folder, learning_rate=1e-3), tmp_path)
    assert said.startswith(f"{tmp_path / 'model'}: 12 steps over 24 pairs")
    assert sorted(path.name for path in (tmp_path / "checkpoints").glob("weights-*")) == [
        *("weights-12.safetensors", "weights-6.safetensors")
    ]
    assert DialogueEncoder.from_pretrained(tmp_path / "model").pooling == "turns"
