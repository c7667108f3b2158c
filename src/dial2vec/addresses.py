"""Addresses of servers: test if one answers, show it without password, listen at one."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import ipaddress
import re
import select
import socket
import struct
import sys
import time
import urllib.request
from collections.abc import Collection
from dataclasses import dataclass
from urllib.error import HTTPError

from dial2vec.errors import Dial2vecError

SERVER_IS_ILL = 500
CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")
WEB = re.compile(r"(https?)://([^\s'\"<>]*)", re.IGNORECASE)
# Linux's number for a filter of a socket's packets, and a filter that drops those that ask for a connection: load the
# flags of TCP's header, keep SYN and ACK, drop SYN alone, take every other packet.
SO_ATTACH_FILTER = 26
NO_SYN = ((0x30, 0, 0, 13), (0x54, 0, 0, 0x12), (0x15, 0, 1, 0x02), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))
# Seconds in which no connection may come, until a socket counts as closed to new ones; and the longest wait for that.
QUIET, LONGEST_QUIET = 0.3, 5.0


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


def is_web_address(text: str) -> bool:
    """Return whether a text begins with http:// or https://."""
    return WEB.match(text) is not None


def masked(text: str) -> str:
    """Return a text whose web addresses show only scheme and host: user, path or query may be a secret.

    >>> masked("POST https://bot:key@chat.example/hook/T0K3N?to=us failed")
    'POST https://chat.example/… failed'
    """
    return WEB.sub(_masked, text)


def _masked(address: re.Match[str]) -> str:
    host, rest = re.match(r"([^/?#]*)(.*)", address[2], re.DOTALL).groups()  # type: ignore[union-attr]
    if "@" in rest and ":" in host and "@" not in host:
        # Perhaps a password with a slash: nothing tells where the host begins.
        return f"{address[1]}://…"
    return f"{address[1]}://{host.rpartition('@')[2]}{'/…' if rest.strip('/') else rest}"


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


def close_to_new(listening: socket.socket) -> None:
    """Close a listening socket after other processes that share it have accepted every connection that it has.

    A connection that waits in the queue of a closed socket is reset, though its client may have sent a request. So the
    system is first told to take no new ones (on Linux; elsewhere some may still be reset). Their clients ask again
    after a second, and are refused once the other processes have closed the socket as well.
    """
    if sys.platform == "linux":
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in NO_SYN))
        with contextlib.suppress(OSError):
            listening.setsockopt(
                socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(NO_SYN), ctypes.addressof(code))
            )
    began = busy = time.monotonic()
    while (now := time.monotonic()) < min(busy + QUIET, began + LONGEST_QUIET):
        if select.select([listening], [], [], 0)[0]:
            busy = now
        time.sleep(0.01)
    listening.close()


@dataclass(frozen=True)
class Hosts:
    """Names under which a server may be asked, and the check of each request against them.

    With any other name, a page on the internet could reach the server through a browser of this machine (DNS
    rebinding). Any page that is open in a browser here can send requests, too: browsers add where it comes from.

    :param names: Names in lower case, without port and brackets.
    """

    names: frozenset[str]

    @classmethod
    def of(cls, *more: str) -> Hosts:
        """Return the names of this machine, and more of them."""
        names = ["127.0.0.1", "localhost", "::1", socket.gethostname(), *more]
        return cls(frozenset(name.lower().strip("[]") for name in names))

    def refusal(
        self, headers: Collection[tuple[bytes, bytes]], *, server: str = "", page: bool = False
    ) -> Refused | None:
        """Return why a request is refused; None if it may be answered.

        :param headers: Headers of the request, with names in lower case.
        :param server: Address of this machine that the connection came to; its name is right, too.
        :param page: Whether the request is for a page that others may link to.
        """
        sent: dict[bytes, str] = {name: value.decode("latin-1").strip().lower() for name, value in headers}
        origins = {value.decode("latin-1").strip().lower() for name, value in headers if name == b"origin"}
        host, site = sent.get(b"host", ""), sent.get(b"sec-fetch-site", "none")
        name = re.sub(r":\d*$", "", host).removesuffix(".").strip("[]")
        if not name or name not in (*self.names, server):
            return Refused(421, "host", f"this server is not called {name[:100]!r}; expected one of its own names.")
        # A proxy with TLS in front of this server keeps the name.
        if origins - {f"http://{host}", f"https://{host}"} or (site not in ("none", "same-origin") and not page):
            return Refused(403, "origin", "pages of other servers may not send requests here.")
        return None


@dataclass(frozen=True)
class Refused:
    """Reason for which a server does not answer a request.

    :param kind: "host" or "origin".
    """

    status: int
    kind: str
    reason: str


def address_of(listening: socket.socket) -> str:
    """Return the URL at which this machine reaches a listening socket."""
    host, port = listening.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def warning(listening: socket.socket, *, password: bool = False) -> str:
    """Return a warning if other machines can reach the socket, otherwise "".

    :param password: Whether the server asks for a password or a token.
    """
    host, port = listening.getsockname()[:2]
    if ipaddress.ip_address(host).is_loopback:
        return ""
    if password:
        return (
            f"Warning: port {port} of this machine has no encryption, so the network sees tokens and dialogues. Put a "
            "proxy with TLS in front (docs/serving.md)."
        )
    return (
        f"Warning: whoever reaches port {port} of this machine can use and overload it: there is no password and no "
        "encryption. Give a token file, and put a proxy with TLS in front (docs/serving.md)."
    )
