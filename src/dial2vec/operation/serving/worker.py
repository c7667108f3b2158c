"""One serving process: it loads a version, encodes a dialogue as a test, and answers until it is asked to end.

`keeper` starts it with a `Job` as its only argument. It sends over the job's socket that it is ready, or why it failed.
When the keeper closes that socket, or is killed, the worker finishes its requests and ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from importlib.metadata import version as installed
from pathlib import Path

from conversations.dialogue import dialogue_from_record
from dial2vec.addresses import Hosts
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import Dial2vecError
from dial2vec.operation.serving.batching import Batcher, Workload
from dial2vec.operation.serving.gate import Gate
from dial2vec.operation.serving.job import EXAMPLE, Job, message
from dial2vec.operation.serving.readers import reader_of
from dial2vec.operation.serving.server import serve
from dial2vec.operation.serving.tokens import AccessTokens


def load_gate(job: Job) -> Gate:
    """Load the version's encoder, encode a dialogue as a test, and return the gate around it.

    No code that is stored in the registry runs.

    :raises Dial2vecError: if the encoder cannot be loaded, it does not encode, or the tokens cannot be read.
    """
    if job.missing:
        raise Dial2vecError(job.missing)
    encoder = load_encoder(job.folder)
    reader = reader_of(encoder)
    batcher = Batcher(reader, batch_tokens=job.settings.batch_tokens, max_tokens=job.settings.max_request_tokens)
    batcher.add(work := Workload([dialogue_from_record({"dialogue_id": "test"} | EXAMPLE)]))
    while not work.ended:
        batcher.step()
    if work.error is not None:
        raise Dial2vecError(f"it does not encode ({work.error}). Train or register it again.")
    about = {
        "model": job.model,
        "version": job.version,
        "alias": job.alias or None,
        "dimension": encoder.dimension,
        "max_tokens": encoder.max_length,
        "dial2vec": installed("dial2vec"),
    }
    tokens = AccessTokens(Path(job.token_file)) if job.token_file else None
    return Gate(reader, about=about, settings=job.settings, hosts=Hosts.of(*job.hosts), tokens=tokens)


def main() -> None:
    """Do the job that the first argument describes."""
    job = Job.from_json(sys.argv[1])
    # The answer reports long dialogues; the log need not repeat it for every request.
    logging.getLogger("dial2vec.encoder").setLevel(logging.ERROR)
    with socket.socket(fileno=job.control) as control, socket.socket(fileno=job.listening) as listening:
        try:
            gate = load_gate(job)
        except Dial2vecError as error:
            control.sendall(message(failed=str(error)))
            sys.exit(1)
        asyncio.run(serve(gate, listening, control, job.settings))
    # Nothing is left to save, and unloading torch and mlflow takes seconds of a processor that the next worker needs.
    os._exit(0)


if __name__ == "__main__":
    main()
