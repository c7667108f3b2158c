"""Telling somebody: a command or a web address gets the verdict of a retraining as JSON."""

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


def notify(hook: str | None, verdict: Mapping[str, Any], *, root: Path) -> str:
    """Hand the verdict to the hook, and return what went wrong in a sentence, "" for nothing.

    A retraining does not fail because nobody could be told.

    :param hook: an address beginning with http:// or https://, which gets a POST; or a shell command, run in the
        project, which gets the JSON on its standard input; None tells nobody.
    :param verdict: what is told.
    """
    if hook is None:
        return ""
    body = json.dumps(verdict, ensure_ascii=False).encode()
    try:
        if hook.startswith(("http://", "https://")):
            request = urllib.request.Request(hook, data=body, headers={"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=SECONDS):
                return ""
        status, said = _run(hook, body, root)
    except (OSError, ValueError, HTTPException, subprocess.TimeoutExpired) as error:
        return f"`schedule.notify` ({hook}) could not be told: {error}"
    if status:
        return f"`schedule.notify` ({hook}) ended with status {status}: {said[-1] if said else 'no reason'}"
    return ""


def _run(hook: str, body: bytes, root: Path) -> tuple[int, list[str]]:
    """Run a shell command, and return its status and its complaints; one that takes too long ends with all it began."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        hook, shell=True, cwd=root, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe, start_new_session=True
    ) as process:
        try:
            _, complaints = process.communicate(body, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, complaints.decode(errors="replace").strip().splitlines()
