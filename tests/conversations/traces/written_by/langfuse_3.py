"""Langfuse SDK 3: traces with their observations as `GET /api/public/traces/ID` returns them, and sessions."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from langfuse.api import ObservationsView, SessionWithTraces, Trace, TraceWithFullDetails

from tests.conversations.traces.written_by.session_requests import Request, requests, write

START = datetime(2026, 3, 5, 10, tzinfo=UTC)


def observed(request: Request, at: datetime, trace: str, **values: Any) -> ObservationsView:
    """Return an observation of a request."""
    return ObservationsView(
        id=f"{trace}-{values['name']}", traceId=trace, startTime=at, endTime=at + timedelta(seconds=1), level="DEFAULT",
        usage={"input": 1, "output": 1, "total": 2}, usageDetails={}, costDetails={}, environment="default", **values,
    )  # fmt: skip


if __name__ == "__main__":
    full, views, traces = [], [], []
    for number, request in enumerate(requests()):
        at = START + timedelta(minutes=number)
        answer = {"role": "assistant", "content": request.answer}
        spans = [
            observed(request, at, f"t{number}", name="chat", type="SPAN"),
            observed(
                request,
                at,
                f"t{number}",
                name="opening_hours",
                type="TOOL",
                input={},
                output="six",
                parentObservationId=f"t{number}-chat",
            ),
            observed(
                request,
                at,
                f"t{number}",
                name="llm",
                type="GENERATION",
                input={"messages": request.messages},
                output=answer,
                parentObservationId=f"t{number}-chat",
            ),
        ]
        shared = {
            "id": f"t{number}",
            "timestamp": at,
            "name": "chat",
            "sessionId": request.session,
            "tags": [],
            "public": False,
            "environment": "default",
        }
        details = {"htmlPath": "/", "latency": 1.0, "totalCost": 0.0, "scores": []}
        full.append(TraceWithFullDetails(**shared, **details, observations=spans))
        traces.append(Trace(**shared, input=request.question, output=request.answer))
        # One trace for a whole conversation.
        views += [
            span.copy(update={"trace_id": request.session, "input": span.input and [request.messages[-1]]})
            if span.name == "llm"
            else span.copy(update={"trace_id": request.session})
            for span in spans
        ]
    write("langfuse_traces_with_observations.json", [json.loads(trace.json(by_alias=True)) for trace in full])
    write(
        "langfuse_observations_of_traces.json",
        {"data": [json.loads(view.json(by_alias=True)) for view in reversed(views)], "meta": {"page": 1}},
    )
    sessions = [
        SessionWithTraces(
            id=name,
            createdAt=START,
            projectId="p",
            environment="default",
            traces=[trace for trace in traces if trace.session_id == name],
        )
        for name in ("s-1", "s-2")
    ]
    write("langfuse_sessions.json", [json.loads(session.json(by_alias=True)) for session in sessions])
