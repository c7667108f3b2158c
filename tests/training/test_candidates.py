from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from conversations.files import write_json
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.head import Head
from dial2vec.errors import ArtifactError, Dial2vecError
from dial2vec.training.candidates import Candidate, apply_candidate, read_candidates, save_weights, write_candidates

from .test_loop import NEIGHBOURS, SETTINGS, corpus, run

CHECKPOINT_NAMES = [f"checkpoint of step {step}" for step in (3, 6, 9, 12)]


def start(folder):
    return DialogueEncoder.from_pretrained(folder)


def a_head(*, seed=0, d=16):
    generator = torch.Generator().manual_seed(seed)
    return Head(torch.randn(d, generator=generator) / d, torch.randn(d, d, generator=generator))


@pytest.fixture(scope="module")
def trained(tiny_folder, tmp_path_factory):
    """An encoder trained under its head, the folder of its checkpoints, and the folder of its candidates."""
    folder = tmp_path_factory.mktemp("run")
    encoder, _ = run(tiny_folder, folder / "checkpoints", settings=NEIGHBOURS)
    maps = {0: {"cautious map": a_head(), "map": a_head(seed=1)}, 12: {"map": a_head(seed=2)}}
    count = write_candidates(folder / "candidates", checkpoints=folder / "checkpoints", head=encoder.head, maps=maps)
    assert count == 8
    return encoder, folder / "checkpoints", folder / "candidates"


def test_candidates_are_listed_by_their_step_the_start_first(trained):
    found = read_candidates(trained[2])
    assert [one.name for one in found] == [
        *("start", "cautious map", "map"),
        *CHECKPOINT_NAMES,
        "map of step 12",
    ]
    assert [one.step for one in found] == [0, 0, 0, 3, 6, 9, 12, 12]
    assert found[0] == Candidate("start", 0)
    assert found[1] == Candidate("cautious map", 0, head="cautious-map-0.safetensors")
    assert found[3] == Candidate(CHECKPOINT_NAMES[0], 3, weights="weights-3.safetensors", head="head.safetensors")
    assert found[-1] == replace(found[-2], name="map of step 12", head="map-12.safetensors")


def test_the_start_stays_as_it_is(trained, tiny_folder):
    found = apply_candidate(start(tiny_folder), read_candidates(trained[2])[0], trained[2])
    np.testing.assert_array_equal(found.encode(corpus()), start(tiny_folder).encode(corpus()))


def test_a_head_is_put_on_the_untrained_start(trained, tiny_folder):
    found = apply_candidate(start(tiny_folder), read_candidates(trained[2])[1], trained[2])
    expected = a_head()(torch.from_numpy(start(tiny_folder).encode(corpus())))
    np.testing.assert_allclose(found.encode(corpus()), expected, atol=1e-6)


def test_the_last_checkpoint_gives_the_vectors_of_the_trained_encoder(trained, tiny_folder):
    encoder, _, folder = trained
    *_, last, mapped = read_candidates(folder)
    found = apply_candidate(start(tiny_folder), last, folder)
    np.testing.assert_array_equal(found.encode(corpus()), encoder.encode(corpus()))
    found = apply_candidate(start(tiny_folder), mapped, folder)
    with encoder.without_head():
        expected = a_head(seed=2)(torch.from_numpy(encoder.encode(corpus())))
    np.testing.assert_allclose(found.encode(corpus()), expected, atol=1e-6)


@pytest.mark.parametrize("hierarchy", ["hssa", "biden"])
def test_a_candidate_has_the_hierarchy_and_the_tables_that_training_left(tiny_folder, tmp_path, hierarchy):
    encoder, _ = run(tiny_folder, tmp_path / "checkpoints", hierarchy=hierarchy)
    write_candidates(tmp_path / "candidates", checkpoints=tmp_path / "checkpoints")
    first, *_, last = read_candidates(tmp_path / "candidates")
    began = apply_candidate(
        DialogueEncoder.from_pretrained(tiny_folder, hierarchy=hierarchy), first, tmp_path / "candidates"
    )
    np.testing.assert_array_equal(began.encode(corpus()), start(tiny_folder).encode(corpus()))
    found = apply_candidate(
        DialogueEncoder.from_pretrained(tiny_folder, hierarchy=hierarchy), last, tmp_path / "candidates"
    )
    np.testing.assert_array_equal(found.encode(corpus()), encoder.encode(corpus()))
    for name, weights in encoder.network.hierarchy.named_parameters():
        assert torch.equal(dict(found.network.hierarchy.named_parameters())[name], weights), name
    found.network.hierarchy = None
    assert not np.allclose(found.encode(corpus()), encoder.encode(corpus()), atol=1e-4)
    found.save_pretrained(tmp_path / "saved")
    with pytest.raises(ArtifactError, match=r"weights that the encoder lacks \(hierarchy\."):
        apply_candidate(start(tiny_folder), last, tmp_path / "candidates")


