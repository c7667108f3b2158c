from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import make_dialogue
from dial2vec.config import Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ArtifactError, Dial2vecError, SettingsError
from dial2vec.sampling import draw_samples
from dial2vec.training import TrainingSet, _Objective, train, training_order

SETTINGS = Train(
    max_dialogues=None, epochs=2, batch_size=2, learning_rate=1e-2, log_steps=1, checkpoint_steps=3, precision="fp32"
)


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


def run(folder, checkpoints, *, settings=SETTINGS, fingerprint="x"):
    encoder = DialogueEncoder.from_pretrained(folder)
    dialogues = corpus()
    result = train(
        encoder,
        dialogues,
        samples_of(dialogues),
        settings=settings,
        seed=1,
        checkpoints=checkpoints,
        fingerprint=fingerprint,
    )
    return encoder, result


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 3), st.integers(1, 3), st.integers(1, 6), st.integers(0, 3))
def test_every_epoch_trains_on_every_item_once(n, passes, epochs, batch_size, seed):
    options = Train(epochs=epochs, batch_size=batch_size, max_dialogues=None)
    order = training_order(np.arange(n) % 7, passes=passes, settings=options, seed=seed)
    expected = sorted((p, i) for p in range(passes) for i in range(n))
    for epoch in range(epochs):
        part = order[epoch * n * passes : (epoch + 1) * n * passes]
        assert sorted(map(tuple, part.tolist())) == expected


def test_batches_hold_dialogues_of_similar_length():
    words = np.random.default_rng(0).integers(1, 300, 400)
    order = training_order(words, passes=1, settings=Train(batch_size=5, max_dialogues=None), seed=1)
    batches = words[order[:, 1]].reshape(-1, 5)
    shuffled = np.random.default_rng(1).permutation(words).reshape(-1, 5)
    padding, unsorted = (1 - b.sum() / (b.max(1) * 5).sum() for b in (batches, shuffled))
    assert padding < 0.05 < unsorted


def test_fewer_dialogues_are_a_subset_of_more():
    words = np.ones(50, dtype=np.int64)
    few, many = (
        set(training_order(words, passes=1, settings=Train(max_dialogues=n), seed=1)[:, 1].tolist()) for n in (10, 30)
    )
    assert len(few) == 10
    assert few < many


def test_an_item_is_the_dialogue_and_its_negatives(tiny_folder):
    dialogues = corpus()
    samples = samples_of(dialogues)
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    order = np.array([[0, 3], [0, 5]])
    items = TrainingSet(dialogues, samples, encoder.tokens, order)
    texts = [turn.text for dialogue in dialogues for turn in dialogue.turns]
    for item, (_, place) in enumerate(order):
        dialogue = dialogues[samples.dialogues[place]]
        expected = [[turn.text for turn in dialogue.turns]]
        columns = slice(samples.first_turn[place], samples.first_turn[place + 1])
        expected += [[texts[number] for number in row] for row in samples.negatives[0][:, columns]]
        found = [encoder.tokens.tokenizer.decode(sequence.ids) for sequence in items[item]]
        assert found == ["[CLS] " + " [SEP] ".join(turns) for turns in expected]


def test_training_lowers_the_loss_and_leaves_frozen_layers_alone(tiny_folder, tmp_path):
    before = DialogueEncoder.from_pretrained(tiny_folder)
    settings_ = Train(
        max_dialogues=None, epochs=12, batch_size=4, learning_rate=5e-3, log_steps=1, checkpoint_steps=1000
    )
    encoder, result = run(tiny_folder, tmp_path / "c", settings=settings_)
    losses = [entry["loss"] for entry in result.history]
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 0.1
    for name, weights in before.backbone.named_parameters():
        same = torch.equal(weights, dict(encoder.backbone.named_parameters())[name])
        if name.startswith(("embeddings", "encoder.layer.0", "encoder.layer.1")):
            assert same, name
        elif name.startswith("encoder.layer.3"):
            assert not same, name


