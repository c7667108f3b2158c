"""The spans of two sessions in the forms of databases, interfaces and providers are two dialogues."""

from __future__ import annotations

import csv
import io
import json

import pyarrow
import pytest
from pyarrow import parquet

from conversations.options import Options
from conversations.reading import read_export
from tests.conversations.exports import imported
from tests.conversations.traces import SESSIONS
from tests.conversations.traces.written_by.model import requests

SAID = {name: [text for exchange in session for text in exchange] for name, session in SESSIONS.items()}
START = 1795857021542959797


def spans(attributes_of, **more):
    """Return a span per request, with the attributes that a function makes of session, messages and answer."""
    return [
        {"traceId": f"{at + 1:032x}", "spanId": f"{at + 99:016x}", "startTimeUnixNano": START + at * 10**9}
        | {"attributes": attributes_of(*request)}
        | more
        for at, request in enumerate(requests())
    ]


def of_today(session, messages, answer):
    said = [{"role": "assistant", "content": answer}]
    sent, got = (json.dumps([parts(message) for message in some]) for some in (messages, said))
    return {"session.id": session, "gen_ai.input.messages": sent, "gen_ai.output.messages": got}


def parts(message):
    if message["role"] == "tool":
        return {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "six"}]}
    if message.get("tool_calls"):
        return {"role": "assistant", "parts": [{"type": "tool_call", "name": "opening_hours", "arguments": {}}]}
    return {"role": message["role"], "parts": [{"type": "text", "content": message["content"]}]}


def pairs(attributes, key="stringValue"):
    return [{"key": name, "value": {key: value}} for name, value in attributes.items()]


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def table(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def nested(attributes):
    root = {}
    for name, value in attributes.items():
        inner, *keys = root, *name.split(".")
        for key in keys[:-1]:
            inner = inner.setdefault(key, {})
        inner[keys[-1]] = value
    return root


def renamed(span, trace, own, start, attributes="attributes"):
    return {trace: span["traceId"], own: span["spanId"], start: span["startTimeUnixNano"] // 1000} | {
        attributes: span["attributes"]
    }


SPANS = spans(of_today)
PAIRED = [span | {"attributes": pairs(span["attributes"])} for span in SPANS]
TYPED = [
    span
    | {"attributes": [pair | {"type": "string", "value": pair["value"]["stringValue"]} for pair in span["attributes"]]}
    for span in PAIRED
]
AROUND = {
    "jaeger.json": json.dumps(
        {
            "data": [
                {"traceID": span["traceId"], "spans": [renamed(span, "traceID", "spanID", "startTime", "tags")]}
                for span in TYPED
            ]
        }
    ),
    "zipkin.json": json.dumps([renamed(span, "traceId", "id", "timestamp", "tags") for span in SPANS]),
    "tempo.json": json.dumps({"batches": [{"scopeSpans": [{"spans": [span]}]} for span in PAIRED]}),
    "tempo_2.json": json.dumps({"trace": {"resourceSpans": [{"scopeSpans": [{"spans": PAIRED}]}]}}),
    "snake.jsonl": lines(
        {
            "resource_spans": [
                {
                    "scope_spans": [
                        {
                            "spans": [
                                renamed(span, "trace_id", "span_id", "start_time_unix_nano")
                                | {"attributes": pairs(span["attributes"], "string_value")}
                            ]
                        }
                    ]
                }
            ]
        }
        for span in SPANS
    ),
    "clickhouse.csv": table(
        [
            renamed(span, "TraceId", "SpanId", "Timestamp")
            | {"attributes": None, "SpanAttributes": json.dumps(span["attributes"])}
            for span in SPANS
        ]
    ),
    "pandas.csv": table([renamed(span, "TraceId", "SpanId", "Timestamp", "SpanAttributes") for span in SPANS]),
    "columns.csv": table(
        [
            {"trace_id": span["traceId"], "start_time": span["startTimeUnixNano"]}
            | {f"attributes.{key}": value for key, value in span["attributes"].items()}
            for span in SPANS
        ]
    ),
    "bare_columns.csv": table(
        [{"trace_id": span["traceId"], "timestamp": span["startTimeUnixNano"]} | span["attributes"] for span in SPANS]
    ),
    "nested.json": json.dumps(
        {
            "spans": [
                {
                    "context": {"trace_id": span["traceId"]},
                    "start_time": span["startTimeUnixNano"],
                    "attributes": nested(span["attributes"]),
                }
                for span in SPANS
            ]
        }
    ),
    "traces.json": json.dumps(
        {
            "traces": [
                {"trace_id": span["traceId"], "spans": [renamed(span, "of", "span_id", "start_time")]} for span in SPANS
            ]
        }
    ),
    "texts.jsonl": lines(
        {
            "trace_id": span["traceId"],
            "start_timestamp": span["startTimeUnixNano"],
            "attributes": json.dumps(span["attributes"]),
        }
        for span in SPANS
    ),
}


def langchain(message):
    name = {"system": "SystemMessage", "user": "HumanMessage", "assistant": "AIMessage", "tool": "ToolMessage"}
    given = {"content": message["content"] or "", "tool_calls": message.get("tool_calls", [])}
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", name[message["role"]]],
        "kwargs": given,
    }


