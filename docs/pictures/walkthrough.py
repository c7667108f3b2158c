"""The commands of the quick start on Self-dialogue as one CSV file, and pictures of the results.

    .venv/bin/python docs/pictures/walkthrough.py --dialogues 5000 --pictures docs

Runs every command of docs/quickstart.md after the install in a scratch project, with the corpus as a table, and
prints each with its output; then commands of other pages: a search by a question, the explanation of a dialogue. With
--pictures the pages are opened in headless Chromium. 5,000 dialogues take half an hour on two cores. A stopped run
continues with the next command.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import time
from pathlib import Path

from browser import PHONE, Page, browser
from conversations.dialogue import read_dialogues
from conversations.files import atomic_path
from dial2vec.config import Read
from dial2vec.data.corpora import get_corpus
from explorer_page import open_explorer, read, rest, search, set_state
from scratch import ROOT, make_project, say, serving, write_table

# High enough for the whole matrix of an explanation: a picture shows only what is visible.
TALL = (1280, 2400)

CORPUS = "calls"
CHAMPION = f"models:/dial2vec-{CORPUS}@champion"
QUESTION = "which quarterback is the best of all time"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Run all commands, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("artifacts/walkthrough"), help="folder of the project")
    parser.add_argument("--dialogues", type=int, help="number of dialogues, the first by id; default: all")
    parser.add_argument("--pictures", type=Path, help="folder that gets the pictures")
    arguments = parser.parse_args()
    folder = arguments.work.resolve()
    if not (folder / "calls.csv").exists():
        make_project(folder, CORPUS)
        export(folder, arguments.dialogues)
    quick_start(folder)
    say(folder, "dial2vec", "search", CORPUS, QUESTION, "-k", "3")
    one = longest(folder)
    say(folder, "dial2vec", "explain", one, "--model", CHAMPION, "--output", "explained.html")
    if arguments.pictures:
        take(folder, arguments.pictures)


def export(folder: Path, count: int | None) -> None:
    """Write the corpus as a table with a line per turn."""
    say(folder, "dial2vec", "fetch", "self_dialogue")
    corpus = get_corpus("self_dialogue", data=folder / "data", options=Read())
    dialogues = sorted(corpus.read(folder / "data" / "self_dialogue", quarantine=[]), key=lambda one: one.dialogue_id)
    with atomic_path(folder / "calls.csv") as part:
        write_table(dialogues[:count], part, labels=True)


def quick_start(folder: Path) -> None:
    """Run the commands of the page, one after the other, each once."""
    log = folder / "done.json"
    done = json.loads(log.read_text()) if log.exists() else []
    for command in commands():
        if command in done:
            continue
        began = time.monotonic()
        if command[1] == "look" or (command[1] == "explore" and "--static" not in command):
            with serving(folder, *command, "--port", "0") as address:
                sys.stdout.write(f"\n$ {shlex.join(command)}\nOpen {address}\n")
        else:
            say(folder, *command)
        sys.stdout.write(f"({time.monotonic() - began:.0f} s)\n")
        done.append(command)
        log.write_text(json.dumps(done))


def commands() -> list[list[str]]:
    """Return the commands of docs/quickstart.md after the install."""
    page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    lines = [line for block in BLOCK.findall(page) for line in block.splitlines()]
    return [shlex.split(line.removeprefix(".venv/bin/"), comments=True) for line in lines if line != "make install"]


def longest(folder: Path) -> str:
    """Write the dialogue with the most words, the first by id, into its own file, and return its name."""
    dialogues = read_dialogues(folder / CORPUS / "dialogues.jsonl")
    found = min(dialogues, key=lambda one: (-len(one.text.split()), one.dialogue_id))
    (folder / "one.json").write_text(json.dumps(found.to_record()), encoding="utf-8")
    return "one.json"


def take(folder: Path, pictures: Path) -> None:
    """Take the pictures: the report, an explanation, and the explorer, on a screen and on a telephone."""
    with browser() as page:
        shot(page, (folder / "artifacts" / CORPUS / "report.html").as_uri(), pictures / "report.png")
        shot(page, (folder / "explained.html").as_uri(), pictures / "walkthrough-explained.png")
        page.look(TALL)
        kept(page, pictures / "walkthrough-matching.png", of="figure")
        page.look()
        with serving(folder, "dial2vec", "explore", CORPUS, "--port", "0") as address:
            open_explorer(page, address)
            kept(page, pictures / "walkthrough-clusters.png")
            for place, name in ((1, "before"), (0, "after")):
                set_state(page, f"{{ map: {place} }}")
                kept(page, pictures / f"walkthrough-{name}.png", of="#stage")
            search(page, QUESTION)
            read(page)
            kept(page, pictures / "walkthrough-read.png")
            set_state(page, "{ ...START }")
            page.look(PHONE, phone=True, dark=True)
            rest(page)
            kept(page, pictures / "walkthrough-phone.png")


def shot(page: Page, address: str, path: Path) -> None:
    """Save a picture of a page."""
    page.open(address)
    kept(page, path)


def kept(page: Page, path: Path, *, of: str = "") -> None:
    """Save a picture once the page is at rest."""
    time.sleep(2)
    page.picture(path, of=of)


if __name__ == "__main__":
    main()
