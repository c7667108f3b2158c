"""Bearer tokens of the server, from a file that others cannot read."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from conversations.files import atomic_path
from dial2vec.errors import Dial2vecError

# A shorter token could be guessed.
SHORTEST = 16
# Rights that no token file may give: reading to everybody, or writing to its group.
OPEN = 0o027


class AccessTokens:
    """The tokens of a file, one per line; blank lines and lines that start with # are left out.

    :raises Dial2vecError: if others can read it, or it holds no token.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._digests = _read(path)

    def reload(self) -> None:
        """Read the file again; if it cannot be used, the tokens stay.

        :raises Dial2vecError: if others can read it, or it holds no token.
        """
        self._digests = _read(self.path)

    def accept(self, header: bytes) -> bool:
        """Return whether the value of a header Authorization holds one of the tokens.

        It takes the same time for every token of the file, and however much of a token is right.
        """
        scheme, _, given = header.partition(b" ")
        digest = hashlib.sha256(given.strip()).digest()
        matches = [hmac.compare_digest(digest, known) for known in self._digests]
        return any(matches) and scheme.lower() == b"bearer"


def secret_file(path: Path, given: str = "", *, say: Callable[[str], object] = lambda _: None) -> Path:
    """Return a file that only this user reads, with a secret: a given one, or one that the first call makes.

    :param say: function that is called with a new secret.
    :raises Dial2vecError: if the given one is short or holds a blank; the file stays as it was.
    """
    if given and (len(given) < SHORTEST or " " in given):
        raise Dial2vecError(
            f"found a token with a blank or under {SHORTEST} characters; expected a better one. Make one with `openssl "
            "rand -hex 32`."
        )
    if given or not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as new, os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(given or secrets.token_urlsafe(32))
        if not given:
            say(f"Token, also in {path}: {path.read_text()}")
    return path


def _read(path: Path) -> tuple[bytes, ...]:
    try:
        with path.open("rb") as file:
            # The open file, not the path: somebody could change it in between.
            # Windows has no such modes.
            if (mode := stat.S_IMODE(os.fstat(file.fileno()).st_mode)) & OPEN and os.name != "nt":
                raise Dial2vecError(
                    f"{path}: others can read or change it (mode {mode:o}); expected a file that only its owner "
                    f"changes and at most its group reads. Run `chmod 600 {path}`, and replace tokens that were seen."
                )
            lines = [line.strip() for line in file.read().splitlines()]
    except OSError as error:
        raise Dial2vecError(f"{path}: the tokens cannot be read ({error.strerror}). Check --token-file.") from error
    tokens = [line for line in lines if line and not line.startswith(b"#")]
    short = any(len(token) < SHORTEST or b" " in token for token in tokens)
    if not tokens or short:
        fault = f"a token with a blank or under {SHORTEST} characters" if short else "no token"
        raise Dial2vecError(
            f"{path}: found {fault}; expected one token per line. Make one with `openssl rand -hex 32`."
        )
    return tuple(hashlib.sha256(token).digest() for token in tokens)
