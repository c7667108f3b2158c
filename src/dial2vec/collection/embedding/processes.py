"""Embedding by a student on this machine: one process per processor, each with its own copy of the student."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from dial2vec.collection.embedding.parts import Part, embed_part
from dial2vec.collection.embedding.shards import ShardReader
from dial2vec.data.workers.processes import ONE_THREAD
from dial2vec.encoder.loading import Encoder, load_encoder, save_copy
from dial2vec.errors import Dial2vecError
from dial2vec.processes import ending_with

# Fewest parts per process: a process takes a second to start, a part 0.2.
FEWEST_PARTS = 8


def embed_in_processes(
    parts: Sequence[Part], encoder: Encoder, batch_size: int, done: Callable[[int], object], *, count: int
) -> None:
    """Embed parts in `count` processes, and call `done` with the number of lines of each.

    The processes end with this one. Parts are written whole or not at all, so that nothing is lost.

    :raises Dial2vecError: if a part cannot be embedded, or one of the processes ends.
    """
    model = parts[0].folder / "encoder"
    save_copy(encoder, model)
    idle: SimpleQueue[_Process] = SimpleQueue()

    def embed(part: Part) -> int:
        process = idle.get()
        try:
            return process.embed(part, batch_size)
        finally:
            idle.put(process)

    with ExitStack() as stack:
        processes = [stack.enter_context(_started(model)) for _ in range(count)]
        threads = stack.enter_context(ThreadPoolExecutor(count))
        for process in processes:
            idle.put(process)
            # Before the threads end, which wait for the processes.
            stack.callback(process.popen.kill)
        for lines in threads.map(embed, parts):
            done(lines)


@dataclass(frozen=True, slots=True)
class _Process:
    popen: subprocess.Popen[bytes]
    connection: Connection[Any, Any]

    def embed(self, part: Part, batch_size: int) -> int:
        """Return the number of lines of a part after the process has embedded it."""
        try:
            self.connection.send((part, batch_size))
            answer = self.connection.recv()
        except (OSError, EOFError) as error:
            status = self.popen.wait()
            ending = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
            first, last = part.shard.line, part.shard.line + part.shard.lines - 1
            raise Dial2vecError(
                f"{part.shard.path}: the process that embedded lines {first} to {last} was ended {ending}; expected "
                "their vectors. Free memory, or correct these lines, and start again: finished parts are kept."
            ) from error
        if isinstance(answer, Dial2vecError):
            raise answer
        return int(answer)


@contextmanager
def _started(model: Path) -> Iterator[_Process]:
    ours, its = Pipe()
    with ours, its:
        popen = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()", str(model), str(its.fileno())],
            # The same modules as here, also in a notebook that has changed `sys.path`.
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
            preexec_fn=ending_with(os.getpid()),
            # Ctrl-C is for the command, which ends its processes.
            process_group=0,
        )
        its.close()
        try:
            yield _Process(popen, ours)
        finally:
            popen.kill()
            popen.wait()


def serve() -> None:
    """Embed the parts that arrive, and answer each with its number of lines or an error; end with the command."""
    # Dialogues hold no cycles; looking for these among their turns takes a fifth of the time of reading.
    gc.set_threshold(100_000)
    encoder = None
    with Connection(int(sys.argv[2])) as connection, ShardReader() as reader:
        while True:
            try:
                part, batch_size = connection.recv()
            except (EOFError, OSError):
                return
            answer: int | Dial2vecError
            try:
                encoder = encoder or load_encoder(sys.argv[1])
                answer = embed_part(part, encoder, reader, batch_size=batch_size)
            except Dial2vecError as error:
                answer = error
            connection.send(answer)
