from __future__ import annotations

import numpy as np
import pytest
import torch

from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ModelError

from .test_network import DIALOGUES, moved, names

HIERARCHY = "dialogue_hierarchy.safetensors"
TABLES = "dialogue_tables.safetensors"


@pytest.fixture
def saved(tiny_folder, tmp_path):
    """An encoder whose hierarchy has been trained, and the folder that it was saved to."""
    encoder = moved(DialogueEncoder.from_pretrained(tiny_folder, hierarchy="hssa"))
    encoder.save_pretrained(tmp_path / "saved")
    return encoder, tmp_path / "saved"


@names
def test_a_hierarchy_is_loaded_with_its_weights(tiny_folder, tmp_path, name):
    first = moved(DialogueEncoder.from_pretrained(tiny_folder, hierarchy=name, input="closed"))
    first.save_pretrained(tmp_path / "saved")
    again = DialogueEncoder.from_pretrained(tmp_path / "saved")
    assert (again.network.hierarchy.heads, again.network.hierarchy.training) == (2, False)
    np.testing.assert_array_equal(again.encode(DIALOGUES), first.encode(DIALOGUES))
    asked = DialogueEncoder.from_pretrained(tmp_path / "saved", hierarchy=name)
    np.testing.assert_array_equal(asked.encode(DIALOGUES), first.encode(DIALOGUES))


def test_another_hierarchy_than_was_saved_is_untrained_and_none_leaves_it_out(saved, tiny_folder, tmp_path):
    _, folder = saved
    plain = DialogueEncoder.from_pretrained(tiny_folder).encode(DIALOGUES)
    for name in ("biden", "none"):
        other = DialogueEncoder.from_pretrained(folder, hierarchy=name)
        np.testing.assert_array_equal(other.encode(DIALOGUES), plain)
    other.save_pretrained(folder)
    assert not (folder / HIERARCHY).exists()
    assert DialogueEncoder.from_pretrained(folder).network.hierarchy is None


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_saved_encoder_whose_hierarchy_is_lost_is_not_loaded_without_it(saved, damage):
    path = saved[1] / HIERARCHY
    path.with_name("checksums.json").unlink()
    path.unlink() if damage == "missing" else path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(ModelError, match=rf"{HIERARCHY} is not a whole hierarchy .* Save the encoder again") as error:
        DialogueEncoder.from_pretrained(saved[1])
    assert "\n" not in str(error.value)


def test_a_saved_hierarchy_that_is_not_known_is_one_sentence(saved):
    path = saved[1] / "dialogue_encoder.json"
    path.with_name("checksums.json").unlink()
    path.write_text(path.read_text().replace('"hssa"', '"pyramid"'))
    with pytest.raises(ModelError, match=r"names the hierarchy 'pyramid'; expected one of none, hssa, biden\. Load it"):
        DialogueEncoder.from_pretrained(saved[1])


@pytest.mark.parametrize("damage", ["missing", "cut", "other size"])
def test_a_saved_encoder_whose_tables_are_lost_is_not_loaded_without_them(tiny_folder, tmp_path, damage):
    from safetensors.torch import save_file

    DialogueEncoder.from_pretrained(tiny_folder, turn_embeddings=True).save_pretrained(tmp_path / "saved")
    path = tmp_path / "saved" / TABLES
    path.with_name("checksums.json").unlink()
    if damage == "other size":
        save_file({"turn": torch.zeros(3, 5)}, path)
    else:
        path.unlink() if damage == "missing" else path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(
        ModelError, match=rf"{TABLES} does not hold the whole tables .* Save the encoder again"
    ) as error:
        DialogueEncoder.from_pretrained(tmp_path / "saved")
    assert "\n" not in str(error.value)


def test_tables_that_are_asked_for_beside_saved_ones_begin_at_zero(tiny_folder, tmp_path):
    first = DialogueEncoder.from_pretrained(tiny_folder, turn_embeddings=True)
    torch.nn.init.normal_(first.network.turn_table.weight, generator=torch.Generator().manual_seed(0))
    first.save_pretrained(tmp_path / "saved")
    again = DialogueEncoder.from_pretrained(tmp_path / "saved", role_embeddings=True)
    assert torch.equal(again.network.turn_table.weight, first.network.turn_table.weight)
    assert not again.network.role_table.weight.any()
