"""Keeper of a served model: it holds the port, starts workers on it, and replaces them for a new champion."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dial2vec.addresses import address_of, close_to_new
from dial2vec.config import Serve
from dial2vec.errors import Dial2vecError
from dial2vec.operation.serving.job import EXAMPLE, Job
from dial2vec.operation.serving.tokens import AccessTokens

if TYPE_CHECKING:
    from dial2vec.operation.serving.address import Address

# A worker is killed if it is not ready after `START_SECONDS`, or has not ended `LEAVE_SECONDS` after it was dismissed.
# The second is time for a running request: for its body, and for its vectors.
START_SECONDS, LEAVE_SECONDS = 300.0, 120.0
COMMAND = (sys.executable, "-m", "dial2vec.operation.serving.worker")
# torch and oneDNN keep what they prepared for each shape of a batch: 1,024 shapes each, of which nearly every batch has
# a new one, so that a worker would grow for days. Variables that the user has set stay.
SHAPES = dict.fromkeys(("LRU_CACHE_CAPACITY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY"), "16")
Event = tuple[str, Any]


class Worker:
    """A worker process, for its keeper.

    Attribute `about`: its answer to `GET /version`, None until it is ready; `reason`: why it has ended.
    """

    def __init__(self, job: Job) -> None:
        self.version, self.reason = job.version, ""
        self.about: dict[str, Any] | None = None
        self._control, theirs = socket.socketpair()
        job = replace(job, control=theirs.fileno())
        with theirs:
            self.process = subprocess.Popen(
                [*COMMAND, job.to_json()],
                stdin=subprocess.DEVNULL,
                pass_fds=(job.listening, job.control),
                # Ctrl-C reaches the keeper alone, which lets its workers finish.
                process_group=0,
                env=SHAPES | os.environ,
            )
        self._killer = self._kill_after(START_SECONDS)

    def report(self, events: queue.SimpleQueue[Event]) -> None:
        """Put ("ready", worker), and at the end ("gone", worker), into `events`."""
        with self._control, self._control.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                message = json.loads(line)
                self.reason = message.get("failed", "")
                if about := message.get("ready"):
                    self._killer.cancel()
                    self.about = about
                    events.put(("ready", self))
            status = self.process.wait()
        self._killer.cancel()
        self.reason = self.reason or f"it ended with status {status}."
        events.put(("gone", self))

    def renew_tokens(self) -> None:
        """Ask the worker to read its tokens again; one that is still loading does so once it is ready."""
        with contextlib.suppress(OSError):  # gone already
            self._control.send(b"t")

    def dismiss(self) -> None:
        """Ask the worker to finish its requests and end; a worker that is still loading is killed."""
        self._killer.cancel()
        if self.about is None:
            self.process.kill()
        else:
            self._killer = self._kill_after(LEAVE_SECONDS)
            with contextlib.suppress(OSError):  # gone already
                self._control.shutdown(socket.SHUT_WR)

    def _kill_after(self, seconds: float) -> threading.Timer:
        timer = threading.Timer(seconds, self.process.kill)
        timer.daemon = True
        timer.start()
        return timer


class Keeper:
    """Keeps one address of the registry served at one port.

    It handles events: a worker is ready or gone, the registry names a version, a signal arrives. The port belongs to
    the keeper, so that connections wait in its queue while no worker accepts, and none is refused.

    :param listening: Socket of the port.
    :param tokens: Bearer tokens; None asks for none.
    """

    def __init__(
        self,
        address: Address,
        *,
        root: Path,
        listening: socket.socket,
        settings: Serve,
        say: Callable[[str], object],
        hosts: tuple[str, ...] = (),
        tokens: AccessTokens | None = None,
    ) -> None:
        self.address, self.root, self.listening, self.settings, self.say = address, root, listening, settings, say
        self.hosts, self.tokens = hosts, tokens
        self.serving: Worker | None = None
        self.coming: Worker | None = None
        self._alive: set[Worker] = set()
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._greeted = self._stopping = False
        # Versions: the one that the registry names, the last one that started well, and one that failed to start. While
        # another version serves, a failed one is not tried again.
        self._wanted = self._good = self._refused = ""
        # Version -> folder of its encoder, or why it has none.
        self._folders: dict[str, Path] = {}
        self._missing: dict[str, str] = {}

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM; a second signal does not wait for running requests.

        :raises Dial2vecError: if the first worker cannot serve.
        """
        with self._signals():
            self._wanted = self._find(self.address.current(self.root))
            self._start(self._wanted)
            threading.Thread(target=self._watch, daemon=True).start()
            while self._alive:
                event, subject = self._events.get()
                getattr(self, f"_on_{event}")(subject)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Turn signals into events; a signal handler may safely put into a SimpleQueue."""
        handlers: dict[signal.Signals, Any] = {
            signal.SIGINT: lambda *_: self._events.put(("stop", None)),
            signal.SIGTERM: lambda *_: self._events.put(("stop", None)),
            signal.SIGHUP: lambda *_: self._events.put(("renew", None)),
        }
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _watch(self) -> None:
        """Ask the registry for ever; in a thread, because a server that is down does not answer for long."""
        reported = ""
        while True:
            try:
                self._events.put(("champion", self._find(self.address.current(self.root))))
                reported = ""
            except Exception as error:
                # Also errors of a proxy or a file system: the thread must not end.
                message = str(error) if isinstance(error, Dial2vecError) else f"{type(error).__name__}: {error}"
                if message != reported:
                    reported = message
                    self._events.put(("trouble", message))
            with contextlib.suppress(queue.Empty):
                self._wake.get(timeout=self.settings.check_seconds)
                self._events.put(("retry", None))

    def _find(self, version: str) -> str:
        """Return a version after its folder was found, or the reason why not; a download may take long."""
        if version not in self._folders:
            try:
                self._folders[version] = self.address.folder(version, self.root)
            except Dial2vecError as error:
                self._missing[version] = str(error)
        return version

    def _start(self, version: str) -> None:
        self.coming = Worker(
            Job(
                self.listening.fileno(),
                control=0,
                folder=str(self._folders.get(version, "")),
                model=self.address.model,
                version=version,
                alias=self.address.alias,
                settings=self.settings,
                missing="" if version in self._folders else self._missing[version],
                hosts=self.hosts,
                token_file=str(self.tokens.path) if self.tokens else "",
            )
        )
        self._alive.add(self.coming)
        threading.Thread(target=self.coming.report, args=(self._events,), daemon=True).start()

    def _on_champion(self, version: str) -> None:
        self._wanted, present = version, self.serving.version if self.serving else ""
        if version != self._refused:
            self._refused = ""
        if not self._stopping and self.coming is None and version not in (present, self._refused):
            self._start(version)

    def _on_renew(self, _: None) -> None:
        """Ask the registry now, and have the workers read the tokens again; the user sees why they cannot be used."""
        self._wake.put(None)
        if self.tokens is None:
            return
        try:
            self.tokens.reload()
        except Dial2vecError as error:
            self.say(f"The tokens stay as they are: {error}")
        else:
            for worker in self._alive:
                worker.renew_tokens()

    def _on_retry(self, _: None) -> None:
        self._refused = ""

    def _on_trouble(self, sentence: str) -> None:
        present = f"{self._name(self.serving)} stays. " if self.serving else ""
        self.say(f"{present}The registry did not say which version is {self.address.alias or 'there'}: {sentence}")

    def _on_ready(self, worker: Worker) -> None:
        before, self.serving, self.coming, self._good = self.serving, worker, None, worker.version
        if self._stopping:
            return
        self.say(f"{self._name(worker)} answers from now on." if self._greeted else self._greeting(worker))
        self._greeted = True
        if before is not None:
            before.dismiss()

    def _on_gone(self, worker: Worker) -> None:
        self._alive.discard(worker)
        came_up, again = worker is self.serving, worker.version
        if worker is self.coming:
            self.coming = None
            if not self._greeted and not self._stopping:
                raise Dial2vecError(f"{self._name(worker)} cannot be served: {worker.reason}")
            # Try the last good version and the wanted one alternately until one starts.
            again = self._good if worker.version == self._wanted else self._wanted
        if self._stopping:
            return
        if came_up:
            self.serving = None
            self.say(f"{self._name(worker)}: {worker.reason} It is started again; requests wait meanwhile.")
        elif worker.about is None:
            self._say_refused(worker)
        if self.serving is None and self.coming is None:
            self._start(again)

    def _say_refused(self, worker: Worker) -> None:
        message = f"{self._name(worker)} did not come up: {worker.reason}"
        if self.serving is not None:
            self._refused = worker.version
            message = (
                f"{self._name(self.serving)} stays. {message} It is tried again when the alias has moved, or after "
                f"`kill -HUP {os.getpid()}`."
            )
        self.say(message)

    def _on_stop(self, _: None) -> None:
        if not self._stopping:
            close_to_new(self.listening)
        for worker in self._alive:
            worker.process.kill() if self._stopping else worker.dismiss()
        self._stopping = True

    def _name(self, worker: Worker) -> str:
        return f"{self.address.model} version {worker.version}"

    def _greeting(self, worker: Worker) -> str:
        url = address_of(self.listening)
        alias = f" ({self.address.alias})" if self.address.alias else ""
        request = json.dumps({"inputs": [EXAMPLE]})
        token = " -H 'Authorization: Bearer TOKEN'" if self.tokens else ""
        return (
            f"{self._name(worker)}{alias} answers at {url}; Ctrl-C ends it. Try:\n"
            f"curl {url}/invocations{token} -H 'Content-Type: application/json' -d '{request}'"
        )
