"""Questions of people about two collections, answered over the Model Context Protocol by a scripted client.

    .venv/bin/python benchmarks/asked.py shared/corpora --folder asked

The collections are calls of SGD with one service and chats of Self-dialogue, by the general student. Each conversation
gets a date of 2026, a channel, a rating and a number of calls, with facts planted by its label. Each kind of question
has a fixed plan of tools, so no language model takes part. An answer is right if every dialogue, turn or number that it
cites is: turns by the annotated intent of SGD, by the label or the words of a chat, differences by the planted label.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from studies.topic_corpora import made, self_dialogue

from conversations.dialogue import Dialogue, write_dialogues

DAYS, START, MAY, APRIL, CHATS = 151, datetime(2026, 1, 1), "2026-05-01", "2026-04-10", 4_000
QUESTIONS = Path(__file__).with_suffix(".yaml")
Call = Callable[..., Awaitable[Any]]


@dataclass(frozen=True)
class Facts:
    """Labels for which something is planted: new since April, half as many in May, unhappy in May, by phone, twice."""

    new: str
    less: str
    unhappy: str
    phone: str
    twice: str


FACTS = {
    "calls": Facts(new="Homes", less="Buses", unhappy="Banks", phone="Services_3", twice="RentalCars"),
    "chats": Facts(new="star_wars", less="disney", unhappy="sport", phone="music", twice="disney"),
}


def main() -> None:
    """Ask all questions, and print a line for each and the share that is answered right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", type=Path, help="folder with the archives of sgd and self_dialogue")
    parser.add_argument("--folder", type=Path, required=True, help="folder that gets the collections; kept")
    arguments = parser.parse_args()
    calls, intents = sgd_calls(arguments.corpora)
    chats = random.Random(1).sample(self_dialogue(arguments.corpora), CHATS)
    told = {"calls": planted(calls, FACTS["calls"]), "chats": planted(chats, FACTS["chats"])}
    for name, dialogues in told.items():
        collect(arguments.folder, name, dialogues)
    folders = [str(arguments.folder / name) for name in told]
    right = asyncio.run(ask(folders, told, intents))
    kinds = Counter(kind for _, kind, _ in right)
    counts = [f"{kind} {sum(ok for at, ok in right.items() if at[1] == kind)} of {n}" for kind, n in kinds.items()]
    total = f"{sum(right.values())} of {len(right)} questions are answered with right citations"
    sys.stdout.write(f"\n{total}: {', '.join(counts)}\n")


def sgd_calls(folder: Path) -> tuple[list[Dialogue], dict[tuple[str, int], str]]:
    """Return the calls of the training part with one service, and the active intent at each turn."""
    calls, intents = list[Dialogue](), dict[tuple[str, int], str]()
    with zipfile.ZipFile(next((folder / "sgd").glob("*.zip"))) as archive:
        for name in sorted(name for name in archive.namelist() if "/train/dialogues" in name):
            for record in json.loads(archive.read(name)):
                if len(set(record["services"])) == 1:
                    turns = [(turn["speaker"], turn["utterance"]) for turn in record["turns"]]
                    service = record["services"][0]
                    calls.append(made(record["dialogue_id"], turns, service.split("_")[0], service))
                    active = ""
                    for number, turn in enumerate(record["turns"]):
                        active = turn["frames"][0].get("state", {}).get("active_intent", active)
                        intents[record["dialogue_id"], number] = active
    return calls, intents


def planted(dialogues: list[Dialogue], facts: Facts) -> list[Dialogue]:
    """Return dialogues with dates and metadata, and the facts; some are left out."""
    draw, kept = random.Random(7), list[Dialogue]()
    for dialogue in dialogues:
        labels, date = set(dialogue.labels), START + timedelta(days=draw.randrange(DAYS), hours=draw.randrange(8, 20))
        day = f"{date:%Y-%m-%d}"
        if (facts.new in labels and day < APRIL) or (facts.less in labels and day >= MAY and draw.random() < 0.5):
            continue
        unhappy = facts.unhappy in labels and day >= MAY
        metadata = {
            "csat": min(5, max(1, round(draw.gauss(2.2 if unhappy else 4, 1)))),
            "channel": "phone" if draw.random() < (0.6 if facts.phone in labels else 0.25) else "chat",
            "calls": 1 + (draw.random() < (0.45 if facts.twice in labels else 0.1)),
        }
        kept.append(replace(dialogue, date=date.isoformat(), metadata=metadata))
    return kept


