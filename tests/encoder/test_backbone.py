from __future__ import annotations

import pytest
import torch

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.backbone import add_token
from tests.conftest import make_dialogue
from tests.tiny_models import BUILDERS, build


@pytest.mark.parametrize("name", BUILDERS)
def test_an_added_token_is_the_mean_of_the_others_changes_nothing_else_and_is_saved(name, tmp_path):
    folder = build(name, tmp_path / name)
    encoder = DialogueEncoder.from_pretrained(folder, input="plato" if name == "plato" else "text")
    table, tokenizer = encoder.backbone.get_input_embeddings(), encoder.tokens.tokenizer
    before, vectors = table.weight.detach().clone(), encoder.encode(make_dialogue("d", "a: w1 w2", "b: w3"))
    assert add_token(encoder.backbone, tokenizer, "[DEL]")
    assert not add_token(encoder.backbone, tokenizer, "[DEL]")
    assert tokenizer.convert_tokens_to_ids("[DEL]") == len(before)
    assert torch.equal(table.weight, torch.cat([before, before.mean(0, keepdim=True)]))
    assert torch.equal(
        torch.from_numpy(vectors), torch.from_numpy(encoder.encode(make_dialogue("d", "a: w1 w2", "b: w3")))
    )
    encoder.save_pretrained(tmp_path / "saved")
    again = DialogueEncoder.from_pretrained(tmp_path / "saved")
    assert torch.equal(again.backbone.get_input_embeddings().weight, table.weight)
    assert again.tokens.tokenizer.convert_tokens_to_ids("[DEL]") == len(before)


def test_a_token_that_the_tokenizer_has_adds_nothing(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    before = encoder.tokens.tokenizer.backend_tokenizer.to_str()
    assert not add_token(encoder.backbone, encoder.tokens.tokenizer, "w7")
    assert encoder.tokens.tokenizer.backend_tokenizer.to_str() == before
    assert encoder.backbone.get_input_embeddings().weight.shape == (45, 16)


def test_a_row_to_spare_is_taken_before_the_table_grows(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.backbone.resize_token_embeddings(50, mean_resizing=False)
    table = encoder.backbone.get_input_embeddings()
    mean = table.weight[:45].mean(0)
    assert add_token(encoder.backbone, encoder.tokens.tokenizer, "[DEL]")
    assert table.weight.shape == (50, 16)
    torch.testing.assert_close(table.weight[45], mean)


def test_a_registry_address_is_loaded_from_the_folder_that_the_registry_names(tiny_folder, monkeypatch):
    asked = []
    monkeypatch.setattr("dial2vec.registry.tracking.local_model", lambda uri, root: asked.append(uri) or tiny_folder)
    assert DialogueEncoder.from_pretrained("models:/dial2vec-calls@champion").dimension == 16
    assert asked == ["models:/dial2vec-calls@champion"]
