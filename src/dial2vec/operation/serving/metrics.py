"""Figures of a worker for Prometheus, in a registry of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from dial2vec.operation.serving.batching import Step

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
TOKENS = (16, 64, 256, 512, 1024, 2048, 4096, 8192, 16_384, 65_536)


class Metrics:
    """Counters and histograms of one worker; a new worker starts at 0.

    :param about: The served model, as `GET /version` gives it.
    """

    def __init__(self, about: dict[str, Any]) -> None:
        disable_created_metrics()
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        histogram = partial(Histogram, registry=registry)
        self._requests = Counter("dial2vec_requests", "Answered requests.", ["path", "status"], registry=registry)
        self._refusals = Counter("dial2vec_refusals", "Refused requests, by reason.", ["reason"], registry=registry)
        meaning = "Time from the head of a request to its answer."
        self._seconds = histogram("dial2vec_request_seconds", meaning, ["path"], buckets=SECONDS)
        self._tokens = Counter("dial2vec_tokens", "Encoded tokens.", registry=registry)
        self._dialogues = Counter("dial2vec_dialogues", "Dialogues whose vectors were sent.", registry=registry)
        self._batch_tokens = histogram("dial2vec_batch_tokens", "Tokens of a batch.", buckets=TOKENS)
        self._batch_requests = histogram("dial2vec_batch_requests", "Requests that share a batch.", buckets=SIZES)
        self._batch_seconds = histogram("dial2vec_batch_seconds", "Time to encode a batch.", buckets=SECONDS)
        self._waiting = Gauge("dial2vec_waiting_requests", "Requests that are encoded or wait.", registry=registry)
        model = Info("dial2vec_model", "The served model.", registry=registry)
        model.info({key: "" if value is None else str(value) for key, value in about.items()})

    def count_waiting(self, waiting: Callable[[], float]) -> None:
        """Take the number of waiting requests from a function."""
        self._waiting.set_function(waiting)

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def refusal(self, kind: str) -> None:
        """Count a refused request."""
        self._refusals.labels(kind).inc()

    def dialogues(self, number: int) -> None:
        """Count dialogues whose vectors are sent."""
        self._dialogues.inc(number)

    def step(self, step: Step) -> None:
        """Count a batch."""
        if step.pieces:
            self._tokens.inc(step.tokens)
            self._batch_tokens.observe(step.tokens)
            self._batch_requests.observe(step.requests)
            self._batch_seconds.observe(step.seconds)

    def text(self) -> bytes:
        """Return all figures in Prometheus's text form."""
        return generate_latest(self.registry)
