"""The schedule's processes, Prefect's server and a worker: started, watched, restarted, and ended together."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dial2vec.addresses import shown, silence
from dial2vec.config import Schedule
from dial2vec.errors import Dial2vecError
from dial2vec.operation.pages import (
    LOGIN,
    PREFECT_PASSWORD,
    PREFECT_SERVER,
    as_scheduled_server,
    check_port,
    prefect_environment,
)
from dial2vec.operation.schedule.deployment import FLOW, deployment_names
from dial2vec.operation.schedule.runs import (
    end_scheduled,
    has_dead,
    killed_sentence,
    mark_dead,
    missed_nights,
    tell,
    verdict_file,
)
from dial2vec.processes import ending_with

# At its first start a server creates its database, which takes long on a busy machine.
READY_SECONDS = 240
STOP_SECONDS = 15
# Time between two looks for retrainings without a verdict.
LOOK_SECONDS = 30
# A process that ends this often within this time is not started again.
MOST_STARTS, WITHIN_SECONDS = 5, 120


@dataclass
class Process:
    """A child process that is started again when it ends.

    :param name: Name of the process in messages.
    :param command: Arguments after `python`.
    :param log: File that gets the output.
    """

    name: str
    command: Sequence[str]
    environment: dict[str, str]
    log: Path
    child: subprocess.Popen[bytes] | None = None
    starts: list[float] = field(default_factory=list)

    def start(self) -> None:
        """Start the process, which ends with this one.

        :raises Dial2vecError: if it has ended too often.
        """
        now = time.monotonic()
        self.starts = [at for at in self.starts if now - at < WITHIN_SECONDS] + [now]
        if len(self.starts) > MOST_STARTS:
            raise Dial2vecError(f"{self.name} ended {MOST_STARTS} times in {WITHIN_SECONDS} seconds; see {self.log}.")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.child = subprocess.Popen(
                [sys.executable, *self.command],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=ending_with(os.getpid()),
            )

    def stop(self) -> None:
        """End the process: by SIGTERM, and by SIGKILL if that is not enough."""
        if self.child is None or self.child.poll() is not None:
            return
        self.child.terminate()
        try:
            self.child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


def environment_for(root: Path, address: str) -> dict[str, str]:
    """Return the environment variables of processes that use the server at this address."""
    return os.environ | prefect_environment(root) | {PREFECT_SERVER: address}


def supervise(root: Path, schedule: Schedule, port: int, *, now: bool, say: Callable[[str], None]) -> None:
    """Run a worker, and a server unless the environment names one, until this process is asked to stop.

    A retraining that is killed, or does not begin at its time, is told to `schedule.notify`.

    :param port: Port of the server on 127.0.0.1.
    :param now: True to start a retraining at once as well.
    :param say: Function that shows a line to the user.
    :raises Dial2vecError: if the server or the worker cannot be started.
    """
    remote = os.environ.get(PREFECT_SERVER)
    address = remote or f"http://127.0.0.1:{port}/api"
    name, pool = deployment_names(root, shared=bool(remote))
    environment, logs = environment_for(root, address), root / ".prefect" / "logs"
    serve = ("-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port))
    work = ("-m", "prefect", "worker", "start", "--pool", pool, "--name", f"{platform.node()} {root.name}")
    server = Process("Prefect's server", serve, environment, logs / "server.log")
    worker = Process("Prefect's worker", work, environment, logs / "worker.log")
    processes = [worker] if remote else [worker, server]
    with as_scheduled_server(root, address, own=not remote), _stopped_together(root, processes):
        if not remote:
            check_port(port, "schedule")
            server.start()
        _wait_until_ready(address, server)
        _prefect(root, environment, "work-pool", "create", pool, "--type", "process", "--overwrite")
        _prefect(root, environment, "deploy", "--all", "--prefect-file", str(root / "prefect.yaml"))
        watch = _Watch(root, schedule, environment, say)
        watch.look(strangers=not remote)
        worker.start()
        if now:
            _prefect(root, environment, "deployment", "run", f"{FLOW}/{name}")
        say(f"Ready. Page: {shown(address).removesuffix('/api')}    Ctrl-C ends it; logs are in {logs}")
        if not remote:
            say(LOGIN)
        while True:
            time.sleep(1)
            watch.say_verdict()
            watch.look_again()
            for process in reversed(processes):
                if process.child is not None and process.child.poll() is not None:
                    say(f"{process.name} ended with status {process.child.returncode}, and is started again")
                    process.start()
                    if process is server:
                        try:
                            _wait_until_ready(address, server)
                        except Dial2vecError:
                            # A server that does not answer is ended, and the next round of the loop starts it again.
                            server.stop()


@dataclass
class _Watch:
    """Tells of retrainings without a verdict."""

    root: Path
    schedule: Schedule
    environment: dict[str, str]
    say: Callable[[str], None]
    looked: float = 0.0
    last_verdict: float = field(default_factory=time.time)

    def say_verdict(self) -> None:
        """Print the verdict of a retraining that has ended since the last look."""
        with contextlib.suppress(OSError):
            written = verdict_file(self.root).stat().st_mtime
            if written > self.last_verdict:
                self.last_verdict = written
                self.say(verdict_file(self.root).read_text(encoding="utf-8").rstrip())

    def look_again(self) -> None:
        """Look if the last look was a while ago; a server that does not answer at the moment is asked later."""
        if time.monotonic() - self.looked > LOOK_SECONDS:
            try:
                self.look(strangers=False)
            except Exception as error:
                self.say(f"killed runs could not be looked up, and are at the next look: {type(error).__name__}")

    def look(self, *, strangers: bool) -> None:
        """Tell of runs that were killed and nights that were missed.

        :param strangers: True if scheduled runs without a lock file count as killed.
        """
        self.looked = time.monotonic()
        runs = _mark_dead(self.root, self.environment, strangers=strangers) if strangers or has_dead(self.root) else []
        for sentence in (*map(killed_sentence, runs), missed_nights(self.root, self.schedule)):
            if sentence:
                self.say(sentence)
                if problem := tell(self.root, self.schedule, sentence):
                    self.say(problem)


@contextlib.contextmanager
def _stopped_together(root: Path, processes: Sequence[Process]) -> Iterator[None]:
    """End the processes, and the runs that they started, after the `with` block, also after SIGTERM."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)
        # A worker does not end its runs; they report to the server, which ends last.
        worker, *server = processes
        worker.stop()
        end_scheduled(root, patience=STOP_SECONDS)
        for process in server:
            process.stop()


def _wait_until_ready(address: str, server: Process) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        if silence(f"{address}/health", seconds=5) is None:
            return
        if server.child is not None and server.child.poll() is not None:
            raise Dial2vecError(f"{server.name} ended with status {server.child.returncode}; see {server.log}.")
        if time.monotonic() > deadline:
            raise Dial2vecError(
                f"{shown(address)} did not answer within {READY_SECONDS} seconds. Is the address right?"
            )
        time.sleep(0.5)


def _mark_dead(root: Path, environment: dict[str, str], *, strangers: bool) -> list[str]:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_KEY

    password, key = environment.get(PREFECT_PASSWORD) or PREFECT_API_AUTH_STRING.value(), PREFECT_API_KEY.value()
    with SyncPrefectClient(environment[PREFECT_SERVER], auth_string=password, api_key=key) as client:
        return mark_dead(root, client, strangers=strangers)


def _prefect(root: Path, environment: dict[str, str], *arguments: str) -> None:
    command = [sys.executable, "-m", "prefect", "--no-prompt", *arguments]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise Dial2vecError(f"`prefect {arguments[0]}` failed: {lines[-1] if lines else 'it gave no reason'}.")
