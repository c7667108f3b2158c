"""The result of a team of agents, by autogen-agentchat 0.7.5."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import TextMessage, ThoughtEvent, ToolCallExecutionEvent, ToolCallRequestEvent
from autogen_core import FunctionCall
from autogen_core.models import FunctionExecutionResult

from tests.conversations.traces import SESSIONS

FOLDER = Path(__file__).parents[1]
START = datetime(2024, 3, 5, 10, tzinfo=UTC)


async def main() -> None:
    for number, (name, exchanges) in enumerate(SESSIONS.items()):
        messages = []
        for at, (question, answer) in enumerate(exchanges):
            time = START + timedelta(seconds=60 * at + 20 * number)
            call = FunctionCall(id="c", name="opening_hours", arguments="{}")
            result = FunctionExecutionResult(content="six", name="opening_hours", call_id="c", is_error=False)
            messages += [
                TextMessage(source="user", content=question, created_at=time),
                ThoughtEvent(source="shop", content="hm", created_at=time),
                ToolCallRequestEvent(source="shop", content=[call], created_at=time),
                ToolCallExecutionEvent(source="shop", content=[result], created_at=time),
                TextMessage(source="shop", content=answer, created_at=time + timedelta(seconds=3)),
            ]
        path = FOLDER / "autogen.folder" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(TaskResult(messages=messages).model_dump_json(indent=1))


if __name__ == "__main__":
    asyncio.run(main())
