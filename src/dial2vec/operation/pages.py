"""The pages of MLflow and Prefect on 127.0.0.1."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from filelock import lock_descriptor

from conversations.files import write_errors
from dial2vec.errors import BusyError, Dial2vecError, require_module

PREFECT_SERVER, PREFECT_PASSWORD = "PREFECT_API_URL", "PREFECT_API_AUTH_STRING"
LOGIN = "Prefect's page asks once per browser for a password: the line in .prefect/secret."
# Without an address MLflow opens at language models, and hides what is trained here.
FIRST = {"mlflow": "/#/models", "prefect": ""}
RUNS = "The runs are at #/experiments. MLflow collects no data on its use here, whatever a notice on its page says."
# Second line of the schedule's lock if `dial2vec schedule` started the server.
OWN = "own"


def page_command(which: Literal["mlflow", "prefect"], root: Path, port: int) -> tuple[list[str], dict[str, str]]:
    """Return the arguments after `python` that serve a page on 127.0.0.1, and their environment variables.

    :raises Dial2vecError: if the port is taken, a variable names a server elsewhere, or the library is missing.
    """
    require_module(which)
    if which == "prefect":
        if address := scheduled_server(root):
            raise Dial2vecError(f"the schedule's server shows it already: open {address.removesuffix('/api')}.")
        _check_here(PREFECT_SERVER, "Prefect")
        check_port(port, "page prefect")
        command = ["-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
        # Prefect's page gets its data from the address in this variable.
        return command, prefect_environment(root) | {PREFECT_SERVER: f"http://127.0.0.1:{port}/api"}
    from dial2vec.registry.store import SERVER, open_store, store_uri

    _check_here(SERVER, "MLflow")
    check_port(port, "page mlflow")
    open_store(root)
    artifacts = root / "mlruns" / "artifacts"
    return [
        *("-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"),
        # MLflow's own application answers pages of other servers on this machine; registry/mlflow_app.py is `guarded`.
        *("--app-name", "dial2vec"),
        *("--backend-store-uri", store_uri(root), "--artifacts-destination", str(artifacts)),
    ], {}


def _check_here(variable: str, name: str) -> None:
    if server := os.environ.get(variable):
        server = server.removesuffix("/api")
        raise Dial2vecError(f"{variable} is set: {name}'s page of this project is at {server}. Open that, or unset it.")


def check_port(port: int, command: str) -> None:
    """Raise if a port of this machine is taken.

    :param command: Command of dial2vec that needs the port.
    :raises Dial2vecError: if another process listens on it.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise Dial2vecError(
                f"port {port} is taken. Choose another: dial2vec {command} --port {port + 1}"
            ) from error


def prefect_environment(root: Path) -> dict[str, str]:
    """Return Prefect's environment variables: its database is in the checkout, so that the page shows this project.

    While `dial2vec schedule` runs, they name its server, because two servers on one database conflict. A server of
    this checkout gets the password of `prefect_password`; a server that the user named keeps the user's password.

    :raises Dial2vecError: if the password cannot be kept from other accounts.
    """
    address, own = _scheduled(root)
    named = os.environ.get(PREFECT_SERVER)
    variables = {
        "PREFECT_HOME": str(_own_home(root)),
        # Creating the database takes longer than the 20 seconds that Prefect allows its temporary server.
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        # Slots kept only in the server's memory would stay taken after it was killed.
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
        # A worker runs any command that the server names, and any web page open in a browser here can reach the server.
        # CORS alone hides only the answers: Prefect takes a POST without Content-Type from every origin and host.
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": "http://127.0.0.1",
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
        # Version 2 of Prefect's page contacts an analytics host in spite of all switches.
        "PREFECT_SERVER_UI_V2_ENABLED": "false",
        "PREFECT_UI_STATIC_DIRECTORY": str(_pages_without_version_2(root)),
    }
    if address:
        variables[PREFECT_SERVER] = address
    if (own and named in (None, "", address)) or not (named or address):
        variables |= dict.fromkeys(("PREFECT_SERVER_API_AUTH_STRING", PREFECT_PASSWORD), prefect_password(root))
    return variables


