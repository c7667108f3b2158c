"""The context of a bot and the transcript of its turns, by pipecat-ai 1.14.0."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import AssistantTurnStoppedMessage, UserTurnStoppedMessage

from tests.conversations.traces import SESSIONS

FOLDER = Path(__file__).parents[1]
START = datetime(2024, 3, 5, 10, tzinfo=UTC)
CALL = {"id": "c", "type": "function", "function": {"name": "opening_hours", "arguments": "{}"}}


def main() -> None:
    for number, (name, exchanges) in enumerate(SESSIONS.items()):
        context = LLMContext([{"role": "system", "content": "You are kind."}])
        turns = []
        for at, (question, answer) in enumerate(exchanges):
            time = START + timedelta(seconds=60 * at + 20 * number)
            context.add_message({"role": "user", "content": question})
            context.add_message({"role": "assistant", "tool_calls": [CALL]})
            context.add_message({"role": "tool", "content": "six", "tool_call_id": "c"})
            context.add_message({"role": "assistant", "content": answer})
            turns.append({"role": "user"} | asdict(UserTurnStoppedMessage(question, time.isoformat())))
            later = (time + timedelta(seconds=3)).isoformat()
            turns.append({"role": "assistant"} | asdict(AssistantTurnStoppedMessage(answer, False, later)))
        for form, content in (("context", context.get_messages()), ("turns", turns)):
            path = FOLDER / f"pipecat_{form}.folder" / f"{name}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()
