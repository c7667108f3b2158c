"""The error of a request that the explorer's server cannot answer."""

from __future__ import annotations


class WrongRequestError(ValueError):
    """A request that cannot be answered; the message gives the reason in one sentence."""
