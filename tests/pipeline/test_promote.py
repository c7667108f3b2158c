"""The comparison without labels that stage promote hands to the gate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from conversations.dialogue import write_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.head import Head
from dial2vec.encoder.student import StudentEncoder, TokenTable
from dial2vec.params import settings_from_dict
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.project.promotion import promote_candidate
from dial2vec.registry.promotion import Verdict
from tests.conftest import make_dialogue

SETTINGS = settings_from_dict({"select": {"bootstraps": 3}, "evaluate": {"kmeans_runs": 2}})


@pytest.fixture(scope="module")
def encoders(tiny_folder, tmp_path_factory):
    """The base encoder, and one that gives every dialogue the same vector."""
    folder = tmp_path_factory.mktemp("encoders")
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.save_pretrained(folder / "start")
    encoder.head = Head(torch.zeros(16), torch.zeros(16, 16))
    encoder.save_pretrained(folder / "collapsed")
    return folder


def dev_of(n):
    """Dialogues of three topics, each with ten words of its own that both sides use."""
    rng = np.random.default_rng(0)
    words = np.arange(30).reshape(3, 10)
    return [
        make_dialogue(
            f"d{i}", *(f"{'ab'[t % 2]}: " + " ".join(f"w{w}" for w in rng.choice(words[i % 3], 4)) for t in range(6))
        )
        for i in range(n)
    ]


def handed_over(monkeypatch, root, dev, corpus="calls"):
    """What the stage gives to the registry's gate."""
    calls = []

    def gate(*arguments, **options):
        calls.append(options)
        return Verdict(True, [])

    monkeypatch.setattr("dial2vec.project.promotion.promote", gate)
    write_dialogues(Artifacts(root, "calls").split("dev"), dev)
    promote_candidate(root, corpus, SETTINGS)
    return calls[0]


def test_a_candidate_that_tells_topics_apart_is_better_than_one_that_tells_nothing(monkeypatch, tmp_path, encoders):
    compare = handed_over(monkeypatch, tmp_path, dev_of(60))["compare"]
    assert compare(encoders / "collapsed", encoders / "start") is None
    assert "clearly below it on" in compare(encoders / "start", encoders / "collapsed")


def test_a_student_is_compared_as_any_other_candidate(monkeypatch, tmp_path, encoders, tiny_folder):
    draws = np.random.default_rng(0)
    table = TokenTable(draws.standard_normal((45, 16), dtype=np.float32), np.ones(45, np.float32))
    tokenizer = Tokenizer.from_file(str(Path(tiny_folder) / "tokenizer.json"))
    StudentEncoder(table, tokenizer, name="start").save_pretrained(tmp_path / "student")
    gate = handed_over(monkeypatch, tmp_path, dev_of(60), corpus="calls-small")
    assert gate["compare"](encoders / "collapsed", tmp_path / "student") is None
    assert "clearly below it on" in gate["compare"](tmp_path / "student", encoders / "collapsed")
    assert gate["rescore"](tmp_path / "student").scores is None


def test_a_candidate_that_equals_its_rival_is_not_better(monkeypatch, tmp_path, encoders):
    compare = handed_over(monkeypatch, tmp_path, dev_of(60))["compare"]
    assert compare(encoders / "start", encoders / "start") == "not clearly ahead of it on two criteria"


def test_too_few_dialogues_promote_nothing(monkeypatch, tmp_path, encoders):
    compare = handed_over(monkeypatch, tmp_path, dev_of(12))["compare"]
    assert compare(encoders / "collapsed", encoders / "start") == "too few dialogues"


def test_without_a_dev_split_nothing_can_be_measured_or_compared(monkeypatch, tmp_path):
    assert handed_over(monkeypatch, tmp_path, []) == {"seed": SETTINGS.seed}


def test_an_encoder_is_measured_on_a_dev_split_once(monkeypatch, tmp_path, encoders):
    dev = [replace(one, labels=(f"topic {n % 3}",)) for n, one in enumerate(dev_of(30))]
    rescore = handed_over(monkeypatch, tmp_path, dev)["rescore"]
    first = rescore(encoders / "start")
    monkeypatch.setattr("dial2vec.evaluation.measure.measure", None)
    again = rescore(encoders / "start")
    assert again.scores == first.scores
    assert (again.contributions.map == first.contributions.map).all()
    [kept] = Artifacts(tmp_path, "calls").on_dev.iterdir()
    kept.write_bytes(kept.read_bytes()[:200])
    # A truncated file is measured again, which fails here because `measure` is missing.
    with pytest.raises(TypeError):
        rescore(encoders / "start")
