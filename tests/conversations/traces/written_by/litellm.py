"""LiteLLM 1.80.17: its logging payload, and rows of the proxy's table of spend logs with prompts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import litellm
from litellm.integrations.custom_logger import CustomLogger
from litellm.proxy.spend_tracking.spend_tracking_utils import get_logging_payload

from tests.conversations.traces.written_by.session_requests import requests, write

START = datetime(2026, 3, 5, 10, tzinfo=UTC)


class Keeping(CustomLogger):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.logged: list[tuple[dict[str, Any], Any]] = []

    def log_success_event(self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any) -> None:
        self.logged.append((kwargs, response_obj))


if __name__ == "__main__":
    keeping = Keeping()
    litellm.callbacks = [keeping]
    payloads, rows = [], []
    for number, request in enumerate(requests()):
        litellm.completion(
            model="openai/gpt", messages=request.messages, mock_response=request.answer, api_key="x",
            litellm_session_id=request.session, litellm_trace_id=request.session,
            metadata={"session_id": request.session},
        )  # fmt: skip
        while len(keeping.logged) <= number:
            pass
        kwargs, answer = keeping.logged[number]
        payload = json.loads(json.dumps(kwargs["standard_logging_object"], default=str))
        payloads.append({key: value for key, value in payload.items() if "debug" not in key and key != "hidden_params"})
        at = START + timedelta(minutes=number)
        row = get_logging_payload(kwargs, answer, at, at + timedelta(seconds=1))
        # What the proxy stores if prompts are to be in its logs.
        row |= {"session_id": request.session, "messages": json.dumps(request.messages)}
        rows.append(row | {"response": answer.model_dump_json(), "proxy_server_request": "{}"})
    write("litellm_payloads.jsonl", payloads)
    write("litellm_spend_logs.json", rows[::-1])
