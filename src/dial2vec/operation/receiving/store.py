"""What was received and waits until its conversation is quiet: an SQLite file, which loses nothing to a kill."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable
from math import inf
from pathlib import Path

from dial2vec.operation.schedule.inbox import place_of
from dial2vec.operation.schedule.inbox_files import QUIET_SECONDS
from dial2vec.operation.serving.refusals import RefusedRequestError

# A conversation that is never quiet is handed over after a day; a week long it is known what came already.
LONGEST_S, KNOWN_S = 86_400.0, 7 * 86_400.0
# Conversations written at a time.
AT_A_TIME = 500
# A commit returns when it is on disk (FULL).
TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA secure_delete = ON;
CREATE TABLE IF NOT EXISTS received (key TEXT UNIQUE, request TEXT, conversation TEXT, line TEXT, at REAL);
CREATE INDEX IF NOT EXISTS requests ON received (request);
CREATE INDEX IF NOT EXISTS conversations ON received (conversation, at);
CREATE INDEX IF NOT EXISTS waiting ON received (conversation, at) WHERE line > '';
"""
# The spans of a request belong to the conversation that any of them names.
NAME = """UPDATE received SET conversation = named.conversation FROM (SELECT conversation FROM received
WHERE request = ?1 AND conversation != ?1 ORDER BY rowid LIMIT 1) AS named
WHERE request = ?1 AND received.conversation = ?1"""
READY = f"""SELECT conversation, (SELECT min(at) FROM received WHERE conversation = waiting.conversation)
FROM received AS waiting WHERE line > '' GROUP BY 1 HAVING max(at) <= ? OR min(at) <= ? LIMIT {AT_A_TIME}"""


class Store:
    """Keeps what was received until its conversation has been quiet for some seconds, then writes it to the inbox."""

    def __init__(self, inbox: Path, database: Path, *, quiet: float, min_free_gb: float) -> None:
        self.inbox, self._quiet, self._min_free = inbox, quiet, min_free_gb * 1e9
        self._database = sqlite3.connect(database)
        self._database.executescript(TABLES)

    def put(self, items: list[tuple[str, str, str, str]]) -> None:
        """Store spans or bodies of webhooks; they are on disk when this returns.

        :param items: Key by which an item is recognised if it is sent again, its request, its conversation (its request
            if it names none) and its JSON, of each. The names of files begin with what stands before a slash.
        :raises RefusedRequestError: if the disk is full.
        """
        try:
            if shutil.disk_usage(self.inbox).free < self._min_free:
                raise OSError("too little space is left")
            with self._database as database:
                rows = [(*item, time.time()) for item in items]
                database.executemany("INSERT OR IGNORE INTO received VALUES (?, ?, ?, ?, ?)", rows)
                database.executemany(NAME, {(request,) for _, request, _, _ in items})
        except (sqlite3.Error, OSError) as error:
            # OpenTelemetry's exporters send again after 503, and give up after 507.
            reason = f"nothing was stored: {error}. Free space on the disk of this server."
            raise RefusedRequestError(503, "disk", reason, retry_after="30") from error

    def hand_over(self, *, everything: bool = False) -> int:
        """Append the conversations that are quiet to files of the inbox, and return their number.

        A file has the conversations that began in one hour. What comes later is appended to it even if it was imported
        already: the inbox imports a file that has grown again, in place of its earlier dialogues.
        """
        now, number = inf if everything else time.time(), 0
        while ready := self._database.execute(READY, (now - self._quiet, now - LONGEST_S)).fetchall():
            files = defaultdict(list)
            for conversation, began in ready:
                source = conversation.partition("/")[0]
                files[f"{source}-{time.strftime('%Y%m%dT%H', time.gmtime(began))}"].append((conversation,))
            for name, conversations in files.items():
                query = "SELECT line FROM received WHERE line > '' AND conversation = ? ORDER BY at"
                lines = (line for row in conversations for (line,) in self._database.execute(query, row))
                _append(place_of(self.inbox, name), lines)
                with self._database as database:
                    database.executemany("UPDATE received SET line = '' WHERE conversation = ?", conversations)
            number += len(ready)
        if number:
            # What was deleted still stands in the log that SQLite writes ahead.
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with self._database as database:
            database.execute("DELETE FROM received WHERE line = '' AND at < ?", (time.time() - KNOWN_S,))
        return number


def _append(path: Path, lines: Iterable[str]) -> None:
    """Append lines that a file does not have, after the last whole one: a kill leaves a part of a line."""
    with path.open("r+b" if path.exists() else "x+b") as file:
        content = file.read()
        file.truncate(file.seek(content.rfind(b"\n") + 1))
        known = set(content.splitlines())
        file.writelines(whole + b"\n" for line in lines if (whole := line.encode()) not in known)
        file.flush()
        os.fsync(file.fileno())
        # All lines are whole, so that the inbox need not wait until nobody writes.
        os.utime(file.fileno(), (time.time(), time.time() - QUIET_SECONDS))
        if not os.fstat(file.fileno()).st_nlink:
            raise FileNotFoundError(f"{path} was moved to another disk meanwhile")
