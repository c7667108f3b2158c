"""Mails, in a mailbox (mbox) or a file each (.eml), as rows with the conversation that each belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import parseaddr, parsedate_to_datetime
from pathlib import Path
from typing import Any

from conversations.formats.encodings import open_bytes
from conversations.formats.markup import without_html

BEGIN = re.compile(rb"From \S[^\n]*\d:\d\d[^\n]*\r?\n[\w-]+:")
ID = re.compile(r"<([^<>\s]+)>")
# "Re: ", "AW: ", "RE[2]: ", "Fwd: "
ANSWER = re.compile(r"^(?:(?:re|aw|sv|vs|antw|rv|res|rif|odp|ynt|fwd?|wg|tr)(?:\[\d+\])?\s?:\s*)+", re.IGNORECASE)


def mail_rows(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Return a row for each mail, with its conversation: by Gmail's number, the ids of answers, or the subject."""
    rows = [_row(message_from_bytes(mail, policy=policy.default)) for path in paths for mail in _mails(path)]
    names = {row["address"]: row["from"] for row in rows if row["from"] != row["address"]}
    subjects = {row["subject"] for row in rows if row.pop("is_answer") and len(row["ids"]) < 2}
    roots: dict[str, str] = {}

    def root(name: str) -> str:
        while name != (name := roots.get(name, name)):
            pass
        return name

    for row in rows:
        row["from"] = names.get(row["address"], row["from"])
        row["thread"], *others = row.pop("ids")
        for name in (*others, *([f"subject: {row['subject']}"] if row["subject"] in subjects else [])):
            if root(name) != root(row["thread"]):
                roots[root(name)] = root(row["thread"])
    return [row | {"thread": root(row["thread"])} for row in rows]


def _mails(path: Path) -> Iterator[bytes]:
    """Yield the mails of a file, which is a mailbox if it begins with a line "From ana@x.example Tue Mar 5 10:00"."""
    with open_bytes(path) as handle:
        part, blank = list[bytes](), True
        for line in handle:
            if blank and line.startswith(b"From "):
                yield from [b"".join(part)] if part else []
                part = []
            else:
                part.append(line[1:] if line.startswith(b">From ") else line)
            blank = not line.strip()
    yield b"".join(part)


def _row(mail: EmailMessage) -> dict[str, Any]:
    def head(name: str) -> str:
        try:
            return " ".join(str(mail[name] or "").split())
        except (ValueError, IndexError, AttributeError, TypeError):
            # Headers that break the rules.
            return ""

    # Archives of lists write "ana at x.example (Ana Ruiz)".
    sender = head("from") if "@" in head("from") else head("from").replace(" at ", "@", 1)
    name, address = parseaddr(sender)
    own = ID.findall(head("message-id")) or [f"{head('date')} {address}"]
    try:
        date = parsedate_to_datetime(head("date")).isoformat()
    except (ValueError, TypeError):
        date = ""
    return {
        "message_id": own[0],
        "ids": [*head("x-gm-thrid").split(), *ID.findall(f"{head('references')} {head('in-reply-to')}"), *own],
        "is_answer": bool(ANSWER.match(head("subject"))),
        "from": name or address,
        "address": address,
        "to": head("to"),
        "date": date,
        "subject": ANSWER.sub("", head("subject")),
        "labels": head("x-gmail-labels"),
        "auto_submitted": head("auto-submitted"),
        "body": _text(mail),
    }


def _text(mail: EmailMessage) -> str:
    body = mail.get_body(("plain", "html"))
    if body is None:
        return ""
    try:
        text = str(body.get_content())
    except (LookupError, ValueError):
        # A character set that does not exist.
        text = bytes(body.get_payload(decode=True) or b"").decode("latin-1")
    return without_html(text) if body.get_content_subtype() == "html" else text.replace("\r\n", "\n")
