"""The picture of `docs/agents.md`: three questions with the tools that answer them, by the protocol's client.

    .venv/bin/python docs/pictures/asking.py --pictures docs

The help desk is that of `tests/collection/planted.py`. Answers are shortened to what a reader needs.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.collection.planted import planted

from browser import browser
from conversations.dialogue import write_dialogues
from terminal import take_terminal

PROGRAM = str(Path(sys.executable).with_name("dial2vec"))


def difference(row: dict[str, Any]) -> str:
    """Return a difference as a line."""
    number = "{:.0%}" if row["what"].startswith("share") else "{:.1f}"
    before, after, low, high = (number.format(row[key]) for key in ("before", "after", "low", "high"))
    ids = ", ".join(row["dialogue_ids"])
    return f"  {row['name']}: {row['what']} {before} -> {after} ({row['change']}, {low} to {high}); see {ids}"


async def transcript(folder: Path) -> str:
    """Ask three questions."""
    async with Client(stdio_client(StdioServerParameters(command=PROGRAM, args=["mcp", str(folder)]))) as client:

        async def call(tool: str, **options: Any) -> Any:
            given = ", ".join(f"{name}={value!r}" for name, value in options.items())
            lines.append(f"  {tool}({given})")
            return (await client.call_tool(tool, options)).structured_content

        lines = ["What is new since April?"]
        lines += [difference(row) for row in (await call("compare", after="2026-04-01"))["differences"]]
        lines.append("\nThree conversations in which a card was stolen?")
        for hit in (await call("search", query="my card was stolen", k=3))["hits"]:
            best = hit["turns"][0]
            lines.append(f"  {hit['dialogue_id']}, turn {best['turn']}, {best['speaker']}: {best['text']}")
        lines.append("\nDoes anybody ask about mortgages?")
        answer = await call("search", query="what interest do I pay for a mortgage")
        lines.append(f"  close: {str(answer['close']).lower()}. {answer['note']}")
    return "\n".join(lines)


def main() -> None:
    """Take the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=Path, required=True, help="folder that gets the picture")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, browser() as page:
        source, folder = Path(name) / "calls.jsonl", Path(name) / "calls"
        write_dialogues(source, [replace(dialogue, labels=()) for dialogue in planted()])
        command = [PROGRAM, "look", source, "--output", folder, "--static", Path(name) / "calls.html"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        take_terminal(page, asyncio.run(transcript(folder)), arguments.pictures / "agents-terminal.png")


if __name__ == "__main__":
    main()
