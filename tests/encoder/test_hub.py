from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import httpx
import huggingface_hub
import pytest
from huggingface_hub.errors import HfHubHTTPError

from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ModelError


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


class Hub:
    """Takes what is pushed, up to where the network would begin."""

    def __init__(self, *, token=None) -> None:
        self.token = token
        Hub.asked = []

    def create_repo(self, repo_id, *, private, exist_ok):
        Hub.asked.append((repo_id, private, exist_ok, self.token))
        return SimpleNamespace(repo_id=repo_id)

    def upload_folder(self, *, repo_id, folder_path, commit_message):
        Hub.files = {
            path.relative_to(folder_path).as_posix() for path in Path(folder_path).rglob("*") if path.is_file()
        }
        Hub.card = (Path(folder_path) / "README.md").read_text()
        Hub.message = commit_message
        return SimpleNamespace(commit_url=f"https://hub/{repo_id}/commit/1")


@pytest.fixture
def encoder(tiny_folder):
    return DialogueEncoder.from_pretrained(tiny_folder, device="cpu")


def test_what_is_pushed_is_what_would_be_saved_with_a_card_that_names_it(encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    address = encoder.push_to_hub("team/calls", token="secret", message="First")
    encoder.save_pretrained(tmp_path / "m")
    assert address == "https://hub/team/calls/commit/1"
    assert Hub.asked == [("team/calls", True, True, "secret")]
    assert Hub.files == files_of(tmp_path / "m")
    assert 'SentenceTransformer("team/calls")' in Hub.card
    assert Hub.message == "First"
    encoder.push_to_hub("team/calls", private=False)
    assert Hub.asked[-1][1] is False


def refusing(error: Exception):
    class Refusing(Hub):
        def create_repo(self, *_, **__):
            raise error

    return Refusing


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (httpx.ConnectError("no route"), r"cannot be reached \(no route\); nothing was pushed"),
        (
            HfHubHTTPError("403 Forbidden\nlong", response=httpx.Response(403, request=httpx.Request("POST", "x"))),
            "refuses to take team/calls: 403 Forbidden",
        ),
    ],
)
def test_a_hub_that_does_not_take_it_is_told_in_one_sentence(encoder, monkeypatch, error, message):
    monkeypatch.setattr(huggingface_hub, "HfApi", refusing(error))
    with pytest.raises(ModelError, match=message):
        encoder.push_to_hub("team/calls")


def test_a_wrong_name_is_refused_before_anything_is_sent(encoder):
    with pytest.raises(ModelError, match="is no name of a repository"):
        encoder.push_to_hub("a/b/c")
