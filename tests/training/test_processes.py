"""Training by two processes, which talk by gloo, beside training by one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, BertModel

from dial2vec.config import DialAug, DialogueCse, Dse, IntentAugmentation, Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import SettingsError
from dial2vec.training import loop
from dial2vec.training.data import whole_batches
from dial2vec.training.loop import ProcessBatches
from dial2vec.training.methods import METHODS
from dial2vec.training.negatives import draw_samples
from dial2vec.training.plan import Given
from dial2vec.training.processes import barrier, gathered, main_process_first, on_main_process, rank
from tests.conftest import make_dialogue

INTERRUPTED = "dial2vec"
TRAIN = Train(max_dialogues=21, batch_size=5, gradient_accumulation=1, learning_rate=1e-2, log_steps=1, epochs=1)
SETTINGS = Settings(
    seed=1,
    train=replace(TRAIN, checkpoint_steps=2, precision="fp32", frozen_share=0.5),
    dse=Dse(batch_size=6, max_pairs=24, min_words=1, learning_rate=1e-2, frozen_share=0.5),
    dialoguecse=DialogueCse(mlm_epochs=0, batch_size=5, max_responses=21, learning_rate=1e-2, frozen_share=0.5),
    dialaug=DialAug(augmentation="none", batch_size=6, max_responses=24, learning_rate=1e-2, frozen_share=0.5),
    intent_augmentation=IntentAugmentation(ways=("shuffling",), batch_size=6, max_dialogues=24, learning_rate=1e-2),
)


def corpus():
    return [
        make_dialogue(f"d{i}", *(f"{'ab'[t % 2]}: w{(3 * i + t) % 40} w{(i + 7 * t) % 40}" for t in range(8 + i % 3)))
        for i in range(120)
    ]


def after_three(self, args, state, control, **_):
    if state.global_step == 3:
        raise InterruptedError


def losses_and_weights(folder, work, interrupted=""):
    """Train by every method, and return the loss of each step, the number of tokens, and the sum of the weights.

    :param interrupted: the method that is stopped after three steps, and begun again.
    """
    found = {}
    for method in METHODS:
        settings = replace(SETTINGS, train=replace(SETTINGS.train, method=method))
        encoder, dialogues = DialogueEncoder.from_pretrained(folder, device="cpu"), corpus()
        samples = draw_samples(dialogues, negatives=3, passes=1, keep_role="random", min_turns=2, seed=1)
        with main_process_first():
            vectors = Path(work, "vectors", method)
            plan = METHODS[method](Given(encoder, dialogues, samples, settings, vectors))
        places = {"checkpoints": Path(work, method), "adaptation": Path(work, "before", method), "fingerprint": "x"}
        if method == interrupted:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(loop._Progress, "on_step_begin", after_three, raising=False)
                with pytest.raises(InterruptedError):
                    plan.run(encoder, seed=1, **places)
            encoder = DialogueEncoder.from_pretrained(folder, device="cpu")
            plan = METHODS[method](Given(encoder, dialogues, samples, settings, vectors))
        _, done = plan.run(encoder, seed=1, **places)
        assert done.resumed_from == (2 if method == interrupted else 0)
        last = [float(weights.detach().double().abs().sum()) for weights in encoder.parameters()]
        found[method] = {"loss": [one["loss"] for one in done.history], "tokens": done.tokens, "weights": last}
    return found


@pytest.fixture(scope="module")
def folder(tiny_folder, tmp_path_factory):
    """Without dropout, which two processes draw in another way than one."""
    path = tmp_path_factory.mktemp("still") / "bert"
    BertModel.from_pretrained(tiny_folder, hidden_dropout_prob=0, attention_probs_dropout_prob=0).save_pretrained(path)
    AutoTokenizer.from_pretrained(tiny_folder).save_pretrained(path)
    return str(path)


@pytest.mark.services("torch")
def test_two_processes_have_the_losses_and_end_with_the_weights_of_one(folder, tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run(
        [*command, __file__, folder, str(tmp_path / "two")], check=True, capture_output=True, env=environment
    )
    two = json.loads((tmp_path / "two" / "found.json").read_text())
    one = losses_and_weights(folder, tmp_path / "one")
    assert set(two) == set(one) == set(METHODS)
    for method, expected in one.items():
        assert len(expected["loss"]) >= 4
        np.testing.assert_allclose(two[method]["loss"], expected["loss"], rtol=1e-4, err_msg=method)
        # The bias of the keys has no gradient but rounding.
        np.testing.assert_allclose(two[method]["weights"], expected["weights"], rtol=1e-3, atol=1e-2, err_msg=method)
        # A run that was resumed counts the tokens of a step from there on.
        assert two[method]["tokens"] == expected["tokens"] or method == INTERRUPTED
        assert sorted(path.name for path in (tmp_path / "two" / method).glob("weights-*")) == sorted(
            path.name for path in (tmp_path / "one" / method).glob("weights-*")
        )


@pytest.mark.parametrize(("n", "batch_size", "refused"), [(2, 6, False), (4, 6, True), (8, 6, True), (3, 6, False)])
def test_batches_whose_rows_are_gathered_have_to_divide_evenly(monkeypatch, n, batch_size, refused):
    monkeypatch.setenv("WORLD_SIZE", str(n))
    settings = replace(TRAIN, method="dse", batch_size=batch_size)
    if not refused:
        assert len(whole_batches(np.ones(20, dtype=np.int64), settings=settings, seed=1)[1]) == 18
        return
    with pytest.raises(SettingsError, match=rf"{n} processes cannot share a batch of 6 items evenly, which method dse"):
        whole_batches(np.ones(20, dtype=np.int64), settings=settings, seed=1)


class Numbers:
    """A training set of numbers, whose loss is their mean."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, item):
        return float(item) ** 2

    def collate(self, items):
        return {"mean": torch.tensor(items).mean()}


@given(n=st.integers(1, 40), batch_size=st.integers(1, 9), n_processes=st.integers(1, 5))
def test_the_mean_of_what_processes_find_is_the_mean_over_the_batch(n, batch_size, n_processes):
    data = Numbers(n)
    ours = [ProcessBatches(data, batch_size=batch_size, n_processes=n_processes, rank=r) for r in range(n_processes)]
    for step in range(len(ours[0])):
        losses = [float(batch["mean"] * batch["share"]) for batch in (one[step] for one in ours)]
        items = range(n)[step * batch_size : (step + 1) * batch_size]
        assert np.isclose(np.mean(losses), np.mean([item**2 for item in items]))
    assert len(ours[0]) == -(-n // batch_size)


def test_one_process_needs_nobody():
    rows = torch.ones(2, 3, requires_grad=True)
    assert gathered(rows) is rows
    assert on_main_process(lambda: 3) == 3
    barrier()
    with main_process_first():
        assert rank() == 0


if __name__ == "__main__":
    barrier()
    outcome = losses_and_weights(*sys.argv[1:], interrupted=INTERRUPTED)
    if rank() == 0:
        Path(sys.argv[2], "found.json").write_text(json.dumps(outcome))
