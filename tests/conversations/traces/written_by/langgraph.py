"""LangGraph 1.2.24 and its checkpoints in SQLite 3.1.2: the database, the history of states, and a thread's state."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.conversations.traces import SESSIONS
from tests.conversations.traces.written_by.session_requests import FOLDER, requests, write


def answering(state: dict[str, Any]) -> dict[str, Any]:
    """Call a tool, think, and answer."""
    question = state["messages"][-1].content
    answer = next(pair[1] for session in SESSIONS.values() for pair in session if pair[0] == question)
    call = {"name": "opening_hours", "args": {}, "id": "c", "type": "tool_call"}
    thought = {"type": "reasoning", "reasoning": "hm"}
    return {
        "messages": [
            AIMessage("", tool_calls=[call]),
            ToolMessage("six", tool_call_id="c"),
            AIMessage([thought, {"type": "text", "text": answer}]),
        ]
    }


async def main() -> None:
    """Run the requests, and write what is stored."""
    path = FOLDER / "langgraph_checkpoints.sqlite"
    path.unlink(missing_ok=True)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = StateGraph(MessagesState)
        graph.add_node("answering", answering)
        graph.add_edge(START, "answering")
        app = graph.compile(checkpointer=saver)
        for request in requests():
            system = [] if request.before else [SystemMessage("You are kind.")]
            asked = {"messages": [*system, {"role": "user", "content": request.question}]}
            app.invoke(asked, {"configurable": {"thread_id": request.session}})
        threads = [{"configurable": {"thread_id": name}} for name in SESSIONS]
        history = [state for thread in threads for state in app.get_state_history(thread)]
        write("langgraph_history.json", [
            {
                "values": {"messages": [message.model_dump() for message in state.values.get("messages", ())]},
                "next": state.next, "config": state.config, "metadata": state.metadata, "created_at": state.created_at,
            }
            for state in history
        ])  # fmt: skip
        write(
            "langgraph_checkpoints.jsonl",
            [
                {"config": item.config, "checkpoint": dumpd(item.checkpoint), "metadata": item.metadata}
                for thread in threads
                for item in saver.list(thread)
            ],
        )
        states = {thread["configurable"]["thread_id"]: app.get_state(thread) for thread in threads}
        write("langgraph_threads.json", [
            {
                "thread_id": name, "created_at": state.created_at, "updated_at": state.created_at, "metadata": {},
                "status": "idle", "config": {}, "interrupts": {},
                "values": {"messages": [message.model_dump() for message in state.values["messages"]]},
            }
            for name, state in states.items()
        ])  # fmt: skip


if __name__ == "__main__":
    asyncio.run(main())