def test_each_checkpoint_gives_the_vectors_that_the_encoder_had_at_that_step(tiny_folder, tmp_path):
    seen = {}

    def watch(encoder, path):
        seen[int(path.stem.split("-")[1])] = encoder.encode(corpus())
        save_weights(encoder, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dial2vec.training.loop.save_weights", watch)
        run(tiny_folder, tmp_path / "checkpoints", settings=SETTINGS)
    write_candidates(tmp_path / "candidates", checkpoints=tmp_path / "checkpoints")
    [_, *checkpoints] = read_candidates(tmp_path / "candidates")
    assert [one.step for one in checkpoints] == sorted(seen) == [3, 6, 9, 12]
    for one in checkpoints:
        found = apply_candidate(start(tiny_folder), one, tmp_path / "candidates")
        assert found.head is None
        np.testing.assert_array_equal(found.encode(corpus()), seen[one.step])
    assert not np.allclose(seen[3], seen[12], atol=1e-3)


def test_frozen_weights_are_not_stored(trained):
    from safetensors.torch import load_file

    stored = load_file(trained[2] / "weights-12.safetensors")
    layers = {name.split(".")[3] for name in stored if ".layer." in name}
    assert layers == {"2", "3"}
    assert not [name for name in stored if "embeddings" in name or "head" in name]


def test_without_training_or_heads_the_start_is_the_only_candidate(tmp_path):
    assert write_candidates(tmp_path / "c", checkpoints=tmp_path / "nowhere") == 1
    assert read_candidates(tmp_path / "c") == [Candidate("start", 0)]


def test_candidates_of_a_former_run_are_replaced_as_a_whole(tmp_path):
    write_candidates(tmp_path / "c", checkpoints=tmp_path, maps={0: {"map": a_head()}})
    write_candidates(tmp_path / "c", checkpoints=tmp_path)
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["candidates.json"]


@pytest.mark.parametrize("damage", ["missing", "cut", "empty"])
@pytest.mark.parametrize("file", ["weights-3.safetensors", "head.safetensors"])
def test_a_missing_or_damaged_file_is_one_sentence(trained, tiny_folder, tmp_path, file, damage):
    import shutil

    folder = shutil.copytree(trained[2], tmp_path / "candidates")
    path = folder / file
    path.unlink() if damage == "missing" else path.write_bytes(path.read_bytes()[: 500 if damage == "cut" else 0])
    candidate = next(one for one in read_candidates(folder) if one.step == 3)
    with pytest.raises(Dial2vecError, match=file) as error:
        apply_candidate(start(tiny_folder), candidate, folder)
    assert "\n" not in str(error.value)


def test_weights_of_another_encoder_are_one_sentence(tiny_folder, tmp_path):
    from safetensors.torch import save_file

    name = "backbone.encoder.layer.3.output.dense.bias"
    for other, reason in (
        ({name: torch.zeros(5)}, "cannot be loaded.*size mismatch"),
        ({"backbone.wheel": torch.zeros(5)}, r"weights that the encoder lacks \(backbone\.wheel\)"),
    ):
        save_file(other, tmp_path / "weights-3.safetensors")
        with pytest.raises(ArtifactError, match=reason) as error:
            apply_candidate(start(tiny_folder), Candidate("other", 3, weights="weights-3.safetensors"), tmp_path)
        assert "\n" not in str(error.value)


def test_a_missing_or_half_written_list_is_one_sentence(tmp_path):
    with pytest.raises(ArtifactError, match=r"candidates\.json does not exist"):
        read_candidates(tmp_path)
    (tmp_path / "candidates.json").write_text('[{"na')
    with pytest.raises(ArtifactError, match=r"candidates\.json is not complete JSON"):
        read_candidates(tmp_path)


def test_the_list_is_plain_json(tmp_path):
    write_json(tmp_path / "candidates.json", [{"name": "start", "step": 0, "weights": None, "head": None}])
    assert read_candidates(tmp_path) == [Candidate("start", 0)]
    assert json.loads((tmp_path / "candidates.json").read_text())[0]["name"] == "start"


def test_base_weights_are_loaded_first_and_their_loss_is_one_sentence(trained, tiny_folder, tmp_path):
    from safetensors.torch import save_file

    names = [f"backbone.encoder.layer.{layer}.output.dense.bias" for layer in (0, 3)]
    save_file({name: torch.full((16,), 7.0) for name in names}, tmp_path / "base.safetensors")
    write_candidates(tmp_path / "c", checkpoints=trained[1], base=tmp_path / "base.safetensors")
    last = read_candidates(tmp_path / "c")[-1]
    found = apply_candidate(start(tiny_folder), last, tmp_path / "c").network.state_dict()
    # The frozen bottom is from the base weights, the top from the checkpoint.
    assert torch.equal(found[names[0]], torch.full((16,), 7.0))
    assert torch.equal(found[names[1]], trained[0].network.state_dict()[names[1]])
    (tmp_path / "c" / "base.safetensors").unlink()
    with pytest.raises(ArtifactError, match=r"base\.safetensors cannot be loaded"):
        apply_candidate(start(tiny_folder), last, tmp_path / "c")
