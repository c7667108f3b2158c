from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from dial2vec.config import Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import Dial2vecError, SettingsError
from dial2vec.training import loop
from dial2vec.training.data import training_order
from dial2vec.training.loop import _Objective, train
from dial2vec.training.methods import METHODS
from dial2vec.training.methods.dial2vec import SelfGuidedSet
from dial2vec.training.negatives import draw_samples
from dial2vec.training.plan import Given
from dial2vec_papers.tables.systems import ALL
from tests.conftest import make_dialogue

SETTINGS = Train(
    method="dial2vec",
    max_dialogues=None,
    epochs=2,
    batch_size=2,
    gradient_accumulation=1,
    learning_rate=1e-2,
    log_steps=1,
    checkpoint_steps=3,
    precision="fp32",
)
# 120 dialogues can have neighbours; 24 of them train, so that this too is 12 steps.
NEIGHBOURS = replace(SETTINGS, method="neighbours", max_dialogues=24, batch_size=4)

# Between two logs there are checkpoints.
RARELY_LOGGED = replace(SETTINGS, log_steps=5)


def corpus(n=12):
    lines = [
        [
            f"{'ab'[t % 2]}: " + " ".join(f"w{(i * 5 + t + k) % 40}" for k in range(1 + (i + t) % 3))
            for t in range(4 + i % 3)
        ]
        for i in range(n)
    ]
    return [make_dialogue(f"d{i}", *lines[i]) for i in range(n)]


def samples_of(dialogues):
    return draw_samples(dialogues, negatives=3, passes=1, keep_role="random", min_turns=2, seed=1)


def run(folder, checkpoints, *, settings=SETTINGS, fingerprint="x", hierarchy="none"):
    encoder = DialogueEncoder.from_pretrained(folder, hierarchy=hierarchy)
    dialogues = corpus(120 if settings.method == "neighbours" else 12)
    vectors = checkpoints.with_name("vectors")
    given = Given(encoder, dialogues, samples_of(dialogues), Settings(seed=1, train=settings), vectors)
    plan = METHODS[settings.method](given)
    return encoder, plan.run(
        encoder, seed=1, checkpoints=checkpoints, adaptation=vectors / "before", fingerprint=fingerprint
    )[1]


def self_guided(encoder, dialogues):
    order = training_order(np.ones(len(dialogues), np.int64), passes=1, settings=SETTINGS, seed=1)
    return SelfGuidedSet(dialogues, samples_of(dialogues), encoder.tokens, order)


@pytest.mark.parametrize(("settings", "gain"), [(SETTINGS, 0.1), (NEIGHBOURS, 0.001)], ids=["dial2vec", "neighbours"])
def test_training_lowers_the_loss_and_leaves_frozen_layers_alone(tiny_folder, tmp_path, settings, gain):
    before = DialogueEncoder.from_pretrained(tiny_folder)
    longer = replace(settings, epochs=12, batch_size=4, learning_rate=5e-3, checkpoint_steps=1000)
    encoder, result = run(tiny_folder, tmp_path / "c", settings=longer)
    losses = [entry["loss"] for entry in result.history]
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - gain
    for name, weights in before.backbone.named_parameters():
        same = torch.equal(weights, dict(encoder.backbone.named_parameters())[name])
        if name.startswith(("embeddings", "encoder.layer.0", "encoder.layer.1")):
            assert same, name
        elif name.startswith("encoder.layer.3"):
            assert not same, name


@pytest.mark.parametrize("hierarchy", ["hssa", "biden"])
@pytest.mark.parametrize("settings", [SETTINGS, NEIGHBOURS], ids=["dial2vec", "neighbours"])
def test_training_moves_the_hierarchy_alone_where_every_layer_is_frozen(tiny_folder, tmp_path, settings, hierarchy):
    alone = replace(settings, frozen_share=1.0)
    before = DialogueEncoder.from_pretrained(tiny_folder, hierarchy=hierarchy)
    encoder, _ = run(tiny_folder, tmp_path / "c", settings=alone, hierarchy=hierarchy)
    for name, weights in encoder.network.named_parameters():
        same = torch.equal(weights, dict(before.network.named_parameters())[name])
        assert same == (not name.startswith("hierarchy")), name