def _own_home(root: Path) -> Path:
    """Return Prefect's folder, closed to other accounts: its database holds verdicts and logs."""
    home = root / ".prefect"
    with write_errors(home):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives its further files the permissions of the database; an empty file is a new one.
        (home / "prefect.db").touch(mode=0o600)
        for path in (home, *home.glob("prefect.db*")):
            if path.stat().st_mode & 0o077:
                path.chmod(0o700 if path == home else 0o600)
    return home


def _pages_without_version_2(root: Path) -> Path:
    """Return the folder to which Prefect's server copies its pages; it cannot copy version 2, so serves no link to it.

    The setting alone leaves version 2 one click away.
    """
    folder = root / ".prefect" / "ui"
    with write_errors(folder), contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True, exist_ok=True)
        # A link that leads nowhere can be neither read nor made a folder.
        (folder / "v2").symlink_to("not-served")
    return folder


def use_prefect(root: Path) -> None:
    """Set the variables of `prefect_environment` before Prefect is imported; values set by the user stay.

    Without PREFECT_API_URL a password set by the user is for another server, and is replaced.
    """
    passwords = () if os.environ.get(PREFECT_SERVER) else ("PREFECT_SERVER_API_AUTH_STRING", PREFECT_PASSWORD)
    for name, value in prefect_environment(root).items():
        if name in passwords or not os.environ.get(name):
            os.environ[name] = value


def prefect_password(root: Path) -> str:
    """Return the password of this checkout's Prefect server, "user:password"; the first call creates it.

    The file `.prefect/secret` holds it, which only its owner may read. If others may, the permissions are corrected,
    and a new password is created unless a running schedule uses the old one.

    :raises Dial2vecError: if the file cannot be written, or the file system has no permissions.
    """
    path = root / ".prefect" / "secret"
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "r+", encoding="utf-8") as handle:
        # Another process may be writing the first password.
        lock_descriptor(handle.fileno())
        # Windows has no such permissions.
        if exposed := os.name == "posix" and os.fstat(handle.fileno()).st_mode & 0o077:
            with contextlib.suppress(PermissionError):
                os.fchmod(handle.fileno(), 0o600)
            if (mode := os.fstat(handle.fileno()).st_mode) & 0o077:
                raise Dial2vecError(
                    f"{path}: others may read the password of Prefect's server (permissions {mode & 0o777:o}), and "
                    "this cannot be changed; expected 600. Move the checkout to a file system of your own with "
                    "permissions."
                )
        password = handle.read().strip()
        if not password or (exposed and not scheduled_server(root)):
            password = f"dial2vec:{secrets.token_urlsafe(24)}"
            handle.seek(0)
            handle.truncate()
            handle.write(f"{password}\n")
        return password


@contextlib.contextmanager
def as_scheduled_server(root: Path, address: str, *, own: bool) -> Iterator[None]:
    """Hold the lock of a checkout's schedule, and store the address of its server there.

    :param own: True if the schedule starts the server, False if the user named it.
    :raises BusyError: if another process holds the lock.
    """
    path = _schedule_lock(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as handle:
        if not lock_descriptor(handle.fileno(), blocking=False):
            raise BusyError(f"a schedule is at work in {root} already, at {scheduled_server(root)}.")
        handle.truncate(0)
        handle.write(f"{address}\n{OWN if own else ''}")
        handle.flush()
        yield


def scheduled_server(root: Path) -> str | None:
    """Return the address of the schedule's server; None if no schedule runs in this checkout."""
    return _scheduled(root)[0]


def _scheduled(root: Path) -> tuple[str | None, bool]:
    """Return the address of the schedule's server, and whether the schedule started it."""
    try:
        with _schedule_lock(root).open("r+", encoding="utf-8") as handle:
            if not lock_descriptor(handle.fileno(), blocking=False):
                address, _, owner = handle.read().partition("\n")
                return address or None, owner == OWN
    except OSError:
        pass
    return None, False


def _schedule_lock(root: Path) -> Path:
    return root / ".prefect" / "schedule.lock"
