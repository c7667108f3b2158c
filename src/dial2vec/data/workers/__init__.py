"""Work on the parts of a large corpus: in this process, in several of this machine, or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from dial2vec.data.workers.processes import in_processes, processes_for

__all__ = ["spread", "works_alone"]

S = TypeVar("S")
T = TypeVar("T")


def spread(
    work: Callable[[S], T], parts: Iterable[S], *, n_parts: int, fewest: int, cluster: str | None = None
) -> Iterator[T]:
    """Yield the results of `work` for each part, in order; they are the same wherever they are computed.

    :param work: Function of a module, which other processes can import.
    :param parts: Read as far as workers need them.
    :param n_parts: Number of the parts, roughly, by which processes are counted.
    :param fewest: Parts for which one more process of this machine is worth its start.
    :param cluster: Address of a Ray cluster (`cluster.address` of operation.yaml); None stays on this machine.
    :raises Dial2vecError: if the cluster cannot be reached, or workers end again and again.
    """
    if cluster is None:
        return in_processes(work, parts, count=processes_for(n_parts, fewest=fewest))
    from dial2vec.data.workers.cluster import on_cluster

    return on_cluster(work, parts, address=cluster)


def works_alone(n_parts: int, *, fewest: int, cluster: str | None = None) -> bool:
    """Return whether `spread` works in this process alone, on one part after the other."""
    return cluster is None and processes_for(n_parts, fewest=fewest) == 1
