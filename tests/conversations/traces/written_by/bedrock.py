"""Events of Amazon Bedrock AgentCore Memory and logs of the Converse API, by boto3 1.44 and bedrock-agentcore 1.25.

botocore's own models check the form: its client sends each answer through the stubber.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
from bedrock_agentcore.memory.integrations.strands.bedrock_converter import AgentCoreMemoryConverter
from botocore.stub import Stubber
from strands.types.session import SessionMessage

from tests.conversations.traces import SESSIONS

FOLDER = Path(__file__).parents[1]
START = datetime(2024, 3, 5, 10, tzinfo=UTC)
USE = {"toolUse": {"toolUseId": "t", "name": "opening_hours", "input": {}}}
RESULT = {"toolResult": {"toolUseId": "t", "content": [{"text": "six"}], "status": "success"}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "x"}}}
KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}


def client(service: str) -> Any:
    return boto3.client(service, **KEYS)


def exchange(question: str, answer: str) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": [{"text": question}]},
        {"role": "assistant", "content": [THOUGHT, USE]},
        {"role": "user", "content": [RESULT]},
        {"role": "assistant", "content": [THOUGHT, {"text": answer}]},
    ]


def times() -> list[tuple[str, int, datetime]]:
    order = [
        (name, at, START + timedelta(seconds=60 * at + 20 * n)) for n, name in enumerate(SESSIONS) for at in range(3)
    ]
    return sorted(order, key=lambda item: item[2])


def event(name: str, number: int, time: datetime, said: list[tuple[str, str]]) -> dict[str, Any]:
    payload = [{"conversational": {"content": {"text": text}, "role": role}} for text, role in said]
    key = {"memoryId": "shop-0123456789", "actorId": "u", "sessionId": name, "eventId": f"{number:016}#ab"}
    return key | {"eventTimestamp": time, "payload": payload, "branch": {"name": "main"}}


def listed(events: list[dict[str, Any]]) -> dict[str, Any]:
    agentcore, asked = client("bedrock-agentcore"), {"memoryId": "shop-0123456789", "actorId": "u", "sessionId": "s"}
    with Stubber(agentcore) as stubber:
        # The newest event comes first.
        stubber.add_response("list_events", {"events": events[::-1]}, asked)
        answer = agentcore.list_events(**asked)
    return {"events": answer["events"]}


def converse(messages: list[dict[str, Any]], name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    request = {"modelId": "m", "messages": messages[:-1], "system": [{"text": "You are kind."}]}
    request["requestMetadata"] = {"session_id": name}
    runtime = client("bedrock-runtime")
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    answer = {
        "output": {"message": messages[-1]},
        "stopReason": "end_turn",
        "usage": usage,
        "metrics": {"latencyMs": 1},
    }
    with Stubber(runtime) as stubber:
        stubber.add_response("converse", answer, request)
        answer = runtime.converse(**request)
    answer.pop("ResponseMetadata", None)
    return request, answer


def main() -> None:
    plain, strands, logs, history = [], [], [], {name: [] for name in SESSIONS}
    for number, (name, at, time) in enumerate(times()):
        question, answer = SESSIONS[name][at]
        plain.append(event(name, number, time, [(question, "USER"), ("six", "TOOL"), (answer, "ASSISTANT")]))
        for step, message in enumerate(exchange(question, answer)):
            said = AgentCoreMemoryConverter.message_to_payload(SessionMessage.from_message(message, 4 * at + step))
            when = time + timedelta(seconds=step)
            strands.append(event(name, 10 * number + step, when, [(text, role.upper()) for text, role in said]))
        history[name] += exchange(question, answer)
        request, reply = converse(history[name], name)
        head = {
            "schemaType": "ModelInvocationLog",
            "schemaVersion": "1.0",
            "timestamp": time.isoformat(),
            "accountId": "1",
        }
        head |= {"region": "us-east-1", "requestId": f"r{number}", "operation": "Converse", "modelId": "m"}
        head |= {"requestMetadata": request["requestMetadata"]}
        body = {
            "inputContentType": "application/json",
            "inputBodyJson": {k: request[k] for k in ("messages", "system")},
        }
        logs.append(
            head | {"input": body, "output": {"outputContentType": "application/json", "outputBodyJson": reply}}
        )
    (FOLDER / "agentcore_memory.json").write_text(json.dumps(listed(plain), indent=1, default=datetime.isoformat))
    (FOLDER / "agentcore_strands.json").write_text(json.dumps(listed(strands), indent=1, default=datetime.isoformat))
    (FOLDER / "bedrock_converse_logs.jsonl").write_text("".join(json.dumps(log) + "\n" for log in logs))


if __name__ == "__main__":
    main()
