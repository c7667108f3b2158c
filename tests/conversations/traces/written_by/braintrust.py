"""Braintrust SDK 0.48.1: rows of a project's logs, spans in spans."""

from __future__ import annotations

import json

import braintrust
from braintrust.test_helpers import init_test_logger  # type: ignore[import-not-found]

from tests.conversations.traces.written_by.session_requests import requests, write

if __name__ == "__main__":
    with braintrust.logger._internal_with_memory_background_logger() as memory:
        logger = init_test_logger("shop")
        for request in requests():
            with logger.start_span(name="chat", type="task", input=request.question) as root:
                root.log(metadata={"session_id": request.session})
                with root.start_span(name="opening_hours", type="tool", input={"place": "shop"}) as tool:
                    tool.log(output="six")
                with root.start_span(name="llm", type="llm", input=request.messages) as llm:
                    message = {"role": "assistant", "content": request.answer, "reasoning": "hm"}
                    llm.log(output=[{"index": 0, "finish_reason": "stop", "message": message}])
                root.log(output=request.answer)
        rows = [json.loads(json.dumps(row, default=str)) for row in memory.pop()]
    write("braintrust_logs.jsonl", [{key: value for key, value in row.items() if key != "context"} for row in rows])
