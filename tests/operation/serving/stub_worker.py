"""A worker without a model: its vectors say which version it is, after as many milliseconds as the text says."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from pathlib import Path

import numpy as np

from dial2vec.operation.serving.batching import Piece
from dial2vec.operation.serving.gate import Gate
from dial2vec.operation.serving.job import Job, message
from dial2vec.operation.serving.server import serve
from dial2vec.operation.serving.tokens import AccessTokens


class StubReader:
    """Encodes a piece per turn, whose text is a number of milliseconds; the vector is [version]."""

    splits_at_blanks = False

    def __init__(self, version: str) -> None:
        self.version = int(version)

    def tokenise(self, texts):
        return [np.array([int(text)], dtype=np.int32) for text in texts]

    def pieces(self, dialogue, turns):
        return [Piece(1, int(turn[0])) for turn in turns], False

    def encode(self, pieces):
        time.sleep(sum(piece.content for piece in pieces) / 1000)
        return np.ones((len(pieces), 1), dtype=np.float32)

    def join(self, pooled):
        return np.full((len(pooled), 1), self.version, dtype=np.float32)


def stub_gate(version: str, **options) -> Gate:
    """Return a gate around a stub reader."""
    about = {"model": "dial2vec-demo", "version": version, "dimension": 1}
    return Gate(StubReader(version), about=about, **options)


def main() -> None:
    """Do the job; version 13 cannot be served, nor one with a file of its name in the project."""
    job = Job.from_json(sys.argv[1])
    with socket.socket(fileno=job.control) as control, socket.socket(fileno=job.listening) as listening:
        if job.missing or job.version == "13" or (Path(job.folder) / job.version).exists():
            control.sendall(message(failed=job.missing or "its files are gone."))
            sys.exit(1)
        tokens = AccessTokens(Path(job.token_file)) if job.token_file else None
        gate = stub_gate(job.version, settings=job.settings, tokens=tokens)
        asyncio.run(serve(gate, listening, control, job.settings))


if __name__ == "__main__":
    main()
