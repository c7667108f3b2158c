"""Telling somebody: a command or a web address gets the verdict of a retraining as JSON."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Mapping
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
        done = subprocess.run(hook, shell=True, cwd=root, input=body, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"`schedule.notify` ({hook}) could not be told: {error}"
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        return f"`schedule.notify` ({hook}) ended with status {done.returncode}: {said[-1] if said else 'no reason'}"
    return ""
