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

from dial2vec.errors import Dial2vecError
from dial2vec.operation.serving.gate import Gate
from dial2vec.operation.serving.job import EXAMPLE, Job, message
from dial2vec.operation.serving.server import serve
from dial2vec.registry.store import one_sentence, store_uri
from dial2vec.registry.tracking import local_model

# isort: split
# After dial2vec.registry.store, which silences mlflow before it is imported.
import mlflow
from mlflow.pyfunc import scoring_server


def load_gate(job: Job) -> Gate:
    """Load the version, encode a dialogue as a test, and return the gate around MLflow's scoring server.

    :raises Dial2vecError: if the version or its files are missing, or it does not encode.
    """
    root, address = Path(job.root), f"models:/{job.model}/{job.version}"
    folder = local_model(address, root=root)
    home = next(parent for parent in folder.parents if (parent / "MLmodel").is_file())
    with one_sentence(store_uri(root)):
        model = mlflow.pyfunc.load_model(str(home))
        vectors = model.predict([EXAMPLE])
    encoder = model.unwrap_python_model().encoder
    about = {
        "model": job.model,
        "version": job.version,
        "alias": job.alias or None,
        "dimension": len(vectors[0]),
        "max_tokens": encoder.max_length,
        "dial2vec": installed("dial2vec"),
        "mlflow": mlflow.__version__,
    }
    return Gate(scoring_server.init(model), about=about, count_long=encoder.count_long, settings=job.settings)


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
