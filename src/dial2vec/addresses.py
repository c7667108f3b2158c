"""Servers of others: whether one answers, and how its address is shown."""

from __future__ import annotations

import re
import urllib.request
from urllib.error import HTTPError

SERVER_IS_ILL = 500
CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")


def silence(address: str, *, seconds: float) -> str | None:
    """Return why a server does not answer; None when it does, if only to ask for a password.

    MLflow and Prefect send the credentials that their own variables name, and say what is wrong with them.
    """
    try:
        with urllib.request.urlopen(CREDENTIALS.sub("", address), timeout=seconds):
            return None
    except HTTPError as error:
        return None if error.code < SERVER_IS_ILL else shown(str(error))
    except (OSError, ValueError) as error:
        return shown(str(error))


def shown(address: str) -> str:
    """Return an address, or what holds one, without user and password."""
    return CREDENTIALS.sub("", address)
