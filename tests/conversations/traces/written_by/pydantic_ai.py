"""Message histories of agents, by pydantic-ai-slim 2.68.0."""

from __future__ import annotations

from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.conversations.traces import SESSIONS

FOLDER = Path(__file__).parents[1]


def main() -> None:
    for name, exchanges in SESSIONS.items():
        answers = iter(answer for _, answer in exchanges)

        def answered(messages: list[ModelMessage], info: AgentInfo, answers=answers) -> ModelResponse:
            if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
                return ModelResponse([ThinkingPart("hm"), TextPart(next(answers))])
            return ModelResponse([ThinkingPart("hm"), ToolCallPart("opening_hours", {})])

        agent = Agent(FunctionModel(answered), system_prompt="You are kind.")
        agent.tool_plain(lambda: "six", name="opening_hours")
        history: list[ModelMessage] = []
        for question, _ in exchanges:
            history = agent.run_sync(question, message_history=history).all_messages()
        path = FOLDER / "pydantic_ai.folder" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(ModelMessagesTypeAdapter.dump_json(history, indent=1))


if __name__ == "__main__":
    main()