@pytest.mark.parametrize("hierarchy", ["hssa", "biden"])
def test_a_resumed_run_has_the_same_hierarchy_as_a_whole_one(tiny_folder, tmp_path, hierarchy):
    whole, expected = run(tiny_folder, tmp_path / "c", hierarchy=hierarchy)
    (tmp_path / "c" / "checkpoint-12" / "WHOLE").unlink()
    encoder, result = run(tiny_folder, tmp_path / "c", hierarchy=hierarchy)
    assert result.resumed_from == 9
    assert result.history == expected.history
    for name, weights in whole.network.named_parameters():
        assert torch.equal(dict(encoder.network.named_parameters())[name], weights), name


def test_the_head_stays_as_it_was_fitted_while_the_encoder_under_it_trains(tiny_folder, tmp_path):
    start, dialogues = DialogueEncoder.from_pretrained(tiny_folder), corpus(120)
    settings = Settings(seed=1, train=NEIGHBOURS)
    plan = METHODS["neighbours"](Given(start, dialogues, samples_of(dialogues), settings, tmp_path / "v"))
    encoder, result = run(tiny_folder, tmp_path / "c", settings=NEIGHBOURS)
    assert (result.steps, result.items, result.items_are) == (12, 24, "dialogues")
    for name, tensor in plan.head.state_dict().items():
        torch.testing.assert_close(encoder.head.state_dict()[name], tensor, rtol=0, atol=0)


def test_every_checkpoint_leaves_its_weights_and_the_last_are_the_encoders(tiny_folder, tmp_path):
    encoder, _ = run(tiny_folder, tmp_path / "c")
    assert sorted(path.stem for path in (tmp_path / "c").glob("weights-*")) == [
        f"weights-{step}" for step in (12, 3, 6, 9)
    ]
    last = load_file(tmp_path / "c" / "weights-12.safetensors")
    trained = {name: value for name, value in encoder.network.named_parameters() if value.requires_grad}
    assert last.keys() == trained.keys()
    assert all(torch.equal(last[name], value) for name, value in trained.items())


@pytest.mark.parametrize("settings", [SETTINGS, NEIGHBOURS], ids=["dial2vec", "neighbours"])
def test_training_is_reproducible(tiny_folder, tmp_path, settings):
    first, again = (run(tiny_folder, tmp_path / name / "c", settings=settings)[1] for name in "ab")
    assert first.history == again.history
    assert [entry["step"] for entry in first.history] == list(range(1, 13))


def test_without_epochs_nothing_is_trained_and_nothing_left(tiny_folder, tmp_path):
    before = DialogueEncoder.from_pretrained(tiny_folder)
    for settings in (SETTINGS, NEIGHBOURS):
        encoder, result = run(tiny_folder, tmp_path / "c", settings=replace(settings, epochs=0))
        assert (result.steps, result.items, result.history) == (0, 0, [])
        assert all(map(torch.equal, before.parameters(), encoder.parameters()))
        assert list((tmp_path / "c").glob("weights-*")) == []


@pytest.mark.parametrize("name", ["SETTINGS", "NEIGHBOURS", "RARELY_LOGGED"])
def test_killed_training_resumes_and_ends_with_the_same_curve_and_weights(tiny_folder, tmp_path, name):
    settings = globals()[name]
    whole, expected = run(tiny_folder, tmp_path / "whole" / "c", settings=settings)
    killed = tmp_path / "killed" / "c"
    script = textwrap.dedent(f"""
        import os, signal, sys
        sys.path.insert(0, {str(Path(__file__).parents[2])!r})
        from dial2vec.training import loop
        from tests.training.test_loop import {name}, run
        from pathlib import Path
        class Killer(loop._MarkWhole):
            def on_step_end(self, args, state, control, **_):
                super().on_step_end(args, state, control)
                if state.global_step == 8:
                    os.kill(os.getpid(), signal.SIGKILL)
        loop._MarkWhole = Killer
        run({tiny_folder!r}, Path({str(killed)!r}), settings={name})
    """)
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    encoder, result = run(tiny_folder, killed, settings=settings)
    assert result.resumed_from == 6
    assert result.history == expected.history
    for key, weights in whole.network.state_dict().items():
        torch.testing.assert_close(encoder.network.state_dict()[key], weights, msg=key)
    for path in (tmp_path / "whole" / "c").glob("weights-*"):
        for key, weights in load_file(path).items():
            torch.testing.assert_close(load_file(killed / path.name)[key], weights, msg=f"{path.name}: {key}")


