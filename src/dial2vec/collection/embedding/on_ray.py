"""Embedding on many machines by Ray Data (extra `scale`): actors write the parts, and any of them may be killed."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dial2vec.collection.embedding.parts import Part, embed_part
from dial2vec.collection.embedding.shards import ShardReader
from dial2vec.data.workers.cluster import LOCAL, TRIES, connected, on_cluster, ray_library
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.protocol import Encoder
from dial2vec.errors import Dial2vecError

log = logging.getLogger(__name__)

S = TypeVar("S")
T = TypeVar("T")
BLOCKS = 200


@dataclass(frozen=True, slots=True)
class RayWorkers:
    """Actors of a Ray cluster that embed parts; each has its own copy of the encoder.

    All machines see the transcripts and the output's folder at the same paths. A dead actor is replaced, and its part
    is embedded again; a part that ends five actors stops the run. Finished parts stay, so a killed run resumes.

    :param count: number of actors.
    :param address: address of the cluster, such as "auto" or "ray://host:10001"; "local" starts a cluster for this run.
    :param gpus: GPUs per actor, may be a fraction; 0 embeds on CPUs.
    """

    count: int
    address: str = LOCAL
    gpus: float = 0.0

    def __call__(self, parts: Sequence[Part], encoder: Encoder, batch_size: int, done: Callable[[int], object]) -> None:
        """Embed the parts, and call `done` with the number of lines of each.

        :raises Dial2vecError: if Ray is not installed, or a part cannot be embedded.
        """
        if not parts:
            return
        ray = ray_library()
        for part in parts:
            _tries(part).unlink(missing_ok=True)
        with self.connected():
            # Not as an argument to the actors: it could be lost with the machine that holds it.
            model = parts[0].folder / "encoder"
            encoder.save_copy(model)
            rows = [{"part": part, "model": model, "batch_size": batch_size} for part in parts]
            # Each block costs milliseconds and kilobytes, and moves the progress bar once.
            embedded = ray.data.from_items(rows, override_num_blocks=min(len(rows), max(BLOCKS, 16 * self.count))).map(
                PartEmbedder,
                compute=ray.data.ActorPoolStrategy(size=min(self.count, len(parts))),
                num_cpus=self.processors,
                num_gpus=self.gpus or None,
            )
            for row in embedded.iter_rows():
                if row["error"]:
                    raise Dial2vecError(row["error"])
                done(int(row["lines"]))

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Connect to the cluster, unless this process is connected already, and leave it in the end.

        :raises Dial2vecError: if Ray is not installed, there is no cluster, or it is this machine and lacks GPUs.
        """
        ray = ray_library()
        joined = ray.is_initialized()
        with connected(ray, self.address, num_cpus=self.count * self.processors):
            if not joined:
                ray.data.DataContext.get_current().enable_progress_bars = False
                logging.getLogger("ray.data").setLevel(logging.ERROR)
                _look_for_gpus(ray, self)
            yield

    def spread(self, work: Callable[[S], T], parts: Iterable[S], *, encodes: bool) -> Iterator[T]:
        """Yield the results of `work` for each part, in order (`dial2vec.data.workers.cluster.on_cluster`).

        :param encodes: True if a part needs the processors and GPUs of a worker, False if one processor is enough.
        """
        # This machine's cluster has room for so many only; on another one further parts would be further workers.
        most = 2 * self.count if self.address == LOCAL else self.count
        cpus, gpus = (self.processors, self.gpus) if encodes else (1, 0.0)
        return on_cluster(work, parts, address=self.address, most=most, cpus=cpus, gpus=gpus)

    @property
    def processors(self) -> int:
        """Return the processors and threads per actor: a share of this machine's processors, or 1 on a cluster."""
        return max(1, (os.cpu_count() or 1) // self.count) if self.address == LOCAL else 1


class PartEmbedder:
    """An actor, with its encoder and its open file."""

    def __init__(self) -> None:
        self.encoder: Encoder | None = None
        self.reader = ShardReader()

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Embed `row["part"]` with the encoder in the folder `row["model"]`, and return its number of `lines`.

        An error is returned as a sentence, `error`, because an exception in an actor would not reach the user.
        """
        part: Part = row["part"]
        try:
            if not part.is_finished:
                _count_try(part)
                if self.encoder is None:
                    self.encoder = load_encoder(row["model"])
                embed_part(part, self.encoder, self.reader, batch_size=int(row["batch_size"]))
        except Dial2vecError as error:
            return {"lines": 0, "error": str(error)}
        return {"lines": part.shard.lines, "error": ""}


def _count_try(part: Part) -> None:
    """Count an attempt at a part; without a limit, a part that always ends its actor would be tried for ever."""
    tries = _tries(part)
    n_tries = tries.stat().st_size if tries.exists() else 0
    if n_tries >= TRIES:
        first, last = part.shard.line, part.shard.line + part.shard.lines - 1
        raise Dial2vecError(
            f"{part.shard.path}: lines {first} to {last} ended {TRIES} workers in a row. Give each more memory or "
            "a smaller batch size, or correct these lines, and start again: finished parts are kept."
        )
    with tries.open("ab") as handle:
        handle.write(b".")


def _tries(part: Part) -> Path:
    return part.vectors.with_suffix(".tries")


def _look_for_gpus(ray: Any, workers: RayWorkers) -> None:
    """Raise if this machine has too few GPUs for an actor; on a cluster warn, since GPUs may still join."""
    has = ray.cluster_resources().get("GPU", 0)
    if has >= workers.gpus:
        return
    shortage = f"each worker needs {workers.gpus:g} GPUs, and the cluster has {has:g}"
    if workers.address == LOCAL:
        raise Dial2vecError(f"{shortage}. Leave --gpus out, or give the address of a cluster with GPUs (--cluster).")
    log.warning("%s; waiting for more", shortage)
