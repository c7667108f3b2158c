"""Calls of voice platforms: Vapi by vapi-server-sdk 3.0.0, and Retell by retell-sdk 6.2.13."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from retell.types import CallListResponse
from vapi.types import Call

from tests.conversations.traces import SESSIONS

FOLDER = Path(__file__).parents[1]
START = 1709632800


def vapi(number: int, name: str) -> dict[str, Any]:
    start = START + 20 * number
    said = [{"role": "system", "message": "You are kind.", "time": 1e3 * start, "secondsFromStart": 0}]
    openai = [{"role": "system", "content": "You are kind."}]
    for at, (question, answer) in enumerate(SESSIONS[name]):
        call = {"id": "t", "type": "function", "function": {"name": "opening_hours", "arguments": "{}"}}
        steps = [
            {"role": "user", "message": question, "endTime": 1e3 * (start + 60 * at + 1)},
            {"role": "tool_calls", "message": "", "toolCalls": [call]},
            {"role": "tool_call_result", "name": "opening_hours", "toolCallId": "t", "result": "six"},
            {"role": "bot", "message": answer, "source": "", "endTime": 1e3 * (start + 60 * at + 5)},
        ]
        for second, step in enumerate(steps):
            said.append(step | {"time": 1e3 * (start + 60 * at + second), "secondsFromStart": 60.0 * at + second})
        openai += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    lines = [f"{who}: {text}\n" for pair in SESSIONS[name] for who, text in zip(("User", "AI"), pair, strict=True)]
    artifact = {"messages": said, "messagesOpenAIFormatted": openai, "transcript": "".join(lines)}
    call = {"id": name, "orgId": "o", "type": "webCall", "createdAt": f"2024-03-05T10:00:{20 * number:02}Z"}
    call |= {"updatedAt": "2024-03-05T10:09:00Z", "status": "ended", "endedReason": "customer-ended-call"}
    call |= {"startedAt": call["createdAt"], "assistantId": "a", "messages": said, "artifact": artifact}
    return json.loads(Call.model_validate(call).model_dump_json(by_alias=True, exclude_none=True))


def retell(number: int, name: str) -> dict[str, Any]:
    spoken, steps = [], []
    for at, pair in enumerate(SESSIONS[name]):
        both = []
        for role, text, second in zip(("user", "agent"), pair, (1, 5), strict=True):
            words = [
                {"word": word, "start": 60.0 * at + second, "end": 60.0 * at + second + 1} for word in text.split()
            ]
            both.append({"role": role, "content": text, "words": words})
        spoken += both
        call = {"role": "tool_call_invocation", "tool_call_id": "t", "name": "opening_hours", "arguments": "{}"}
        steps += [both[0], call, {"role": "tool_call_result", "tool_call_id": "t", "content": "six"}, both[1]]
    return {
        "call_type": "web_call",
        "access_token": "x",
        "call_id": name,
        "agent_id": "a",
        "agent_version": 1,
        "call_status": "ended",
        "start_timestamp": 1000 * (START + 20 * number),
        "end_timestamp": 1000 * (START + 300),
        "duration_ms": 280000,
        "disconnection_reason": "user_hangup",
        "transcript": "".join(f"{step['role'].title()}: {step['content']}\n" for step in spoken),
        "transcript_object": spoken,
        "transcript_with_tool_calls": steps,
    }


def main() -> None:
    calls = [vapi(number, name) for number, name in enumerate(SESSIONS)]
    (FOLDER / "vapi.json").write_text(json.dumps(calls, indent=1))
    listed = CallListResponse.model_validate(
        {"items": [retell(number, name) for number, name in enumerate(SESSIONS)], "has_more": False}
    )
    (FOLDER / "retell.json").write_text(listed.model_dump_json(by_alias=True, exclude_none=True, indent=1))


if __name__ == "__main__":
    main()
