"""Notification: a command or a web address gets the result of a retraining as JSON."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any

SECONDS = 60


def notify(hook: str | None, record: Mapping[str, Any], *, root: Path) -> str:
    """Send a record to the hook, and return the reason of a failure as a sentence; "" if it was sent.

    A retraining does not fail if its notification fails.

    :param hook: Address that begins with http:// or https:// and gets a POST; or a shell command that is run in the
        project and gets the JSON on its standard input; None sends nothing.
    :param record: Content of the JSON.
    """
    if hook is None:
        return ""
    body = json.dumps(record, ensure_ascii=False).encode()
    try:
        if hook.startswith(("http://", "https://")):
            request = urllib.request.Request(hook, data=body, headers={"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=SECONDS):
                return ""
        status, lines = _run(hook, body, root)
    except (OSError, ValueError, HTTPException, subprocess.TimeoutExpired) as error:
        return f"`schedule.notify` ({hook}) could not be told: {error}"
    if status:
        return f"`schedule.notify` ({hook}) ended with status {status}: {lines[-1] if lines else 'no reason'}"
    return ""


def _run(hook: str, body: bytes, root: Path) -> tuple[int, list[str]]:
    """Run a shell command, and return status and error lines; after a timeout it is killed with its children."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        hook, shell=True, cwd=root, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe, start_new_session=True
    ) as process:
        try:
            _, errors = process.communicate(body, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, errors.decode(errors="replace").strip().splitlines()
