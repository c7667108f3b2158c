from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.config import Settings
from dial2vec.errors import SettingsError
from dial2vec.params import load_settings, settings_from_dict
from dial2vec_papers.presets import PRESETS, notes_on, preset_blocks, with_preset, write_preset

PARAMS = Path(__file__).parents[2] / "params.yaml"


@pytest.fixture
def params(tmp_path):
    return Path(shutil.copy(PARAMS, tmp_path / "params.yaml"))


def comments(text):
    return [line.partition("#")[2] for line in text.splitlines() if "#" in line]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_stands_in_params_with_the_comments_and_all_else_as_before(params, name):
    before, settings = params.read_text(), load_settings(params)
    changed = write_preset(params, name)
    assert comments(params.read_text()) == comments(before)
    assert len(params.read_text().splitlines()) == len(before.splitlines())
    assert load_settings(params) == with_preset(settings, name, corpus="demo")
    assert changed
    assert all(re.fullmatch(r"\w+\.\w+: .+ -> .+", line) for line in changed)
    assert write_preset(params, name) == []


def test_the_paper_s_recipe_is_20_dialogues_a_step_at_1e_5_over_the_whole_train_split(params):
    write_preset(params, "dial2vec-paper")
    found = load_settings(params)
    train = found.train
    assert (train.method, train.learning_rate, train.max_dialogues) == ("dial2vec", 1e-5, None)
    assert train.batch_size * train.gradient_accumulation == 20
    assert (found.encoder.input, found.encoder.pooling) == ("eou", "role")
    assert (found.evaluate.kmeans, found.evaluate.clusters) == ("paper", "corpus")


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "dial2vec-paper"])
def test_the_weight_decay_of_dial2vec_does_not_stay_with_another_paper(params, name):
    write_preset(params, "dial2vec-paper")
    write_preset(params, name)
    assert load_settings(params).train.weight_decay == 0


def test_default_brings_back_the_values_of_a_new_project(params):
    settings = load_settings(params)
    for name in PRESETS:
        write_preset(params, name)
    write_preset(params, "default")
    assert load_settings(params) == settings == Settings()


def test_a_paper_s_encoder_keeps_its_own_input_and_a_corpus_its_own_epochs():
    def of(encoder, corpus):
        blocks = preset_blocks("dial2vec-paper", encoder=encoder, corpus=corpus)
        return blocks["encoder"]["input"], blocks["train"]["epochs"]

    assert of("plato", "bitod") == ("plato", 10)
    assert of("roberta", "self_dialogue") == ("separators", 2)
    assert of("bert", "sgd") == of("all-MiniLM-L6-v2", "calls") == ("eou", 5)
    notes = notes_on("dial2vec-paper", ("sgd", "self_dialogue", "calls"))
    assert "train.epochs 5 is published for sgd." in notes
    assert [note for note in notes if "would have" in note] == [
        "self_dialogue would have 2: train it in a project of its own, or change train.epochs."
    ]


def test_lengths_of_dialoguecse_and_batches_of_dialaug_are_those_of_their_papers_by_corpus():
    def of(name, block, key, *corpora):
        return [preset_blocks(name, encoder="bert", corpus=corpus)[block][key] for corpus in corpora]

    assert of("dialoguecse-paper", "dialoguecse", "max_length", "jddc", "ecd", "msr_e2e") == [100, 50, 50]
    assert of("dialaug-paper", "dialaug", "batch_size", "taskmaster3", "ubuntu_v2", "calls") == [20, 32, 32]
    assert "dialaug.batch_size 32 is our choice for calls." in notes_on("dialaug-paper", ("calls",))
    assert not any("as the paper says" in note for name in PRESETS for note in notes_on(name, ("calls",)))


def test_keys_and_blocks_that_the_file_lacks_are_added(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("corpora: [calls]\ntrain:  # of calls\n  window: 3\nseed: 7\n")
    write_preset(path, "dse-paper")
    found = yaml.safe_load(path.read_text())
    assert (found["seed"], found["train"]["window"], found["train"]["method"]) == (7, 3, "dse")
    assert load_settings(path) == with_preset(
        settings_from_dict({"corpora": ["calls"], "seed": 7, "train": {"window": 3}}), "dse-paper", corpus="calls"
    )


def test_a_block_on_one_line_is_changed_too_and_an_unknown_preset_changes_nothing(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("corpora: [calls]\ntrain: {window: 3}\n")
    with pytest.raises(SettingsError, match=r"no preset 'dse-papr'\. Did you mean 'dse-paper'\?"):
        write_preset(path, "dse-papr")
    assert path.read_text() == "corpora: [calls]\ntrain: {window: 3}\n"
    write_preset(path, "dse-paper")
    assert path.read_text().startswith("corpora: [calls]\ntrain: {window: 3, method: dse, ")


def test_the_command_lists_presets_and_says_what_it_changed(params, monkeypatch):
    (params.parent / "dvc.yaml").touch()
    monkeypatch.chdir(params.parent)
    listed = CliRunner().invoke(main, ["preset"])
    assert [line.split()[0] for line in listed.output.splitlines()] == list(PRESETS)
    done = CliRunner().invoke(main, ["preset", "dial2vec-paper"])
    assert done.exit_code == 0, done.output
    assert "train.learning_rate: 0.0001 -> 1.0e-05" in done.output
    assert "Note: 20 dialogues a step are 5 on each of 4 GPUs" in done.output
    again = CliRunner().invoke(main, ["preset", "dial2vec-paper"])
    assert "params.yaml has these settings already" in again.output
