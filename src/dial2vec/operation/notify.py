"""Notices to a command or a web address, and the heartbeat after a retraining that ended well."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dial2vec.addresses import is_web_address, masked
from dial2vec.config import Schedule

# Time limit for a notice as a whole: name lookup, sending and all of the answer.
SECONDS = 60
# Seconds without any byte of an answer.
SILENCE_SECONDS = 30
# Bytes of a command's error output that are kept, and characters of a reason that are shown.
KEPT, LONGEST = 8192, 300


def notify(
    schedule: Schedule, record: Mapping[str, Any], *, text: str, root: Path, setting: str = "schedule.notify"
) -> str:
    """Send a notice to `schedule.notify`, and return the reason of a failure as a sentence; "" if it was sent.

    A retraining does not fail if its notice fails. The reason never repeats a command, or more of an address than its
    host: both may hold a token.

    :param schedule: Settings of the schedule. `notify` is an address that begins with http:// or https:// and gets a
        POST; or a shell command that is run in the project and gets the JSON on its standard input; None sends nothing.
    :param record: Content of the JSON if `notify_form` is "verdict".
    :param text: Content of `{"text": ...}` if `notify_form` is "text".
    :param root: Folder that the command is run in.
    :param setting: Name of the setting or option in the reason.
    """
    if schedule.notify is None:
        return ""
    content = {"text": text} if schedule.notify_form == "text" else record
    body = json.dumps(content, ensure_ascii=False)
    if is_web_address(schedule.notify):
        return _call(setting, schedule.notify, body)
    status, line = _run(schedule.notify, body.encode(), root)
    if not status:
        return ""
    return f"the command of `{setting}` could not be told: {line or f'it ended with status {status}'}"


def send_heartbeat(schedule: Schedule) -> str:
    """Call `schedule.heartbeat`, and return the reason of a failure as a sentence; "" if it answered."""
    return _call("schedule.heartbeat", schedule.heartbeat, None) if schedule.heartbeat else ""


def _call(setting: str, address: str, body: str | None) -> str:
    reasons: list[str] = []
    # A thread that is left alone at the end: a name may be looked up for minutes, and an answer may have no end.
    thread = threading.Thread(target=lambda: reasons.append(_send(address, body)), daemon=True)
    thread.start()
    thread.join(SECONDS)
    reason = reasons[0] if reasons else f"it timed out after {SECONDS:g} seconds"
    shown = masked(re.sub(r"[\s'\"<>]", "", address))
    return f"`{setting}` ({shown}) could not be told: {reason}" if reason else ""


def _send(address: str, body: str | None) -> str:
    """Send a POST, or a GET without a body, and return the reason of a failure, without the address."""
    # Loaded here: takes a while, and most commands send nothing.
    import httpx

    headers = {"User-Agent": "dial2vec"} | ({"Content-Type": "application/json"} if body is not None else {})
    # It logs each address with its secrets.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    method = "GET" if body is None else "POST"
    try:
        # The body of the answer is not read: the status says enough.
        with httpx.stream(method, address, content=body, headers=headers, timeout=SILENCE_SECONDS) as answer:
            moved = "; redirects are not followed" if answer.is_redirect else ""
            return "" if answer.is_success else f"it answered with status {answer.status_code}{moved}"
    except (httpx.NetworkError, httpx.TimeoutException) as error:
        return str(error) or type(error).__name__
    except Exception as error:
        # The text of these errors may repeat the address.
        return f"the address, or the answer, is not valid ({type(error).__name__})"


def _run(command: str, body: bytes, root: Path) -> tuple[int, str]:
    """Run a shell command, and return its status and last line of error output.

    After `SECONDS` it is killed, with all that it has begun.

    :param body: Standard input.
    """
    errors = bytearray()
    # A pipe and a thread of its own: a command may write without end, and what it has begun may hold the pipe open.
    reads, writes = os.pipe()
    thread = threading.Thread(target=_keep_last, args=(reads, errors), daemon=True)
    thread.start()
    try:
        process = subprocess.Popen(
            command,
            shell=True,
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=writes,
            start_new_session=True,
        )
    finally:
        os.close(writes)
    try:
        process.communicate(body, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            # Windows has no process groups.
            os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
        return 1, f"it timed out after {SECONDS:g} seconds, and was ended"
    thread.join(1)
    return process.wait(), _last_line(bytes(errors))


def _keep_last(reads: int, kept: bytearray) -> None:
    """Read a pipe to its end, and keep the last bytes."""
    with open(reads, "rb", buffering=0) as pipe:
        while block := pipe.read(KEPT):
            kept += block
            del kept[:-KEPT]


def _last_line(errors: bytes) -> str:
    lines = [line for line in errors.decode(errors="replace").splitlines() if line.strip()]
    printable = "".join(letter if letter.isprintable() else " " for letter in lines[-1]) if lines else ""
    return masked(printable).strip()[:LONGEST]
