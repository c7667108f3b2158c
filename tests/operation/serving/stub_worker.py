"""A worker without a model: it answers which version it is, after as many milliseconds as the request says."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from pathlib import Path

from dial2vec.operation.serving.gate import Gate
from dial2vec.operation.serving.job import Job, message
from dial2vec.operation.serving.server import serve


def app(version: str):
    """Stand in for MLflow's scoring server."""

    async def answer(scope, receive, send):
        if scope["path"] == "/invocations":
            text = json.loads((await receive())["body"])["inputs"][0]["turns"][0]["text"]
            await asyncio.sleep(int(text) / 1000)
        body = json.dumps({"predictions": [[int(version)]]}).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})

    return answer


def main() -> None:
    """Do the job; version 13 cannot be served, nor one with a file of its name in the project."""
    job = Job.from_json(sys.argv[1])
    with socket.socket(fileno=job.control) as control, socket.socket(fileno=job.listening) as listening:
        if job.version == "13" or (Path(job.root) / job.version).exists():
            control.sendall(message(failed="its files are gone."))
            sys.exit(1)
        gate = Gate(app(job.version), about={}, count_long=lambda dialogues: 0, settings=job.settings)
        gate.about = {"version": job.version}
        asyncio.run(serve(gate, listening, control, job.settings))


if __name__ == "__main__":
    main()