@pytest.mark.parametrize("damage", ["no mark", "no optimizer", "broken state"])
def test_half_written_checkpoint_is_passed_over_for_the_last_whole_one(tiny_folder, tmp_path, damage):
    _, expected = run(tiny_folder, tmp_path / "c")
    newest = tmp_path / "c" / "checkpoint-12"
    {
        "no mark": (newest / "WHOLE").unlink,
        "no optimizer": (newest / "optimizer.pt").unlink,
        "broken state": lambda: (newest / "trainer_state.json").write_text("{"),
    }[damage]()
    _, result = run(tiny_folder, tmp_path / "c")
    assert result.resumed_from == 9
    assert result.history == expected.history


def test_checkpoints_of_other_settings_or_data_are_not_resumed(tiny_folder, tmp_path):
    run(tiny_folder, tmp_path / "c", fingerprint="x")
    (tmp_path / "c" / "weights-99.safetensors").touch()
    assert run(tiny_folder, tmp_path / "c", fingerprint="y")[1].resumed_from == 0
    assert not (tmp_path / "c" / "weights-99.safetensors").exists()
    (tmp_path / "c" / "fingerprint.json").write_text('"y')
    assert run(tiny_folder, tmp_path / "c", fingerprint="y")[1].resumed_from == 0


def test_a_trained_run_that_is_called_again_only_reads_its_last_checkpoint(tiny_folder, tmp_path):
    _, first = run(tiny_folder, tmp_path / "c")
    _, second = run(tiny_folder, tmp_path / "c")
    assert second.resumed_from == first.steps == 12
    assert second.history == first.history
    json.dumps(second.history)


def test_dialogues_that_are_cut_are_counted(tiny_folder, tmp_path):
    assert run(tiny_folder, tmp_path / "c")[1].cut == 0
    short = replace(NEIGHBOURS, max_length=6, epochs=1)
    assert run(tiny_folder, tmp_path / "d", settings=short)[1].cut == 24


def test_a_loss_that_is_no_number_stops_training_with_a_sentence(tiny_folder, tmp_path):
    wild = replace(SETTINGS, learning_rate=1.0, temperature=0.001)
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    torch.nn.init.constant_(encoder.backbone.encoder.layer[3].output.dense.weight, float("nan"))
    data = self_guided(encoder, corpus())
    with pytest.raises(Dial2vecError, match=r"the loss became nan at step 1.*Lower train\.learning_rate"):
        train(encoder, data, settings=wild, seed=1, checkpoints=tmp_path / "c", fingerprint="x")


def test_weights_that_diverge_after_the_last_log_stop_training_with_a_sentence(tiny_folder, tmp_path, monkeypatch):
    class Spoiler(loop._MarkWhole):
        def on_step_end(self, args, state, control, **_):
            if state.global_step == 12:
                torch.nn.init.constant_(self.encoder.backbone.encoder.layer[3].output.dense.weight, float("nan"))

    monkeypatch.setattr(loop, "_MarkWhole", Spoiler)
    with pytest.raises(Dial2vecError, match=r"weights are no longer finite after the last step\. Lower train\.learn"):
        run(tiny_folder, tmp_path / "c", settings=RARELY_LOGGED)


@pytest.mark.parametrize("settings", [SETTINGS, NEIGHBOURS], ids=["dial2vec", "neighbours"])
def test_all_layers_frozen_is_a_sentence(tiny_folder, tmp_path, settings):
    with pytest.raises(SettingsError, match=r"train\.frozen_share is 1, which leaves nothing to train\. Lower it"):
        run(tiny_folder, tmp_path / "c", settings=replace(settings, frozen_share=1.0))


