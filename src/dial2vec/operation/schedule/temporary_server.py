"""Prefect's temporary server: waited for on a busy machine, ended with the process that started it, and not missed.

Import this after `use_prefect`, because Prefect reads its environment while it is imported.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prefect.server.api.server import SubprocessASGIServer

from dial2vec.addresses import shown, silence
from dial2vec.errors import Dial2vecError
from dial2vec.files import checkout_lock
from dial2vec.operation.pages import PREFECT_SERVER
from dial2vec.operation.schedule.supervisor import READY_SECONDS


class _Server(SubprocessASGIServer):
    """Prefect uses this instance wherever it would start a temporary server itself."""

    running: bool

    def start(self, timeout: int | None = None) -> None:
        """Start the server and wait until it answers.

        :raises Dial2vecError: if it ends, or does not answer in time.
        """
        if self.running:
            return
        self.port = self.find_available_port()
        self.server_process = self._run_uvicorn_command()
        atexit.register(self.stop)
        end_with_this_process(self.server_process)
        deadline = time.monotonic() + (timeout or READY_SECONDS)
        while silence(f"{self.api_url}/health", seconds=5) is not None:
            status = self.server_process.poll()
            if status is not None or time.monotonic() > deadline:
                self.stop()
                fault = "did not answer in time" if status is None else f"ended with status {status}"
                raise Dial2vecError(
                    f"Prefect's temporary server {fault}, so nothing was begun. The machine may be very busy, or "
                    "another process may hold .prefect/prefect.db: try again, or run `dial2vec schedule`, whose server "
                    "stays."
                )
            time.sleep(0.2)
        self.running = True
        threading.Thread(target=self._quiet_after_it, daemon=True).start()

    def _quiet_after_it(self) -> None:
        """Have Prefect's loggers be silent once the server has ended: they would try for minutes to reach it."""
        if self.server_process is not None:
            self.server_process.wait()
            logging.raiseExceptions = False
            for name in ("prefect.events", "prefect._internal", "prefect._internal.concurrency"):
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def end_with_this_process(process: subprocess.Popen[Any]) -> None:
    """End a process when this one has ended, even by SIGKILL.

    A shell waits at a pipe that only this process holds open; the end of this process closes it.
    """
    command = ["sh", "-c", 'read -r line; kill "$0" 2>/dev/null', str(process.pid)]
    # Kept, because the pipe closes with the object.
    _watchers.append(subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True))


_watchers: list[subprocess.Popen[bytes]] = []
_started: list[_Server] = []


def start_temporary_server() -> None:
    """Start Prefect's temporary server now, unless PREFECT_API_URL names a server.

    :raises Dial2vecError: if it does not start, or the named one does not answer.
    """
    if address := os.environ.get(PREFECT_SERVER):
        if reason := silence(f"{address.rstrip('/')}/health", seconds=10):
            raise Dial2vecError(
                f"the Prefect server {shown(address)} does not answer ({reason}). Start it, correct its address, or "
                f"unset {PREFECT_SERVER} to use a temporary one."
            )
        return
    server = _Server()
    server.start()
    _started.append(server)


def is_lost() -> bool:
    """Return whether the temporary server of this process has ended by itself."""
    return any(server.server_process is None or server.server_process.poll() is not None for server in _started)


def _ending_without_server(body: Callable[..., Any]) -> Callable[..., Any]:
    """Return a flow's function that ends this process if its server is gone: Prefect would report to it for minutes."""

    @functools.wraps(body)
    def run(*arguments: Any, **named: Any) -> Any:
        error = ""
        try:
            return body(*arguments, **named)
        except BaseException as found:
            error = str(found) or type(found).__name__
            raise
        finally:
            if is_lost():
                sys.stderr.write(
                    "Prefect's temporary server was ended from outside, so its page lacks the end of this run; "
                    f"{f'the run failed: {error}' if error else 'what the run did stands.'}\n"
                )
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(bool(error))

    return run


def run_now(root: Path, flow: Any) -> None:
    """Run a flow with a temporary server; an error is one sentence, and ends this process.

    :param root: Project folder.
    """
    name = getattr(flow, "name", "flow")
    try:
        # Locked first, so that a second flow ends at once with one sentence, before Prefect starts its server.
        with checkout_lock(root, f"flow {name}"):
            start_temporary_server()
        flow.fn = _ending_without_server(flow.fn)
        flow()
    except Dial2vecError as error:
        sys.exit(f"{name}: {error}")
