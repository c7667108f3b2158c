"""Session reports of LiveKit Agents and the history in them, by livekit-agents 1.8.9."""

from __future__ import annotations

import json
from pathlib import Path

from livekit.agents import AgentSession, ConversationItemAddedEvent, UserInputTranscribedEvent
from livekit.agents.llm import ChatContext, FunctionCall, FunctionCallOutput
from livekit.agents.voice.report import SessionReport

from tests.conversations.traces import SESSIONS

FOLDER = Path(__file__).parents[1]
START = 1709632800.0


def main() -> None:
    for number, (name, exchanges) in enumerate(SESSIONS.items()):
        history, events = ChatContext.empty(), []
        history.add_message(role="system", content="You are kind.", created_at=START)
        for at, (question, answer) in enumerate(exchanges):
            time = START + 60 * at + 20 * number + 1
            for part, final in ((question[:4], False), (question, True)):
                events.append(UserInputTranscribedEvent(transcript=part, is_final=final))
            said = history.add_message(role="user", content=question, created_at=time)
            call = FunctionCall(call_id=f"c{at}", name="opening_hours", arguments="{}", created_at=time + 1)
            output = FunctionCallOutput(call_id=f"c{at}", output="six", is_error=False, created_at=time + 2)
            history.items.extend([call, output])
            answered = history.add_message(role="assistant", content=answer, created_at=time + 3)
            events += [ConversationItemAddedEvent(item=said), ConversationItemAddedEvent(item=answered)]
        options = AgentSession().options
        report = SessionReport(f"job-{number}", f"RM_{number}", name, options, events, history, timestamp=START + 600)
        for form, content in (("report", report.to_dict()), ("history", history.to_dict(exclude_timestamp=False))):
            path = FOLDER / f"livekit_{form}.folder" / f"{name}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()
