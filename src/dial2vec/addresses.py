"""Addresses of servers: test if one answers, show it without password, listen at one."""

from __future__ import annotations

import errno
import ipaddress
import re
import socket
import urllib.request
from urllib.error import HTTPError

from dial2vec.errors import Dial2vecError

SERVER_IS_ILL = 500
CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")


def silence(address: str, *, seconds: float) -> str | None:
    """Return why a server does not answer; None if it answers, even if only to ask for a password.

    No credentials are sent: MLflow and Prefect send their own, and report what is wrong with them.
    """
    try:
        with urllib.request.urlopen(CREDENTIALS.sub("", address), timeout=seconds):
            return None
    except HTTPError as error:
        return None if error.code < SERVER_IS_ILL else shown(str(error))
    except (OSError, ValueError) as error:
        return shown(str(error))


def shown(address: str) -> str:
    """Return an address, or a text that contains one, without user and password."""
    return CREDENTIALS.sub("", address)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address of this machine.

    :raises Dial2vecError: if the port is taken, or the address is not this machine's.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Dial2vecError(f"port {port} is taken. Choose another: --port {port + 1}") from error
        raise Dial2vecError(
            f"cannot listen at {host}, port {port}: {error.strerror}. Give an address of this machine, and a port that "
            "you may use."
        ) from error


def address_of(listening: socket.socket) -> str:
    """Return the URL at which this machine reaches a listening socket."""
    host, port = listening.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def warning(listening: socket.socket) -> str:
    """Return a warning if other machines can reach the socket, otherwise ""."""
    host, port = listening.getsockname()[:2]
    if ipaddress.ip_address(host).is_loopback:
        return ""
    return (
        f"Warning: whoever reaches port {port} of this machine can use and overload it: there is no password and no "
        "encryption. Put a proxy with both in front, and bind to 127.0.0.1 (docs/serving.md)."
    )
