"""The options --workers, --cluster and --gpus, shared by the commands that can work on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from dial2vec.errors import Dial2vecError

if TYPE_CHECKING:
    from dial2vec.collection.embedding.on_ray import RayWorkers


def worker_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the three options to a command, which gets `workers`: the workers of the cluster, None without --workers."""

    @click.option("--workers", type=click.IntRange(min=1), help="Number of Ray workers; default: no Ray.")
    @click.option("--cluster", metavar="ADDRESS", help="Address of the Ray cluster; default: this machine.")
    @click.option("--gpus", default=0.0, type=click.FloatRange(min=0), help="GPUs per worker, such as 1.")
    @wraps(command)
    def with_workers(*, workers: int | None, cluster: str | None, gpus: float, **arguments: Any) -> None:
        command(workers=_ray_workers(workers, cluster, gpus), **arguments)

    return with_workers


def _ray_workers(count: int | None, cluster: str | None, gpus: float) -> RayWorkers | None:
    if count is None:
        if cluster or gpus:
            raise Dial2vecError("--cluster and --gpus need --workers. Add --workers N.")
        return None
    from dial2vec.collection.embedding.on_ray import RayWorkers
    from dial2vec.data.workers.cluster import LOCAL

    return RayWorkers(count, address=cluster or LOCAL, gpus=gpus)
