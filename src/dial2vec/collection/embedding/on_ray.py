"""Workers of a Ray cluster (extra `scale`), of one or of many machines; any of them may be killed."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from dial2vec.collection.embedding.parts import Part, embed_in_workers
from dial2vec.data.workers.cluster import LOCAL, connected, on_cluster, ray_library
from dial2vec.encoder.protocol import Encoder
from dial2vec.errors import Dial2vecError

log = logging.getLogger(__name__)

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RayWorkers:
    """Workers of a Ray cluster; each has its own copy of the encoder.

    All machines see the transcripts and the output's folder at the same paths. A dead worker is replaced, and its part
    is worked on again; a part that ends five workers stops the run. Finished parts stay, so a killed run resumes.

    :param count: number of workers.
    :param address: address of the cluster, such as "auto" or "ray://host:10001"; "local" starts a cluster for this run.
    :param gpus: GPUs per worker, may be a fraction; 0 embeds on CPUs.
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
        with self.connected():
            embed_in_workers(parts, encoder, batch_size, done, spread=partial(self.spread, encodes=True, named=str))

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Connect to the cluster, unless this process is connected already, and leave it in the end.

        :raises Dial2vecError: if Ray is not installed, there is no cluster, or it is this machine and lacks GPUs.
        """
        ray = ray_library()
        joined = ray.is_initialized()
        with connected(ray, self.address, num_cpus=self.count * self.processors):
            if not joined:
                _look_for_gpus(ray, self)
            yield

    def spread(
        self,
        work: Callable[[S], T],
        parts: Iterable[S],
        *,
        encodes: bool,
        named: Callable[[S], str] | None = None,
    ) -> Iterator[T]:
        """Yield the results of `work` for each part, in order (`dial2vec.data.workers.cluster.on_cluster`).

        :param encodes: True if a part needs the processors and GPUs of a worker, False if one processor is enough.
        :param named: Returns the name of a part for errors; None counts them.
        """
        # This machine's cluster has room for so many only; on another one further parts would be further workers.
        most = 2 * self.count if self.address == LOCAL else self.count
        cpus, gpus = (self.processors, self.gpus) if encodes else (1, 0.0)
        return on_cluster(work, parts, address=self.address, most=most, cpus=cpus, gpus=gpus, named=named)

    @property
    def processors(self) -> int:
        """Return the processors and threads per worker: a share of this machine's processors, or 1 on a cluster."""
        return max(1, (os.cpu_count() or 1) // self.count) if self.address == LOCAL else 1


def _look_for_gpus(ray: Any, workers: RayWorkers) -> None:
    """Raise if this machine has too few GPUs for a worker; on a cluster warn, since GPUs may still join."""
    has = ray.cluster_resources().get("GPU", 0)
    if has >= workers.gpus:
        return
    shortage = f"each worker needs {workers.gpus:g} GPUs, and the cluster has {has:g}"
    if workers.address == LOCAL:
        raise Dial2vecError(f"{shortage}. Leave --gpus out, or give the address of a cluster with GPUs (--cluster).")
    log.warning("%s; waiting for more", shortage)
