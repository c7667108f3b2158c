"""Work on a Ray cluster (extra `scale`), whose machines may be lost."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from dial2vec import telemetry
from dial2vec.data.workers.processes import WAITING, processors
from dial2vec.errors import Dial2vecError
from dial2vec.files import code_hash

S = TypeVar("S")
T = TypeVar("T")
# Address that starts a cluster of this machine's processes, which ends with the command.
LOCAL = "local"
# Workers that a part may end before it stops the run.
TRIES = 5


def on_cluster(
    work: Callable[[S], T],
    parts: Iterable[S],
    *,
    address: str,
    most: int | None = None,
    cpus: int = 1,
    gpus: float = 0.0,
    named: Callable[[S], str] | None = None,
) -> Iterator[T]:
    """Yield the results of `work` for each part, in order.

    A part whose worker ends is worked on again, by another one.

    :param work: Function of an installed module.
    :param parts: Read as far as workers need them.
    :param address: Address of the cluster, such as "auto" or "ray://host:10001"; "local" starts one here.
    :param most: Parts on their way at a time, so that memory stays small; None is three per processor of the cluster.
    :param cpus: Processors for each part.
    :param gpus: GPUs for each part, may be a fraction.
    :param named: Returns the name of a part for errors; None counts them.
    :raises Dial2vecError: if Ray is missing, there is no cluster, or a part ends five workers; errors of `work` as they
        are.
    """
    ray = ray_library()
    code = _own_code()

    def checked(part: S) -> T:
        telemetry.switch_off()
        if _own_code() != code:
            raise Dial2vecError(
                "a machine of the cluster has another version of dial2vec than this one. Install the same on all of "
                "them, and start again."
            )
        return work(part)

    with connected(ray, address, num_cpus=processors()):
        # With GPUs Ray would start a process for each call, which loads its libraries and its encoder again.
        options = {"max_retries": TRIES - 1, "max_calls": 0, "num_cpus": cpus, "num_gpus": gpus}
        task = ray.remote(**options)(checked).options(name=getattr(work, "func", work).__name__)
        waiting: deque[Any] = deque()
        for number, part in enumerate(parts, start=1):
            name = named(part) if named else f"part {number} of the corpus"
            waiting.append((name, task.remote(part)))
            # Machines may join.
            if len(waiting) >= (most or (1 + WAITING) * max(1, int(ray.cluster_resources().get("CPU", 1)))):
                yield _result(ray, *waiting.popleft())
        while waiting:
            yield _result(ray, *waiting.popleft())


@cache
def _own_code() -> str:
    """Return the hash of this process's code, which does not change while it runs."""
    return code_hash()


def _result(ray: Any, name: str, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError, ray.exceptions.NodeDiedError) as error:
        raise Dial2vecError(
            f"{name} ended {TRIES} workers in a row. Give each more memory or a smaller batch size, or correct what it "
            "holds, and start again: what is finished is kept."
        ) from error
    except ray.exceptions.RayError as error:
        reason = str(error).splitlines()[0]
        raise Dial2vecError(f"the Ray cluster lost {name} ({reason}). Start again.") from error


@contextmanager
def connected(ray: Any, address: str, *, num_cpus: int) -> Iterator[None]:
    """Connect to a cluster, unless this process is connected already, and leave it in the end.

    :param ray: The library, from `ray_library`.
    :param num_cpus: Processors of a "local" cluster.
    :raises Dial2vecError: if there is no cluster at the address.
    """
    if ray.is_initialized():
        yield
        return
    own: dict[str, Any] = {}
    if address == LOCAL:
        # Workers that are ended for lack of memory are otherwise replaced without end.
        own = {"num_cpus": num_cpus, "include_dashboard": False, "_system_config": {"task_oom_retries": TRIES - 1}}
    try:
        _knock(address)
        ray.init(address=address, logging_level="ERROR", log_to_driver=False, **own)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise Dial2vecError(
            f"there is no Ray cluster at {address!r} ({error}). Start one by `ray start --head`, or leave the address "
            "out (--cluster, or cluster.address of operation.yaml) to use this machine's own processes."
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raise a ConnectionError if nothing listens at the address; Ray itself would try for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except OSError as error:
            raise ConnectionError(error.strerror or "no answer") from error


def ray_library() -> Any:
    """Return Ray, without its telemetry.

    :raises Dial2vecError: if it is not installed.
    """
    # Before the import of Ray, also in calls from Python.
    telemetry.switch_off()
    try:
        import ray
    except ImportError as error:
        raise Dial2vecError(
            "several workers need Ray, which is not installed. Run `pip install 'dial2vec[scale]'`."
        ) from error
    return ray
