"""Notice of a retraining to a command or a web address, and the heartbeat after a retraining that ended well."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dial2vec.addresses import is_web_address, masked
from dial2vec.config import Schedule
from dial2vec.operation.schedule.web_request import SENT

# Time limit for a notice as a whole: name lookup, sending and all of the answer.
SECONDS = 60
# Bytes of a command's error output that are kept, and characters of a reason that are shown.
KEPT, LONGEST = 8192, 300


def notify(schedule: Schedule, record: Mapping[str, Any], *, text: str, root: Path) -> str:
    """Send a notice to `schedule.notify`, and return the reason of a failure as a sentence; "" if it was sent.

    A retraining does not fail if its notice fails. The reason never repeats a command, or more of an address than its
    host: both may hold a token.

    :param schedule: Settings of the schedule. `notify` is an address that begins with http:// or https:// and gets a
        POST; or a shell command that is run in the project and gets the JSON on its standard input; None sends nothing.
    :param record: Content of the JSON if `notify_form` is "verdict".
    :param text: Content of `{"text": ...}` if `notify_form` is "text".
    """
    if schedule.notify is None:
        return ""
    content = {"text": text} if schedule.notify_form == "text" else record
    body = json.dumps(content, ensure_ascii=False)
    if is_web_address(schedule.notify):
        return _call("schedule.notify", schedule.notify, body)
    status, line = _run(schedule.notify, body.encode(), root)
    if not status:
        return ""
    return f"the command of `schedule.notify` could not be told: {line or f'it ended with status {status}'}"


def send_heartbeat(schedule: Schedule) -> str:
    """Call `schedule.heartbeat`, and return the reason of a failure as a sentence; "" if it answered."""
    return _call("schedule.heartbeat", schedule.heartbeat, None) if schedule.heartbeat else ""


def _call(setting: str, address: str, body: str | None) -> str:
    # In a process of its own, which can be ended at any point: while a name is looked up, or in an endless answer.
    # The address is not an argument, because any account may read arguments.
    request = json.dumps({"address": address, "body": body}).encode()
    command = [sys.executable, "-m", "dial2vec.operation.schedule.web_request"]
    shown = masked(re.sub(r"[\s'\"<>]", "", address))
    _, line = _run(command, request, Path.cwd())
    return "" if line == SENT else f"`{setting}` ({shown}) could not be told: {line or 'it gave no reason'}"


def _run(command: str | list[str], body: bytes, root: Path) -> tuple[int, str]:
    """Run a command, and return its status and last line of error output; after `SECONDS` it is killed with children.

    :param command: Text for the shell, or arguments.
    :param body: Standard input.
    """
    output, end = os.pipe()
    try:
        process = subprocess.Popen(
            command,
            shell=isinstance(command, str),
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=end,
            start_new_session=True,
        )
    except OSError as error:
        os.close(output)
        return 1, error.strerror or "it cannot be run"
    finally:
        os.close(end)
    errors = bytearray()
    # Threads, because a command may read nothing, and may write without end.
    reader = threading.Thread(target=_keep_end, args=(output, errors), daemon=True)
    reader.start()
    threading.Thread(target=_feed, args=(process, body), daemon=True).start()
    try:
        status = process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return 1, f"it timed out after {SECONDS:g} seconds, and was ended"
    reader.join(timeout=1)
    return status, _last_line(errors)


def _feed(process: subprocess.Popen[bytes], body: bytes) -> None:
    if process.stdin is not None:
        with contextlib.suppress(OSError), process.stdin:
            process.stdin.write(body)


def _keep_end(output: int, errors: bytearray) -> None:
    """Read a pipe to its end, and keep the last bytes."""
    with open(output, "rb", buffering=0) as pipe:
        while block := pipe.read(KEPT):
            errors += block
            del errors[:-KEPT]


def _last_line(errors: bytearray) -> str:
    lines = [line for line in bytes(errors).decode(errors="replace").splitlines() if line.strip()]
    printable = "".join(letter if letter.isprintable() else " " for letter in lines[-1]) if lines else ""
    return masked(printable).strip()[:LONGEST]
