from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest
from huggingface_hub import constants

from dial2vec import load_encoder
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ModelError
from tests.encoder.hub import SHA, Hub
from tests.students import tiny_student


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def hub(tmp_path, monkeypatch):
    with Hub() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(constants, "ENDPOINT", server.address)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.address + "/{repo_id}/resolve/{revision}/{filename}"
        )
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        yield server
        server.shutdown()


@pytest.fixture
def encoder(tiny_folder):
    return DialogueEncoder.from_pretrained(tiny_folder, device="cpu", pooling="role", max_length=32)


@pytest.mark.parametrize("kind", ["encoder", "student"])
def test_a_model_is_pushed_with_a_card_that_names_it_and_loaded_by_that_name(kind, request, hub, tmp_path):
    model = request.getfixturevalue("encoder") if kind == "encoder" else tiny_student()
    address = model.push_to_hub(
        "team/calls", token="secret", message="First", licence="mit", about="## Figures\n\nMAP 81.2"
    )
    assert address == f"{hub.address}/team/calls/commit/{SHA}"
    assert hub.created == {"name": "calls", "organization": "team", "visibility": "private"}
    assert (hub.token, hub.message) == ("Bearer secret", "First")
    model.save_copy(tmp_path / "saved")
    assert set(hub.files) == files_of(tmp_path / "saved")
    card = hub.files["README.md"].decode()
    assert card.startswith("---\nlicense: mit\n")
    assert 'SentenceTransformer("team/calls")' in card
    assert "path/to" not in card
    assert card.endswith("MAP 81.2\n")
    loaded = load_encoder("team/calls", device="cpu")
    assert type(loaded) is type(model)
    assert loaded.fingerprint() == model.fingerprint()


def test_a_public_repository_is_made_only_when_asked_for(encoder, hub):
    encoder.push_to_hub("team/calls", private=False)
    assert hub.created["visibility"] == "public"


def test_a_hub_that_refuses_or_cannot_be_reached_is_told_in_one_sentence(encoder, hub, monkeypatch):
    hub.refuses = True
    with pytest.raises(ModelError, match=r"refuses to take team/calls: .*403 Forbidden"):
        encoder.push_to_hub("team/calls")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(ModelError, match=r"cannot be reached \(.*\); nothing was pushed"):
        encoder.push_to_hub("team/calls")


def test_a_wrong_name_is_refused_before_anything_is_sent(encoder):
    with pytest.raises(ModelError, match="is no name of a repository"):
        encoder.push_to_hub("a/b/c")
