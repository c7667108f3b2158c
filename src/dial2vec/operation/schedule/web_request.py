"""One request to a web address, in a process of its own: `python -m dial2vec.operation.schedule.web_request`.

Standard input holds JSON: the address, and the body of a POST or null for a GET. A reason is one line without the
address, because a path, a query or a password is a secret.
"""

from __future__ import annotations

import base64
import json
import sys
import urllib.request
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit

# Seconds without any byte; the caller ends this process after its own limit for the whole.
SILENCE_SECONDS = 30
# Output after a success.
SENT = "sent"


class _StayHere(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: another address did not ask for the notice."""

    def redirect_request(self, *_: Any) -> None:
        return None


def main() -> None:
    """Send the request, and write `SENT`, or the reason why that failed, to the error output."""
    request = json.load(sys.stdin)
    sys.stderr.write(_send(request["address"], request["body"]) or SENT)


def _send(address: str, body: str | None) -> str:
    headers = {"User-Agent": "dial2vec"} | ({"Content-Type": "application/json"} if body is not None else {})
    try:
        parts = urlsplit(address)
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
            address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        data = None if body is None else body.encode()
        opened = urllib.request.build_opener(_StayHere).open(
            urllib.request.Request(address, data=data, headers=headers), timeout=SILENCE_SECONDS
        )
        # The body is not read: the status says enough.
        opened.close()
    except HTTPError as error:
        moved = "; redirects are not followed" if error.code // 100 == 3 else ""
        return f"it answered with status {error.code}{moved}"
    except URLError as error:
        return str(error.reason)
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
    except (ValueError, HTTPException) as error:
        # The text of these errors repeats the address.
        return f"the address, or the answer, is not valid ({type(error).__name__})"
    return ""


if __name__ == "__main__":
    main()