def of_langsmith(session, messages, answer):
    said = langchain({"role": "assistant", "content": answer})
    sent = {"messages": [[langchain(message) for message in messages]]}
    got = {"generations": [[{"text": answer, "type": "ChatGeneration", "message": said}]]}
    named = {"langsmith.span.kind": "llm", "langsmith.metadata.session_id": session}
    return named | {"gen_ai.prompt": json.dumps(sent), "gen_ai.completion": json.dumps(got)}


def of_anthropic(session, messages, answer):
    def blocks(message):
        if message["role"] == "tool":
            return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "six"}]}
        if message.get("tool_calls"):
            return {"role": "assistant", "content": [{"type": "tool_use", "name": "opening_hours", "input": {}}]}
        return {"role": message["role"], "content": [{"type": "text", "text": message["content"]}]}

    sent = {"system": "You are kind.", "messages": [blocks(message) for message in messages[1:]]}
    got = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": answer}]}
    return {"conversation.id": session, "gen_ai.prompt": json.dumps(sent), "gen_ai.completion": json.dumps(got)}


def of_gemini(session, messages, answer):
    def content(message):
        if message["role"] == "tool":
            return {"role": "user", "parts": [{"functionResponse": {"name": "opening_hours", "response": {}}}]}
        if message.get("tool_calls"):
            return {"role": "model", "parts": [{"functionCall": {"name": "opening_hours"}}]}
        return {"role": "user" if message["role"] == "user" else "model", "parts": [{"text": message["content"]}]}

    sent = {"systemInstruction": {"parts": [{"text": "You are kind."}]}, "contents": [content(m) for m in messages[1:]]}
    got = {"candidates": [{"content": {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": answer}]}}]}
    return {"session.id": session, "gen_ai.prompt": json.dumps(sent), "gen_ai.completion": json.dumps(got)}


def of_responses(session, messages, answer):
    def item(message):
        if message["role"] == "tool":
            return {"type": "function_call_output", "call_id": "c", "output": "six"}
        if message.get("tool_calls"):
            return {"type": "function_call", "call_id": "c", "name": "opening_hours", "arguments": "{}"}
        return message

    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    text = {"type": "output_text", "text": answer, "annotations": []}
    sent = {"instructions": "You are kind.", "input": [item(message) for message in messages[1:]]}
    got = {"output": [thought, {"type": "message", "role": "assistant", "content": [text]}]}
    return {"session.id": session, "input.value": json.dumps(sent), "output.value": json.dumps(got)}


def of_logfire(session, messages, answer):
    got = {"combined_chunk_content": answer, "chunk_count": 3}
    return {"session_id": session, "request_data": {"messages": messages, "model": "m"}, "response_data": got}


def of_logfire_events(session, messages, answer):
    events = [
        {"event.name": f"gen_ai.{m['role']}.message", "role": m["role"], "content": m["content"]} for m in messages
    ]
    said = {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": answer}}
    return of_logfire(session, messages, answer) | {"events": [*events, said]}


def of_langfuse(session, messages, answer):
    sent, got = json.dumps(messages), json.dumps({"role": "assistant", "content": answer})
    return {"langfuse.session.id": session, "langfuse.observation.input": sent, "langfuse.observation.output": got}


def of_chain(session, messages, answer):
    sent, got = json.dumps({"question": messages[-1]["content"]}), json.dumps({"answer": answer})
    return {"openinference.span.kind": "CHAIN", "session.id": session, "input.value": sent, "output.value": got}


PROVIDERS = [of_langsmith, of_anthropic, of_gemini, of_responses, of_logfire, of_logfire_events, of_langfuse, of_chain]


@pytest.mark.parametrize("name", AROUND)
def test_spans_are_found_in_what_is_around_them(tmp_path, name):
    check(imported(tmp_path, name, AROUND[name]))


@pytest.mark.parametrize("attributes_of", PROVIDERS)
def test_messages_are_found_in_the_forms_of_providers(tmp_path, attributes_of):
    check(imported(tmp_path, "spans.jsonl", lines(reversed(spans(attributes_of)))))


def check(result):
    assert {item.dialogue_id: [turn.text for turn in item.turns] for item in result.dialogues} == SAID
    assert all({turn.speaker for turn in item.turns} == {"user", "assistant"} for item in result.dialogues)


def strands(message):
    """Return an event as AWS Strands writes it."""
    block = {"toolResult": {}} if message["role"] == "tool" else {"toolUse": {}} if message.get("tool_calls") else None
    content = json.dumps([block or {"text": message["content"]}])
    return {"name": f"gen_ai.{message['role']}.message", "attributes": {"content": content}}


def azure(message):
    """Return an event as Azure's agents write it."""
    content = json.dumps({key: value for key, value in message.items() if key != "role"})
    return {"name": f"gen_ai.{message['role']}.message", "attributes": {"gen_ai.event.content": content}}


CHOICES = {
    strands: lambda answer: {"message": json.dumps([{"text": answer}])},
    azure: lambda answer: {"gen_ai.event.content": json.dumps({"message": {"content": answer}})},
}


@pytest.mark.parametrize("event_of", CHOICES)
def test_messages_are_found_in_events(tmp_path, event_of):
    events = [
        [*map(event_of, messages), {"name": "gen_ai.choice", "attributes": CHOICES[event_of](answer)}]
        for _, messages, answer in requests()
    ]
    named = spans(lambda session, *_: {"gen_ai.thread.id": session})
    check(
        imported(
            tmp_path, "spans.jsonl", lines(span | {"events": own} for span, own in zip(named, events, strict=True))
        )
    )


def test_attributes_are_found_in_maps_of_parquet(tmp_path):
    kinds = pyarrow.map_(pyarrow.string(), pyarrow.string())
    table = {
        "TraceId": [span["traceId"] for span in SPANS],
        "Timestamp": [span["startTimeUnixNano"] for span in SPANS],
        "SpanAttributes": pyarrow.array([list(span["attributes"].items()) for span in SPANS], kinds),
    }
    parquet.write_table(pyarrow.table(table), tmp_path / "spans.parquet")
    check(read_export(tmp_path / "spans.parquet", Options()).result)


def test_log_records_hold_texts(tmp_path):
    logs = [
        {"traceId": span["traceId"], "spanId": span["spanId"], "observedTimeUnixNano": span["startTimeUnixNano"]}
        | {"attributes": pairs({"session.id": session, "event.name": name}), "body": {"stringValue": json.dumps(body)}}
        for span, (session, messages, answer) in zip(SPANS, requests(), strict=True)
        for name, body in [
            *((f"gen_ai.{message['role']}.message", {"content": message["content"]}) for message in messages),
            ("gen_ai.choice", {"message": {"content": answer}}),
        ]
    ]
    content = {"resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}]}
    check(imported(tmp_path, "logs.json", json.dumps(content)))


def test_a_prompt_around_a_question_is_not_said(tmp_path):
    def prompt(_, messages, answer):
        sent = f"Context: ...\nQuestion: {messages[-1]['content']}\nAnswer:"
        return {"openinference.span.kind": "LLM", "gen_ai.prompt": sent, "gen_ai.completion": answer}

    models = spans(prompt, parentSpanId="1", spanId="2")
    other = spans(lambda *_: {"openinference.span.kind": "RETRIEVER", "input.value": "kite"}, spanId="3")
    check(imported(tmp_path, "spans.jsonl", lines([*other, *models, *spans(of_chain)])))