def test_training_is_reproducible(tiny_folder, tmp_path):
    first, again = (run(tiny_folder, tmp_path / name)[1] for name in "ab")
    assert first.history == again.history
    assert [entry["step"] for entry in first.history] == list(range(1, 13))


def test_killed_training_resumes_and_ends_with_the_same_curve_and_weights(tiny_folder, tmp_path):
    whole, expected = run(tiny_folder, tmp_path / "whole")
    killed = tmp_path / "killed"
    script = textwrap.dedent(f"""
        import os, signal, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import dial2vec.training as training
        from test_training import run
        from pathlib import Path
        class Killer(training._MarkWhole):
            def on_step_end(self, args, state, control, **_):
                if state.global_step == 8:
                    os.kill(os.getpid(), signal.SIGKILL)
        training._MarkWhole = Killer
        run({tiny_folder!r}, Path({str(killed)!r}))
    """)
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    encoder, result = run(tiny_folder, killed)
    assert result.resumed_from == 6
    assert result.history == expected.history
    for name, weights in whole.state_dict().items():
        torch.testing.assert_close(encoder.state_dict()[name], weights, msg=name)


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
    assert run(tiny_folder, tmp_path / "c", fingerprint="y")[1].resumed_from == 0
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
    dialogues = [*corpus(), make_dialogue("long", "a: " + "w1 " * 50, "b: " + "w2 " * 50)]
    samples = draw_samples(dialogues, negatives=3, passes=1, keep_role="first", min_turns=2, seed=1)
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    place = samples.dialogues.tolist().index(12)
    assert TrainingSet(dialogues, samples, encoder.tokens, np.array([[0, place]])).count_cut() == 1


def test_a_loss_that_is_no_number_stops_training_with_a_sentence(tiny_folder, tmp_path):
    wild = Train(max_dialogues=None, epochs=2, batch_size=2, learning_rate=1.0, temperature=0.001, log_steps=1)
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    torch.nn.init.constant_(encoder.backbone.encoder.layer[3].output.dense.weight, float("nan"))
    dialogues = corpus()
    with pytest.raises(Dial2vecError, match=r"the loss became nan at step 1.*Lower train\.learning_rate"):
        train(
            encoder,
            dialogues,
            samples_of(dialogues),
            settings=wild,
            seed=1,
            checkpoints=tmp_path / "c",
            fingerprint="x",
        )


def test_bf16_without_a_gpu_is_a_sentence_about_the_setting(tiny_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SettingsError, match=r"train\.precision is bf16, but no GPU"):
        run(tiny_folder, tmp_path / "c", settings=Train(precision="bf16"))


def test_a_batch_shared_out_by_dialogues_gives_the_same_loss(tiny_folder):
    dialogues = corpus()
    samples = samples_of(dialogues)
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    data = TrainingSet(dialogues, samples, encoder.tokens, np.array([[0, i] for i in range(6)]))
    objective = _Objective(encoder, SETTINGS, 4).eval()
    batch = data.collate([data[i] for i in range(6)])
    parts = [objective(**{name: tensor[i : i + 2] for name, tensor in batch.items()})["loss"] for i in (0, 2, 4)]
    torch.testing.assert_close(torch.stack(parts).mean(), objective(**batch)["loss"])


def test_nothing_to_train_on_is_an_error_that_names_the_setting(tiny_folder, tmp_path):
    dialogues = corpus(3)
    samples = draw_samples(dialogues, negatives=3, passes=1, keep_role="random", min_turns=50, seed=1)
    with pytest.raises(ArtifactError, match=r"none of the 3 training dialogues can train.*sample\.min_turns"):
        train(
            DialogueEncoder.from_pretrained(tiny_folder),
            dialogues,
            samples,
            settings=SETTINGS,
            seed=1,
            checkpoints=tmp_path,
            fingerprint="x",
        )
