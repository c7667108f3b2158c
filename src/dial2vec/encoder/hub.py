"""Pushing an encoder to a hub of models."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dial2vec.encoder.sharing import save_card
from dial2vec.errors import ModelError

if TYPE_CHECKING:
    from dial2vec.encoder.encoder import DialogueEncoder


def push(encoder: DialogueEncoder, repo_id: str, *, private: bool, token: str | None, message: str) -> str:
    """Push the folder that `save_pretrained` writes, its card naming the repository; return the address of the commit.

    :raises ModelError: when the hub cannot be reached or refuses.
    """
    from httpx import HTTPError
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError, OfflineModeIsEnabled

    api = HfApi(token=token)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "model"
        encoder.save_pretrained(folder)
        save_card(encoder, folder, name=repo_id)
        try:
            found = api.create_repo(repo_id, private=private, exist_ok=True)
            commit = api.upload_folder(repo_id=found.repo_id, folder_path=folder, commit_message=message)
        except HFValidationError as error:
            raise ModelError(f"{repo_id!r} is no name of a repository ({error}). Expected OWNER/NAME.") from error
        except (HfHubHTTPError, LocalTokenNotFoundError) as error:
            raise ModelError(
                f"the hub refuses to take {repo_id}: {_first_line(error)} Expected a token that may write there: "
                "`hf auth login`, or token=."
            ) from error
        except (HTTPError, OfflineModeIsEnabled, OSError) as error:
            raise ModelError(
                f"the hub cannot be reached ({_first_line(error)}); nothing was pushed. Try again with a network, "
                "or save_pretrained and upload the folder."
            ) from error
    return str(commit.commit_url)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
