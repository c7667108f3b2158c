"""Traces of MLflow 3.17.2: traces.json, and the rows of `search_traces` as CSV and JSON Lines.

python -m tests.conversations.traces.written_by.mlflow_traces
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import mlflow
from mlflow.entities import SpanType

from tests.conversations.traces.written_by.model import CALL, requests

FOLDER = Path(__file__).parents[1]


@mlflow.trace(span_type=SpanType.CHAT_MODEL)
def complete(messages: list[dict]) -> dict:
    """Answer as OpenAI's interface does; the first question needs a tool."""
    answer = ANSWERS[messages[-1]["content"]] if messages[-1]["role"] == "user" else "Until six."
    if messages[-1]["content"] == "Is the shop open?":
        return {"choices": [{"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}]}
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": answer, "reasoning_content": "hm"}}]}


@mlflow.trace(span_type=SpanType.TOOL)
def opening_hours() -> str:
    """Return the hours."""
    return "six"


@mlflow.trace(span_type=SpanType.AGENT)
def answer(question: str, session: str) -> str:
    """Answer a question of a session."""
    mlflow.update_current_trace(metadata={"mlflow.trace.session": session}, tags={"shop": "Vale"})
    messages = HISTORY[question]
    while not (content := (message := complete(messages)["choices"][0]["message"])["content"]):
        messages += [message, {"role": "tool", "tool_call_id": "call_1", "content": opening_hours()}]
    return content


HISTORY = {messages[-1]["content"]: messages for _, messages, _ in requests()}
ANSWERS = {messages[-1]["content"]: said for _, messages, said in requests()}


def main() -> None:
    """Write the traces of an agent."""
    with TemporaryDirectory() as folder:
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        mlflow.set_experiment("shop")
        for session, messages, _ in requests():
            answer(messages[-1]["content"], session)
        mlflow.flush_trace_async_logging()
        traces = mlflow.search_traces(return_type="list")
        rows = mlflow.search_traces()
    (FOLDER / "mlflow_traces.json").write_text(json.dumps([trace.to_dict() for trace in traces]))
    rows.to_csv(FOLDER / "mlflow_rows.csv", index=False)
    rows.drop(columns=["trace"]).to_json(FOLDER / "mlflow_rows.jsonl", orient="records", lines=True)
    rows.drop(columns=["trace", "spans"]).to_csv(FOLDER / "mlflow_rows_without_spans.csv", index=False)


if __name__ == "__main__":
    main()
