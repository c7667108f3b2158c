"""The study weak_start.py: half of the layers random, masked words, then both trainings, resumed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
import torch

import weak_start
from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.backbone import layers
from dial2vec.params import settings_from_dict
from dial2vec.pipeline.artifacts import Artifacts
from tests.conftest import make_dialogue


def call(number: int) -> Dialogue:
    words = [f"w{20 * (number % 2) + (3 * place + number) % 20}" for place in range(6)]
    turns = tuple(Turn("ab"[place % 2], f"{word} {words[0]}") for place, word in enumerate(words))
    return Dialogue(f"d{number}", turns, (f"topic{number % 2}",))


def test_windows_hold_the_turns_of_one_dialogue_in_their_order():
    long, short = make_dialogue("a", *(f"{'xy'[turn % 2]}: w1" for turn in range(10))), make_dialogue("b", "x: w1")
    found = weak_start.windows([long, short])
    assert found.tolist() == [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, *[-1] * 6], [10, *[-1] * 7]]


def test_a_layer_forgets_all_that_it_learnt_and_gets_berts_first_weights(tiny_folder):
    layer = layers(DialogueEncoder.from_pretrained(tiny_folder).backbone)[3]
    with torch.no_grad():
        for weights in layer.parameters():
            weights.fill_(7)
    weak_start.forget(layer)
    values = dict(layer.named_parameters())
    assert not any((weights == 7).any() for weights in values.values())
    assert all(not weights.any() for name, weights in values.items() if name.endswith("bias"))
    assert all((weights == 1).all() for name, weights in values.items() if "LayerNorm.weight" in name)
    assert float(values["attention.self.query.weight"].std()) == pytest.approx(0.02, rel=0.3)


def test_both_ways_start_from_the_weak_encoder_and_a_second_command_computes_nothing(
    tmp_path, tiny_folder, monkeypatch
):
    artifacts = Artifacts(tmp_path, "calls")
    artifacts.splits.mkdir(parents=True)
    for split, numbers in (("train", range(110)), ("dev", range(110, 160)), ("test", range(160, 180))):
        write_dialogues(artifacts.split(split), [call(number) for number in numbers])
    artifacts.split_report.write_text(json.dumps({"split_sizes": {"train": 110, "dev": 50, "test": 20}}))
    choice, figures = {"bootstraps": 2}, {"kmeans_runs": 2}
    settings = settings_from_dict(
        {"corpora": ["calls"], "encoder": {"name": tiny_folder}, "select": choice, "evaluate": figures}
    )
    small = {"mlm_epochs": 1, "mlm_windows": 64, "dialogues": "40", "epochs": 1, "recipe_dialogues": 16}
    usual = {"judged": None, "rate": None, "batch": None, "device": "cpu", "results": tmp_path / "rows.jsonl"}
    arguments = argparse.Namespace(corpora=["calls"], seeds=[1], base=tiny_folder, **small, **usual)
    weak_start.measure_all(arguments, tmp_path, settings)
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["way"] for row in rows] == [
        Path(tiny_folder).name,
        "weak start",
        "recipe, chosen without labels",
        "recipe, last",
        "paper's method, last",
        "paper's method, best purity on dev",
        "paper's method, chosen without labels",
    ]
    assert rows[4]["steps"] == 2
    assert all(np.isfinite(row["map"]) for row in rows)
    [start] = (tmp_path / "artifacts" / "weak_start").glob("*/start")
    weak, strong = DialogueEncoder.from_pretrained(start), DialogueEncoder.from_pretrained(tiny_folder)
    assert weak.tokens.input == "separators"
    assert not np.allclose(weak.encode([call(1)]), strong.encode([call(1)]))
    monkeypatch.setattr(weak_start, "weak_start", lambda *_: pytest.fail("made again"))
    monkeypatch.setattr(weak_start, "trained_encoder", lambda *_, **__: pytest.fail("trained again"))
    weak_start.measure_all(arguments, tmp_path, settings)
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 7


def test_a_larger_batch_keeps_the_dialogues_of_a_step(tiny_folder):
    settings = settings_from_dict({"corpora": ["calls"], "encoder": {"name": tiny_folder}})
    asked = {"dialogues": "all", "epochs": 1, "rate": None}
    of = {
        batch: weak_start.papers(settings, "calls", argparse.Namespace(batch=batch, **asked)).train
        for batch in (None, 10, 20)
    }
    sizes = [(train.batch_size, train.gradient_accumulation) for train in of.values()]
    assert sizes == [(5, 4), (10, 2), (20, 1)]