def test_a_training_leaves_no_more_candidates_than_can_be_compared(tiny_folder, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(loop, "MOST_CANDIDATES", 4)
    caplog.set_level("INFO")
    often = replace(SETTINGS, checkpoint_steps=1, gradient_accumulation=2, epochs=3)
    _, result = run(tiny_folder, tmp_path / "c", settings=often)
    # 3 x 6 batches, two to a step.
    assert result.steps == 9
    assert sorted(int(path.stem.split("-")[1]) for path in (tmp_path / "c").glob("weights-*")) == [3, 6, 9]
    assert "a checkpoint every 3 steps, not 1: at most 4" in caplog.text


@pytest.mark.parametrize("steps", range(1, 130))
def test_the_cap_holds_for_any_number_of_steps_and_leaves_the_defaults_alone(steps):
    often = loop._with_few_candidates(replace(SETTINGS, checkpoint_steps=1), steps * SETTINGS.batch_size)
    assert math.ceil(steps / often.checkpoint_steps) <= 40
    assert often.checkpoint_steps == 1 or math.ceil(steps / (often.checkpoint_steps - 1)) > 40


def test_the_defaults_and_the_benchmarks_recipes_keep_their_checkpoints():
    for row in ALL.values():
        options = row.settings(Settings(), seed=1).train
        n_items = (options.max_dialogues or 0) * (2 if "passes" in row.sample and row.sample["passes"] == 2 else 1)
        assert loop._with_few_candidates(options, n_items) is options


def test_weight_decay_spares_biases_and_norms_also_where_two_rates_hold():
    module = torch.nn.ModuleDict(
        {
            "encoder": torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2)),
            "beside": torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.LayerNorm(3)),
        }
    )
    trainer = loop.Trainer(
        model=module, args=loop._arguments(replace(SETTINGS, weight_decay=0.1), 1, Path("unused"), "constant")
    )
    loop._set_rate(module["beside"], trainer.create_optimizer(), 0.5)
    found = {
        id(weights): (group["lr"], group["weight_decay"])
        for group in trainer.optimizer.param_groups
        for weights in group["params"]
    }
    assert {name: found[id(weights)] for name, weights in module.named_parameters()} == {
        "encoder.0.weight": (1e-2, 0.1),
        "encoder.0.bias": (1e-2, 0.0),
        "encoder.1.weight": (1e-2, 0.0),
        "encoder.1.bias": (1e-2, 0.0),
        "beside.0.weight": (0.5, 0.1),
        "beside.0.bias": (0.5, 0.0),
        "beside.1.weight": (0.5, 0.0),
        "beside.1.bias": (0.5, 0.0),
    }


def test_several_gpus_do_not_make_the_steps_larger(monkeypatch, tmp_path):
    def found(self):
        self._n_gpu = 4
        return torch.device("cpu")

    monkeypatch.setattr("transformers.TrainingArguments._setup_devices", property(found))
    arguments = loop._arguments(SETTINGS, 1, tmp_path, "linear")
    assert arguments.train_batch_size == SETTINGS.batch_size


@pytest.mark.parametrize("settings", [SETTINGS, NEIGHBOURS], ids=["dial2vec", "neighbours"])
def test_bf16_without_instructions_for_it_is_a_sentence_not_a_slow_training(
    tiny_folder, tmp_path, monkeypatch, settings
):
    monkeypatch.setattr("dial2vec.encoder.network.has_bf16", lambda device: False)
    with pytest.raises(SettingsError, match="precision is bf16, but this machine's cpu has no instructions for it"):
        run(tiny_folder, tmp_path / "c", settings=replace(settings, precision="bf16"))


def test_a_batch_shared_out_by_dialogues_gives_the_same_loss(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    data = self_guided(encoder, corpus())
    objective = _Objective(encoder, SETTINGS, data).eval()
    batch = data.collate([data[i] for i in range(6)])
    parts = [objective(**{name: tensor[i : i + 2] for name, tensor in batch.items()})["loss"] for i in (0, 2, 4)]
    torch.testing.assert_close(torch.stack(parts).mean(), objective(**batch)["loss"])
