"""What stage train leaves where the encoder was changed before its method trained it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from conversations.dialogue import read_dialogues
from conversations.files import read_json
from dial2vec.encoder import DialogueEncoder, network
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.reading import Reading
from dial2vec.errors import ArtifactError
from dial2vec.evaluation.measure import measure
from dial2vec.params import load_settings
from dial2vec.pipeline.evaluate import evaluate
from dial2vec.pipeline.prepare import prepare
from dial2vec.pipeline.select import select
from dial2vec.pipeline.train import train_encoder
from dial2vec.pipeline.validate import validate
from dial2vec.training import plan
from dial2vec.training.candidates import apply_candidate, read_candidates
from dial2vec.training.methods import masked
from dial2vec.training.methods.dialoguecse import ContextSet
from dial2vec.training.methods.masked import MaskedSet
from dial2vec.training.negatives import Samples
from dial2vec.training.plan import Given
from tests.pipeline.projects import READY, change, run


@pytest.fixture
def guessing(project, monkeypatch):
    """DialogueCSE: 4 steps on masked words, then 5 on contexts, a checkpoint every two of them."""
    change(project, "train", method="dialoguecse", checkpoint_steps=2)
    options = {"mlm_max_utterances": 32, "max_responses": 10, "batch_size": 2, "negatives": 2, "learning_rate": 1e-2}
    change(project, "dialoguecse", mlm_epochs=1.0, **options)
    monkeypatch.setattr(masked, "BATCH", 8)
    monkeypatch.setattr(masked, "LEARNING_RATE", 1e-2)
    return project


@pytest.fixture
def trained(monkeypatch):
    """A list that gets the encoder of each training run."""
    seen, real = [], plan.train

    def watch(encoder, *given, **options):
        seen.append(encoder)
        return real(encoder, *given, **options)

    monkeypatch.setattr(plan, "train", watch)
    return seen


def start(project):
    return DialogueEncoder.start(load_settings(project / "params.yaml").encoder)


def test_without_samples_a_sentence_says_which_stage_writes_them(project):
    with pytest.raises(ArtifactError, match=r"samples\.npz does not exist; stage `sample` writes it"):
        run(project, validate, prepare, train_encoder)


def test_the_candidates_hold_what_guessing_words_changed_in_frozen_layers_too(guessing, trained):
    artifacts, said = run(guessing, *READY, train_encoder, select)
    assert said[3] == "4 candidates; 5 steps over 10 responses, after 4 steps on masked words"
    assert not artifacts.adaptation.exists()
    assert not artifacts.checkpoints.exists()
    assert len(read_json(artifacts.training)["before"]["history"]) == 4
    first, *_, last = read_candidates(artifacts.candidates)
    assert (first.base, last.base) == (None, "base.safetensors")
    found = apply_candidate(start(guessing), last, artifacts.candidates).network.state_dict()
    assert all(torch.equal(found[name], value) for name, value in trained[-1].network.state_dict().items())
    table = "backbone.embeddings.word_embeddings.weight"
    assert not torch.equal(found[table], start(guessing).network.state_dict()[table])
    dev = list(read_dialogues(artifacts.split("dev")))
    model = DialogueEncoder.from_pretrained(artifacts.model)
    assert (first.reading, last.reading, model.tokens.input) == (None, Reading("turns", "turns"), "turns")
    np.testing.assert_allclose(model.encode(dev), trained[-1].encode(dev), atol=1e-6)
    expected = [model.encode_utterances([turn.text for turn in dialogue.turns]).mean(0) for dialogue in dev]
    np.testing.assert_allclose(model.encode(dev), expected, atol=1e-5)


def test_the_start_keeps_its_own_reading_beside_candidates_with_another(project):
    change(project, "train", method="dse", checkpoint_steps=2)
    change(project, "dse", max_pairs=8, batch_size=4, min_words=1, learning_rate=1e-2)
    change(project, "select", selection="dev_purity")
    artifacts, _ = run(project, *READY, train_encoder, select, evaluate)
    entries = read_candidates(artifacts.candidates)
    assert [one.reading for one in entries] == [None, Reading("turns", "turns")]
    dev, selection = list(read_dialogues(artifacts.split("dev"))), read_json(artifacts.selection)
    for entry, shown in zip(entries, selection["candidates"], strict=True):
        encoder = apply_candidate(start(project), entry, artifacts.candidates)
        found = measure(encoder, dev, runs=2, seed=42, batch_size=8, progress=False).scores
        assert shown["dev"]["map"] == pytest.approx(found["map"], abs=3)
    figures = read_json(artifacts.metrics)
    assert figures["start"] != figures["trained"] or selection["chosen"] == "start"


def test_whoever_trains_for_utterances_is_told_how_to_keep_what_was_trained(project):
    change(project, "train", method="dse")
    change(project, "dse", max_pairs=8, batch_size=4, min_words=1, learning_rate=1e-2)
    change(project, "select", selection="label_free")
    _, said = run(project, *READY, train_encoder, select)
    advice = " Training was for utterances, but this choice compares dialogues. To keep the trained encoder, set "
    assert said[-1].startswith("The base encoder was kept: ")
    assert said[-1].endswith(f"{advice}select.selection to last.")
    change(project, "select", selection="last")
    assert run(project, select)[1] == [
        "The checkpoint of step 2 was chosen: it is the last candidate, and none was compared."
    ]
    change(project, "select", selection="label_free")
    change(project, "train", method="dial2vec")
    _, said = run(project, train_encoder, select)
    assert said[-1].startswith("The base encoder was kept: ")
    assert "select.selection" not in said[-1]


@pytest.mark.parametrize(("which", "at"), [(MaskedSet, 3), (ContextSet, 3)])
def test_a_kill_in_either_part_costs_the_steps_since_a_checkpoint(guessing, trained, monkeypatch, which, at):
    run(guessing, *READY, train_encoder)
    expected = trained[-1].network.state_dict()
    counts, losses = {}, {kind: kind.loss for kind in (MaskedSet, ContextSet)}

    def counting(kind, killed):
        def loss(self, *given):
            counts[kind] = counts.get(kind, 0) + 1
            if killed and counts[kind] == at + 1:
                raise KeyboardInterrupt
            return losses[kind](self, *given)

        return loss

    monkeypatch.setattr(which, "loss", counting(which, killed=True))
    with pytest.raises(KeyboardInterrupt):
        run(guessing, train_encoder)
    counts.clear()
    for kind in losses:
        monkeypatch.setattr(kind, "loss", counting(kind, killed=False))
    run(guessing, train_encoder)
    # Four and five steps, of which those up to the second were kept; a part that had ended is not done again.
    assert counts == ({MaskedSet: 2, ContextSet: 5} if which is MaskedSet else {ContextSet: 3})
    assert all(torch.equal(trained[-1].network.state_dict()[name], value) for name, value in expected.items())


def test_other_settings_throw_away_what_was_adapted(guessing, trained, monkeypatch):
    artifacts, _ = run(guessing, *READY)
    real = ContextSet.loss
    monkeypatch.setattr(ContextSet, "loss", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run(guessing, train_encoder)
    assert artifacts.adaptation.exists()
    monkeypatch.setattr(ContextSet, "loss", real)
    change(guessing, "dialoguecse", mlm_epochs=0)
    _, said = run(guessing, train_encoder)
    assert said == ["4 candidates; 5 steps over 10 responses"]
    assert not artifacts.adaptation.exists()
    assert all(one.base is None for one in read_candidates(artifacts.candidates))


@pytest.mark.parametrize("frozen_share", [0.0, 0.5])
def test_a_token_that_was_added_is_in_the_candidates_and_in_the_model(project, trained, frozen_share):
    change(project, "train", method="dialaug", checkpoint_steps=2)
    options = {"augmentation": "deletion", "deleted": "[DEL]", "max_responses": 10, "batch_size": 2}
    change(project, "dialaug", learning_rate=1e-2, frozen_share=frozen_share, **options)
    artifacts, _ = run(project, *READY, train_encoder, select)
    first, *_, last = read_candidates(artifacts.candidates)
    assert (first.added, last.added) == ((), ("[DEL]",))
    found = apply_candidate(start(project), last, artifacts.candidates)
    weights = found.network.state_dict()
    assert all(torch.equal(weights[name], value) for name, value in trained[-1].network.state_dict().items())
    model = DialogueEncoder.from_pretrained(artifacts.model)
    assert model.backbone.get_input_embeddings().weight.shape == (46, 16)
    assert model.tokens.tokenizer.convert_tokens_to_ids("[DEL]") == 45
    table = "backbone.embeddings.word_embeddings.weight"
    new = start(project).network.state_dict()[table].mean(0)
    assert torch.allclose(found.network.state_dict()[table][45], new, rtol=0, atol=1e-6) == (frozen_share > 0)
    dev = list(read_dialogues(artifacts.split("dev")))
    np.testing.assert_allclose(model.encode(dev), trained[-1].encode(dev), atol=1e-6)


def test_the_codes_of_a_poly_encoder_are_in_the_candidates_and_in_the_model(project, trained):
    change(project, "train", method="dialaug", checkpoint_steps=2)
    options = {"scoring": "poly", "codes": 3, "end_of_turn": "eot", "max_responses": 10, "batch_size": 2}
    change(project, "dialaug", learning_rate=1e-2, **options)
    artifacts, _ = run(project, *READY, train_encoder, select)
    first, *_, last = read_candidates(artifacts.candidates)
    assert (first.codes, first.added, last.codes, last.added) == (0, (), 3, ("[EOT]",))
    found, model = (
        apply_candidate(start(project), last, artifacts.candidates),
        DialogueEncoder.from_pretrained(artifacts.model),
    )
    for encoder in (found, model):
        assert torch.equal(encoder.network.codes, trained[-1].network.codes)
        assert encoder.tokens.input == "eot"


@pytest.mark.parametrize("lower", [False, True])
def test_the_last_heads_are_fitted_on_the_vectors_of_the_trained_encoder(larger, monkeypatch, lower):
    """In bf16 they were fitted on the base encoder's: its layers, packed before training, stayed."""
    monkeypatch.setattr(network, "has_bf16", lambda device: lower)
    change(larger, "train", learning_rate=0.05)
    artifacts, _ = run(larger, *READY, train_encoder)
    settings, samples = load_settings(larger / "params.yaml"), Samples.load(artifacts.samples)
    everyone = list(read_dialogues(artifacts.split("train")))
    drawn = Given(start(larger), everyone, samples, settings, artifacts.vectors).drawn(None, stream=0)
    entry = next(entry for entry in read_candidates(artifacts.candidates) if entry.name == "checkpoint of step 10")
    encoder = apply_candidate(start(larger), entry, artifacts.candidates)
    with encoder.without_head():
        expected, untrained = encoder.encode(drawn), start(larger).encode(drawn)
    found = np.concatenate([np.load(path) for path in sorted((artifacts.vectors / "trained").glob("*.npy"))])
    assert np.abs(unit_rows(found) - unit_rows(expected)).max() < 0.05
    assert np.abs(unit_rows(found) - unit_rows(untrained)).max() > 0.2
