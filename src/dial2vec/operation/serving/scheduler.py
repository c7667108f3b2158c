"""Requests' works on the way through the batcher: a bounded queue, a time limit, and clients that hang up."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import math
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from conversations.dialogue import Dialogue
from dial2vec.config import Serve
from dial2vec.operation.serving.batching import Batcher, PieceReader, Step, Workload
from dial2vec.operation.serving.metrics import Metrics
from dial2vec.operation.serving.refusals import GoneError, RefusedRequestError

# Longest time in seconds after which a client is asked to try again.
LONGEST_RETRY = 600

log = logging.getLogger(__name__)


class Scheduler:
    """Encodes requests' dialogues while others wait, in one thread: an encoding already uses every processor."""

    def __init__(self, reader: PieceReader, settings: Serve, metrics: Metrics) -> None:
        self.settings, self.metrics = settings, metrics
        self.batcher = Batcher(reader, batch_tokens=settings.batch_tokens, max_tokens=settings.max_request_tokens)
        self._waiting: dict[Workload, asyncio.Future[None]] = {}
        self._stepping: asyncio.Task[None] | None = None
        # The loop's own executor starts further threads, and torch and malloc keep memory for each.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="encoding")
        self._memory = FreeMemory()
        metrics.count_waiting(lambda: len(self._waiting))

    def refuse_if_full(self) -> None:
        """Raise `RefusedRequestError` if one more request would be refused."""
        if len(self._waiting) >= self.settings.max_waiting:
            reason = f"{len(self._waiting)} requests are waiting already; try again."
            raise RefusedRequestError(503, "queue_full", reason, retry_after=self._retry_after())

    async def encode(self, dialogues: Sequence[Dialogue], gone: asyncio.Future[None]) -> Workload:
        """Return the finished work of a request.

        :param gone: Future that is done if the client hangs up.
        :raises RefusedRequestError: if the queue is full, the texts have too many tokens, or the time is over.
        :raises GoneError: if the client hangs up.
        """
        self.refuse_if_full()
        work, done = Workload(dialogues), asyncio.get_running_loop().create_future()
        self.batcher.add(work)
        self._waiting[work] = done
        if self._stepping is None or self._stepping.done():
            self._stepping = asyncio.create_task(self._steps())
        try:
            seconds = self.settings.request_seconds
            await asyncio.wait({done, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if done.done():
                return _result(work)
            if gone.done():
                raise GoneError
            reason = f"the vectors were not complete after {seconds:g} seconds; send fewer dialogues at a time."
            raise RefusedRequestError(504, "too_slow", reason, retry_after=self._retry_after())
        finally:
            work.given_up = True
            del self._waiting[work]

    def _retry_after(self) -> str:
        return str(max(1, min(LONGEST_RETRY, math.ceil(self.batcher.seconds_ahead()))))

    def _step(self) -> Step:
        step = self.batcher.step()
        self._memory.give_back()
        return step

    async def _steps(self) -> None:
        """Step until no work is left."""
        loop = asyncio.get_running_loop()
        while self.batcher.busy:
            try:
                step = await loop.run_in_executor(self._thread, self._step)
                ended = step.ended
                self.metrics.step(step)
            except Exception as error:
                log.exception("a step of the encoding failed")
                ended = self.batcher.fail(error)
            for work in ended:
                done = self._waiting.get(work)
                if done is not None and not done.done():
                    done.set_result(None)


def _result(work: Workload) -> Workload:
    if isinstance(work.error, RefusedRequestError):
        raise work.error
    if work.error is not None:
        raise RefusedRequestError(500, "encoding_failed", "the encoding failed; the server's log says why.")
    return work


def _trimmer() -> Callable[[int], int] | None:
    """Return glibc's `malloc_trim`; None without glibc."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


class FreeMemory:
    """Returns free memory to the system, at most once in some seconds.

    Each batch has another number of rows and tokens. torch keeps a small record for each new shape, and records lie
    between the large arrays of a batch: glibc reuses such memory badly, and frees by itself only what lies at the end.

    :param seconds: Time between two returns.
    """

    def __init__(self, seconds: float = 5.0) -> None:
        self.seconds = seconds
        self._trim = _trimmer()
        self._next = 0.0

    def give_back(self) -> bool:
        """Return free memory to the system if it is time; return whether this was done."""
        now = time.monotonic()
        if self._trim is None or now < self._next:
            return False
        self._trim(0)
        self._next = now + self.seconds
        return True
