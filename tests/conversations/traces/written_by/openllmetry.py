"""Spans of opentelemetry-instrumentation-openai 0.62.4 (OpenLLMetry) in a workflow of traceloop-sdk.

python -m tests.conversations.traces.written_by.openllmetry
"""

from __future__ import annotations

from pathlib import Path

import openai
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import workflow

from tests.conversations.traces.written_by.model import requests, serve, talk

PATH = Path(__file__).parents[1] / "openllmetry.jsonl"
CLIENT = openai.OpenAI(base_url=serve(), api_key="none")


@workflow(name="answer")
def answer(question: str) -> str:
    """Answer a question; the history is what the sessions hold."""
    return talk(CLIENT, HISTORY[question])


HISTORY = {messages[-1]["content"]: messages for _, messages, _ in requests()}


def main() -> None:
    """Write the spans."""
    PATH.unlink(missing_ok=True)
    Traceloop.init(exporter=FileSpanExporter(PATH), disable_batch=True, telemetry_enabled=False)
    for session, messages, _ in requests():
        Traceloop.set_association_properties({"session_id": session})
        answer(messages[-1]["content"])


if __name__ == "__main__":
    main()
