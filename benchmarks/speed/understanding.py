"""Conversations to groups and answers: seconds and memory of each command of a collection, by a student.

    .venv/bin/dial2vec run            # with corpora: [sgd] in params.yaml
    .venv/bin/python benchmarks/speed/understanding.py --corpus sgd --sizes 10000 100000 1000000
    .venv/bin/python benchmarks/speed/understanding.py --made-up --only groups compare report

The dialogues are those of a corpus in turn, each copy with its own id and some other words (`million.py`). The
questions are turns of them in other words, put to one process by standard input; the seconds of one are those of the
whole run with all of them, less those of a run with one, divided by the rest. "exact" compares the question with every
vector; recall is the share of its ten first hits that the search finds without. `--made-up` takes a collection with
groups from `synthetic.py`, which is made in minutes, not in an hour, and has no turns to search.

Memory is the largest of all processes of a command, alone and with the pages of files that they map, which the system
takes back when it needs them. A million dialogues take 20 GB of disk; in a folder named by `--folder` they stay, so
that `--only` measures one command again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from conversations.dialogue import read_dialogues
from conversations.files import atomic_path
from dial2vec.files import find_root
from million import Run, measured, varied
from synthetic import made_up_collection

SIZES = [10_000, 100_000, 1_000_000]
FIRST_DAY, DAYS, MIDDLE = date(2025, 1, 1), 365, "2025-07-01"
WISHES = ("--is", "booking: someone wants to book", "--is", "trouble: something does not work")
QUESTIONS, HITS = 21, 10
COMMANDS = {
    "index": ["index", "{transcripts}", "--model", "{model}", "--output", "{folder}"],
    "search, themes": ["search", "{folder}", "--themes", "--json"],
    "search, moments": ["search", "{folder}", "--moments", "--json"],
    "search, moments, exact": ["search", "{folder}", "--moments", "--exact", "--json"],
    "search, auto": ["search", "{folder}", "--json"],
    "cluster": ["cluster", "{folder}", "--json"],
    "segments": ["segments", "{folder}", "--json"],
    "groups": ["groups", "{folder}", "--json"],
    "groups, by week": ["groups", "{folder}", "--over", "week", "--json"],
    "compare": ["compare", "{folder}", "--before", MIDDLE, "--json"],
    "lens": ["lens", "{folder}", "--name", "wish", *WISHES, "--json"],
    "report": ["report", "{folder}", "--output", "{place}/report.html"],
    "explore, its map and page": ["explore", "{folder}", "--static", "{place}/map.html"],
    "drift": ["drift", "{transcripts}", "--corpus", "{name}", "--model", "{model}", "--json"],
}
HEADER = "| dialogues | command | seconds | CPU, s | a question, s | recall at 10 | own memory, MiB | with files |\n"
RULE = "|---|---|---|---|---|---|---|---|\n"


def main() -> None:
    """Measure every size, the smallest first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of dialogues")
    parser.add_argument("--corpus", default="demo", help="corpus that was trained with its student")
    parser.add_argument("--artifacts", type=Path, default=find_root() / "artifacts")
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS), help="commands to measure")
    parser.add_argument("--made-up", action="store_true", help="take a made-up collection with groups")
    parser.add_argument("--folder", type=Path, help="folder in which the files stay; default: a temporary one")
    arguments = parser.parse_args()
    sys.stdout.write(HEADER + RULE)
    for size in sorted(arguments.sizes):
        with tempfile.TemporaryDirectory() as temporary:
            place = (arguments.folder or Path(temporary)) / str(size)
            place.mkdir(parents=True, exist_ok=True)
            if arguments.made_up and not (place / "calls").exists():
                made_up_collection(place / "calls", size)
            for line in rows_of_size(place, arguments.artifacts / arguments.corpus, size, arguments.only):
                sys.stdout.write(line)
                sys.stdout.flush()


def rows_of_size(place: Path, corpus: Path, size: int, commands: list[str]) -> Iterator[str]:
    """Yield a row of the table for each command."""
    transcripts, folder = place / "dialogues.jsonl", place / "calls"
    if not transcripts.exists() and any("{transcripts}" in COMMANDS[name] for name in commands):
        with atomic_path(transcripts) as path, path.open("w", encoding="utf-8") as out:
            out.writelines(map(dated, varied(corpus / "dialogues.jsonl", size), range(size)))
    named = {
        "transcripts": transcripts,
        "model": corpus / "student",
        "folder": folder,
        "place": place,
        "name": corpus.name,
    }
    found: dict[str, list[set[str]]] = {}
    for name in commands:
        command = [sys.executable, "-m", "dial2vec.cli", *(part.format(**named) for part in COMMANDS[name])]
        if not name.startswith("search"):
            yield row(size, name, measured(command))
            continue
        one, _ = answered(command, questions(corpus, 1), place)
        many, found[name] = answered(command, questions(corpus, QUESTIONS), place)
        approximate = name.removesuffix(", exact")
        recall = recalled(found[approximate], found[name]) if approximate in found and name != approximate else ""
        yield row(size, name, many, f"{(many.seconds - one.seconds) / (QUESTIONS - 1):.2f}", recall)


def dated(line: str, number: int) -> str:
    """Return a dialogue with a day of 2025, and a channel and an agent in its metadata."""
    record = json.loads(line)
    record["date"] = str(FIRST_DAY + timedelta(days=number % DAYS))
    record["metadata"] = {"channel": ("phone", "chat", "mail")[number % 3], "agent": number % 40}
    return json.dumps(record, ensure_ascii=False) + "\n"


def questions(corpus: Path, count: int) -> list[str]:
    """Return turns of the corpus without every fourth word."""
    turns = [turn.text.split() for dialogue in read_dialogues(corpus / "dialogues.jsonl") for turn in dialogue.turns]
    long = [turn for turn in turns if len(turn) >= 8]
    picked = long[:: max(1, len(long) // count)][:count]
    return [" ".join(word for place, word in enumerate(turn) if place % 4) for turn in picked]


def answered(command: list[str], texts: list[str], place: Path) -> tuple[Run, list[set[str]]]:
    """Put questions to a command by standard input, and return what it cost and the ids of the hits of each."""
    asked, answers = place / "questions.txt", place / "answers.jsonl"
    asked.write_text("\n".join(texts) + "\n", encoding="utf-8")
    script = 'asked=$1; answers=$2; shift 2; exec "$@" < "$asked" > "$answers"'
    run = measured(["sh", "-c", script, "sh", str(asked), str(answers), *command])
    ids = [json.loads(line)["dialogue_id"] for line in answers.read_text(encoding="utf-8").splitlines()]
    return run, [set(ids[first : first + HITS]) for first in range(0, len(ids), HITS)]


def recalled(some: list[set[str]], every: list[set[str]]) -> str:
    """Return the mean share of the exact hits that were found."""
    return f"{sum(len(a & b) / len(b) for a, b in zip(some, every, strict=True)) / len(every):.3f}"


def row(size: int, name: str, run: Run, question: str = "", recall: str = "") -> str:
    """Return a Markdown row."""
    memory = (f"{amount / 2**20:,.0f}" for amount in (run.own, run.memory))
    cells = (f"{size:,}", name, f"{run.seconds:.1f}", f"{run.cpu:.0f}", question, recall, *memory)
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    main()
