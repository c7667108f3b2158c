"""LangSmith SDK 0.15.1 and LangChain 1.8.3: runs as they are sent, and as `list_runs` returns them."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.tracers.langchain import LangChainTracer
from langsmith import Client, traceable, tracing_context

from tests.conversations.traces.written_by.session_requests import Request, requests, serving, write

BATCHES = {"use_multipart_endpoint": False, "size_limit": 100, "size_limit_bytes": 20971520}
INFO = {"batch_ingest_config": BATCHES | {"scale_up_nthreads_limit": 1, "scale_up_qsize_trigger": 1000}}
PROJECT = "7f1a0c0e-0000-4000-8000-000000000001"


def runs_of(sent: list[tuple[str, bytes]]) -> list[dict[str, Any]]:
    """Return the runs of what was sent, as the service completes them."""
    runs: dict[str, dict[str, Any]] = {}
    for path, body in sent:
        if path.endswith("/batch"):
            content = json.loads(body)
            for run in [*content.get("post", ()), *content.get("patch", ())]:
                runs.setdefault(run["id"], {}).update({key: value for key, value in run.items() if value is not None})
    for run in runs.values():
        run.pop("session_name", None)
        run["extra"] = {key: value for key, value in run["extra"].items() if key in ("metadata", "invocation_params")}
        for key in ("revision_id", "LANGSMITH_TRACING"):
            run["extra"]["metadata"].pop(key, None)
    return [run | {"session_id": PROJECT, "status": "success"} for run in runs.values()]


def by_functions(client: Client) -> None:
    """Trace a function that calls a tool and a model with the whole history."""

    @traceable(run_type="tool", client=client)
    def opening_hours(place: str) -> str:
        return "six"

    @traceable(run_type="llm", client=client, name="ChatOpenAI")
    def model(messages: list[dict[str, str]], request: Request) -> dict[str, Any]:
        message = {"role": "assistant", "content": request.answer, "reasoning_content": "hm"}
        return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}

    @traceable(run_type="chain", client=client)
    def chat(question: str, request: Request) -> str:
        opening_hours("shop")
        model(request.messages, request)
        return request.answer

    with tracing_context(enabled=True):
        for request in requests():
            chat(request.question, request, langsmith_extra={"metadata": {"session_id": request.session}})
    client.flush()


def by_langchain(client: Client) -> None:
    """Trace a chain of a prompt with a place for the history and a model."""
    prompt = ChatPromptTemplate([SystemMessage("You are kind."), MessagesPlaceholder("history"), ("human", "{input}")])
    for request in requests():
        kinds = {"user": HumanMessage, "assistant": AIMessage}
        history = [kinds[message["role"]](message["content"]) for message in request.before]
        chain = prompt | FakeMessagesListChatModel(responses=[AIMessage(request.answer)])
        tracer = LangChainTracer(client=client)
        settings = {"callbacks": [tracer], "metadata": {"thread_id": request.session}}
        chain.invoke({"history": history, "input": request.question}, settings)
        tracer.wait_for_futures()
    client.flush()


if __name__ == "__main__":
    for name, trace in (("functions", by_functions), ("langchain", by_langchain)):
        sent: list[tuple[str, bytes]] = []
        query = ("/runs/query", lambda sent=sent: {"runs": runs_of(sent), "cursors": {}})
        client = Client(api_url=serving(sent, [("/info", INFO), query]), api_key="x")
        trace(client)
        listed = list(client.list_runs(project_id=PROJECT))
        kept = (
            "id",
            "name",
            "start_time",
            "end_time",
            "run_type",
            "extra",
            "inputs",
            "outputs",
            "parent_run_id",
            "session_id",
            "status",
            "trace_id",
            "dotted_order",
            "tags",
        )
        # Of the log, each line is a run; the newest comes first, as in the answers of the service.
        dumped = [json.loads(run.json()) for run in reversed(listed)]
        write(f"langsmith_{name}.jsonl", [{key: run.get(key) for key in kept} for run in dumped])
    write(
        "langsmith_bulk.jsonl",
        [
            {key: json.dumps(value) if key in ("inputs", "outputs", "extra") else value for key, value in run.items()}
            for run in runs_of(sent)
        ],
    )
