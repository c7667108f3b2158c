"""What spans inside others, chains, sessions and answers in other shapes add to a dialogue."""

from __future__ import annotations

import json

import pytest

from conversations.values.messages import exchange
from tests.conversations.exports import imported, turns_of

SAID = ["user: Rain?", "assistant: No.", "user: Snow?", "assistant: Yes."]


def observation(number, kind, asked, answered, *, trace="t", parent=None):
    return {
        "id": f"o{number}", "traceId": trace, "sessionId": "s", "type": kind, "parentObservationId": parent,
        "startTime": f"2026-03-05T10:00:{number:02}Z", "level": "DEFAULT", "input": asked, "output": answered,
    }  # fmt: skip


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def test_the_prompts_and_tools_inside_a_question_and_its_answer_are_not_said(tmp_path):
    records = []
    for number, (question, answer) in enumerate((("Rain?", "No."), ("Snow?", "Yes."))):
        at, trace = 10 * number, f"t{number}"
        records += [
            observation(at, "CHAIN", {"query": question}, {"answer": answer, "sources": []}, trace=trace),
            observation(at + 1, "SPAN", {"place": "Ulm"}, "the weather", trace=trace, parent=f"o{at}"),
            observation(at + 2, "GENERATION", f"Weather. {question}", answer, trace=trace, parent=f"o{at}"),
        ]
    assert turns_of(imported(tmp_path, "rag.jsonl", lines(*records))) == {"s": SAID}


def test_a_span_around_a_whole_dialogue_adds_nothing(tmp_path):
    records = [
        observation(1, "GENERATION", [{"role": "user", "content": "Rain?"}], "No.", parent="o9"),
        observation(2, "GENERATION", [{"role": "user", "content": "Snow?"}], "Yes.", parent="o9"),
        observation(0, "SPAN", "Rain?", "Yes."),
    ]
    assert turns_of(imported(tmp_path, "call.jsonl", lines(*records))) == {"s": SAID}


def test_the_session_of_a_root_holds_for_the_spans_in_it(tmp_path):
    shared = {"trace_id": "a", "start_time": "2026-03-05T10:00:00", "session_id": "project"}
    asked = {"messages": [{"role": "user", "content": "Rain?"}, {"role": "assistant", "content": "No."}]}
    asked["messages"].append({"role": "user", "content": "Snow?"})
    runs = [
        shared | {"id": "b", "run_type": "llm", "parent_run_id": "a", "inputs": asked, "outputs": {"output": "Yes."}},
        shared | {"id": "a", "run_type": "chain", "inputs": {"q": "Snow?"}, "outputs": {"a": "Yes."},
                  "extra": {"metadata": {"conversation_id": "s"}}},
    ]  # fmt: skip
    assert turns_of(imported(tmp_path, "runs.jsonl", lines(*runs))) == {"s": SAID}


@pytest.mark.parametrize("first", ["r1", "gone"])
def test_responses_that_follow_each_other_are_one_dialogue(tmp_path, first):
    def response(number, before, asked, answered):
        text = {"type": "output_text", "text": answered}
        return {
            "id": f"r{number}", "object": "response", "created_at": 1772704800 + number, "previous_response_id": before,
            "input": asked,
            "output": [{"type": "reasoning"}, {"type": "message", "role": "assistant", "content": [text]}],
        }  # fmt: skip

    newest = [response(3, None, "Hi", "Hello"), response(2, "r1", "Snow?", "Yes.")]
    oldest = response(1, None if first == "r1" else first, [{"role": "user", "content": "Rain?"}], "No.")
    content = json.dumps({"object": "list", "data": [*newest, oldest]})
    assert turns_of(imported(tmp_path, "list.json", content)) == {"r3": ["user: Hi", "assistant: Hello"], first: SAID}


def lc(kind, text):
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", kind],
        "kwargs": {"content": text},
    }


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ({"args": ["Rain?"], "kwargs": {}}, "No."),
        ('"Rain?"', '{"answer": "No."}'),
        ({"whatever": "Rain?"}, [{"message": {"role": "assistant", "content": "No."}, "finish_reason": "stop"}]),
        ({"messages": [[lc("HumanMessage", "Rain?")]]}, {"generations": [[{"message": lc("AIMessage", "No.")}]]}),
        ([{"type": "human", "content": "Rain?"}], {"messages": [lc("HumanMessage", "Rain?"), lc("AIMessage", "No.")]}),
        ({"contents": [{"role": "user", "parts": [{"text": "Rain?"}]}]},
         {"candidates": [{"content": {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "No."}]}}]}),
        ([{"role": "user", "content": [{"text": "Rain?"}]}],
         {"output": {"message": {"role": "assistant", "content": [{"text": "No."}]}}, "stopReason": "end_turn"}),
        ("Rain?", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "No."}]),
    ],
)  # fmt: skip
def test_a_request_and_its_answer_are_found_in_any_shape(asked, answered):
    messages = [item for item in exchange(asked, answered, "assistant") if not item["kind"]]
    assert [(item["role"], item["text"]) for item in messages] == [("user", "Rain?"), ("assistant", "No.")]


def test_a_text_among_messages_is_counted(tmp_path):
    messages = ["[cut]", {"role": "user", "content": "Rain?"}, {"role": "assistant", "content": "No."}]
    result = imported(tmp_path, "chat.json", json.dumps([{"id": "c", "messages": messages}]))
    assert turns_of(result) == {"c": SAID[:2]}
    assert dict(result.left_out) == {"no speaker": 1}
