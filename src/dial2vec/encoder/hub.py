"""Models on a hub: a saved folder is pushed with its card, and fetched again by its name; docs/ecosystem.md."""

from __future__ import annotations

from pathlib import Path

from dial2vec.encoder.folder import CARD_FILE, MARKS
from dial2vec.errors import ModelError

# What the examples of a saved card load, until the model has a name on a hub.
PLACE = "path/to/this/folder"


def push_folder(
    folder: Path, repo_id: str, *, private: bool, token: str | None, message: str, licence: str | None, about: str
) -> str:
    """Push a saved folder, whose card then names the repository; return the address of the commit.

    The parameters and errors are those of `dial2vec.encoder.protocol.Encoder.push_to_hub`.
    """
    from httpx import HTTPError
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError, OfflineModeIsEnabled

    if (card := folder / CARD_FILE).is_file():
        text = card.read_text(encoding="utf-8").replace(PLACE, repo_id)
        text = text if licence is None else text.replace("---\n", f"---\nlicense: {licence}\n", 1)
        card.write_text(f"{text}\n{about}\n" if about else text, encoding="utf-8")
    api = HfApi(token=token)
    try:
        repository = api.create_repo(repo_id, private=private, exist_ok=True)
        commit = api.upload_folder(repo_id=repository.repo_id, folder_path=folder, commit_message=message)
        return str(commit.commit_url)
    except HFValidationError as error:
        raise ModelError(f"{repo_id!r} is no name of a repository ({error}). Expected OWNER/NAME.") from error
    except (HfHubHTTPError, LocalTokenNotFoundError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"the hub refuses to take {repo_id}: {reason} Expected a token that may write there: "
            "`hf auth login`, or token=."
        ) from error
    except (HTTPError, OfflineModeIsEnabled, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"the hub cannot be reached ({reason}); nothing was pushed. Try again with a network, "
            "or save_pretrained and upload the folder."
        ) from error


def from_hub(name: str) -> str:
    """Return the folder of a model that was pushed from here, by its name on the hub; the name itself for others."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        folder = Path(snapshot_download(name, allow_patterns=list(MARKS)))
        return snapshot_download(name) if any((folder / mark).is_file() for mark in MARKS) else name
    except (OSError, HFValidationError):
        # Whoever loads it says why.
        return name