def collect(folder: Path, name: str, dialogues: list[Dialogue]) -> None:
    """Make a collection without labels, unless it is there."""
    if (folder / name / "clusters" / "clusters.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"{name}.jsonl"
    write_dialogues(source, [replace(dialogue, labels=()) for dialogue in dialogues])
    program = Path(sys.executable).with_name("dial2vec")
    page = ["--static", str(folder / f"{name}.html")]
    subprocess.run(
        [program, "look", source, "--model", "general", "--output", folder / name, *page],
        check=True,
        stdout=subprocess.DEVNULL,
    )


async def ask(
    folders: list[str], told: dict[str, list[Dialogue]], intents: dict[tuple[str, int], str]
) -> dict[tuple[str, str, str], bool]:
    """Return whether each question, by collection, kind and words, is answered right."""
    program = str(Path(sys.executable).with_name("dial2vec"))
    right = dict[tuple[str, str, str], bool]()
    async with Client(stdio_client(StdioServerParameters(command=program, args=["mcp", *folders]))) as client:
        for name, questions in yaml.safe_load(QUESTIONS.read_text(encoding="utf-8")).items():
            known = {dialogue.dialogue_id: dialogue for dialogue in told[name]}

            async def call(tool: str, collection: str = name, **options: Any) -> Any:
                answer = await client.call_tool(tool, {"collection": collection, **options})
                if answer.is_error:
                    raise ValueError(answer.content[0].text)
                return answer.structured_content

            for asked in questions:
                kind, question, words, cites = (asked.get(key, "") for key in ("kind", "question", "words", "cites"))
                needed = getattr(FACTS[name], cites, cites)
                cited = await PLANS[kind](call, words, known)
                ok = bool(cited) and all(fits(known, intents, needed, words, *place) for place in cited)
                right[name, kind, question] = ok
                sys.stdout.write(f"{'right' if ok else 'WRONG'}  {name}  {question}  {cited[:3]}\n")
    return right


def fits(
    known: dict[str, Dialogue], intents: dict[tuple[str, int], str], needed: str, words: str, cited: str, turn: int
) -> bool:
    """Return whether a cited turn, or dialogue if the turn is -1, shows what is needed; "" as id is a failed claim."""
    if cited not in known:
        return cited == "true"
    dialogue = known[cited]
    needs = needed or words
    text = dialogue.turns[turn].text.lower() if turn >= 0 else ""
    return any(
        (part[0] == "/" and re.search(part.strip("/"), text))
        or part in dialogue.labels
        or (turn >= 0 and intents.get((cited, turn)) == part)
        for part in ([needs] if needs[0] == "/" else needs.split("|", 1))
    )


async def examples(call: Call, words: str, _: dict[str, Dialogue]) -> list[tuple[str, int]]:
    """Search, read the three best, and cite the turn of each that answers best."""
    cited = []
    for hit in (await call("search", query=words, k=3))["hits"]:
        read = await call("read", dialogue_id=hit["dialogue_id"], query=words)
        assert any(turn["relevant"] for turn in read["turns"]) or read["next_turn"]
        cited.append((hit["dialogue_id"], hit["turns"][0]["turn"]))
    return cited


async def nothing(call: Call, words: str, _: dict[str, Dialogue]) -> list[tuple[str, int]]:
    """Search, and claim that nothing is close."""
    return [("" if (await call("search", query=words))["close"] else "true", -1)]


async def differs(call: Call, change: tuple[str, ...], what: str, **options: Any) -> list[tuple[str, int]]:
    """Compare, and cite the dialogues of the clearest difference of this kind."""
    rows = [
        row
        for row in (await call("compare", **options))["differences"]
        if row["change"] in change and row["topic"] is not None and what in row["what"]
    ]
    best = min(rows, key=lambda row: row["p"], default=None)
    return [(id, -1) for id in best["dialogue_ids"]] if best else []


async def worse(call: Call, key: str, _: dict[str, Dialogue]) -> list[tuple[str, int]]:
    """Compare May with before, and cite the topic whose mean fell most clearly."""
    return await differs(call, ("fell",), key, after=MAY)


async def new(call: Call, since: str, _: dict[str, Dialogue]) -> list[tuple[str, int]]:
    """Compare the time since with before, and cite the topic that is new or grew."""
    return await differs(call, ("new", "grew"), "share", after=since)


async def less(call: Call, since: str, _: dict[str, Dialogue]) -> list[tuple[str, int]]:
    """Compare the time since with before, and cite the topic that shrank."""
    return await differs(call, ("shrank", "gone"), "share", after=since)


async def who(call: Call, condition: str, _: dict[str, Dialogue]) -> list[tuple[str, int]]:
    """Compare those who meet a condition with all others, and cite the topic that is more frequent."""
    return await differs(call, ("new", "grew"), "share", condition=[condition])


async def count(call: Call, condition: str, known: dict[str, Dialogue]) -> list[tuple[str, int]]:
    """Count dialogues that meet a condition, and compare with the truth."""
    truth = sum(dialogue.metadata["csat"] <= 2 for dialogue in known.values())
    return [("true" if (await call("topics", where=[condition]))["dialogues"] == truth else "", -1)]


async def similar(call: Call, label: str, known: dict[str, Dialogue]) -> list[tuple[str, int]]:
    """Find what is like the first dialogue with a label."""
    like = next(name for name, dialogue in known.items() if label in dialogue.labels)
    return [(hit["dialogue_id"], -1) for hit in (await call("similar", dialogue_id=like, k=3))["hits"]]


PLANS = {
    **{"examples": examples, "nothing": nothing, "worse": worse, "new": new, "less": less},
    **{"who": who, "count": count, "similar": similar},
}


if __name__ == "__main__":
    main()
