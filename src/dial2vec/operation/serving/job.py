"""What a keeper tells a worker: the only argument of its process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from dial2vec.config import Serve

# A request that any encoder can answer.
EXAMPLE = {"turns": [{"speaker": "agent", "text": "Hello?"}, {"speaker": "caller", "text": "My card is lost."}]}


@dataclass(frozen=True)
class Job:
    """What a worker is to do.

    :param listening: file descriptor of the socket that it accepts from; others may do so as well.
    :param control: file descriptor of the socket to the keeper.
    :param root: the project.
    :param model: name of the registered model.
    :param version: the one to serve.
    :param alias: by which it was found, or an empty string.
    :param settings: the limits.
    """

    listening: int
    control: int
    root: str
    model: str
    version: str
    alias: str
    settings: Serve

    def to_json(self) -> str:
        """Return the job as an argument."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Read what `to_json` wrote."""
        values: dict[str, Any] = json.loads(text)
        return cls(**values | {"settings": Serve(**values["settings"])})


def line(**values: object) -> bytes:
    """Return what a worker says to its keeper, a line of JSON: `{"ready": {...}}` or `{"failed": "..."}`."""
    return json.dumps(values).encode() + b"\n"
