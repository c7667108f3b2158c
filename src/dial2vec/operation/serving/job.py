"""Job of a worker: the only argument of its process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from dial2vec.config import Serve

# A record that any encoder can encode.
EXAMPLE = {"turns": [{"speaker": "agent", "text": "Hello?"}, {"speaker": "caller", "text": "My card is lost."}]}


@dataclass(frozen=True)
class Job:
    """Job of a worker.

    :param listening: File descriptor of the socket of the port; several workers may share it.
    :param control: File descriptor of the socket to the keeper.
    :param folder: Folder of the version's encoder; "" if it was not found.
    :param alias: Alias of the version; "" for a fixed version.
    :param missing: Reason why the folder was not found, or "".
    :param hosts: More names under which the server may be asked (`--host`, `--allow-host`).
    :param token_file: File of the bearer tokens; "" asks for none.
    """

    listening: int
    control: int
    folder: str
    model: str
    version: str
    alias: str
    settings: Serve
    missing: str = ""
    hosts: tuple[str, ...] = ()
    token_file: str = ""

    def to_json(self) -> str:
        """Return the job as an argument of a process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Read a job from the text of `to_json`."""
        values: dict[str, Any] = json.loads(text)
        return cls(**values | {"settings": Serve(**values["settings"]), "hosts": tuple(values["hosts"])})


def message(**values: object) -> bytes:
    """Return a worker's message to its keeper, a line of JSON: `{"ready": {...}}` or `{"failed": "..."}`."""
    return json.dumps(values).encode() + b"\n"
