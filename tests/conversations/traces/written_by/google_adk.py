"""Sessions and events of the Agent Development Kit, by google-adk 1.14.1 with sqlalchemy 2.0."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from tests.conversations.traces import SESSIONS

FOLDER = Path(__file__).parents[1]
START = 1709632800.0


def events(question: str, answer: str, start: float) -> list[Event]:
    call = Part(function_call=FunctionCall(id="c", name="opening_hours", args={}))
    result = Part(function_response=FunctionResponse(id="c", name="opening_hours", response={"result": "six"}))
    steps = [
        ("user", Content(role="user", parts=[Part(text=question)]), None),
        ("shop", Content(role="model", parts=[Part(text="hm", thought=True), call]), None),
        ("shop", Content(role="user", parts=[result]), None),
        ("shop", Content(role="model", parts=[Part(text=answer[:3])]), True),
        ("shop", Content(role="model", parts=[Part(text="hm", thought=True), Part(text=answer)]), None),
        ("shop", None, None),
    ]
    return [
        Event(author=author, content=content, partial=partial, invocation_id="i", timestamp=start + at)
        for at, (author, content, partial) in enumerate(steps)
    ]


async def write(database: Path) -> None:
    service = DatabaseSessionService(f"sqlite:///{database}")
    sessions = {name: await service.create_session(app_name="shop", user_id="u", session_id=name) for name in SESSIONS}
    for at in range(3):
        for number, (name, session) in enumerate(sessions.items()):
            for event in events(*SESSIONS[name][at], START + 60 * at + 20 * number):
                await service.append_event(session, event)
    found = [await service.get_session(app_name="shop", user_id="u", session_id=name) for name in SESSIONS]
    dumped = [session.model_dump(mode="json", by_alias=True, exclude_none=True) for session in found]
    (FOLDER / "google_adk_sessions.json").write_text(json.dumps(dumped, indent=1))
    with sqlite3.connect(database) as connection:
        connection.row_factory = sqlite3.Row
        columns = "id, app_name, user_id, session_id, invocation_id, author, timestamp, content, partial"
        rows = [dict(row) for row in connection.execute(f"SELECT {columns} FROM events ORDER BY id")]
    (FOLDER / "google_adk_events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        asyncio.run(write(Path(folder) / "sessions.db"))
