"""From an export to a map, as a user goes: Self-dialogue as one CSV file, and pictures of what comes out.

    .venv/bin/python benchmarks/walkthrough.py --pictures docs

In a scratch project the corpus is written as a table of turns, imported, trained, promoted, indexed with the champion,
clustered, explained and explored beside the encoder that training started from. Every command is printed with what it
says. With --pictures the pages are opened in headless Chromium. An hour on two cores; with --dialogues 1000, a quarter
of one.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from itertools import islice
from pathlib import Path

from browser import PHONE, Page, browser
from scratch import make_project, say, serving

from dial2vec.config import Read
from dial2vec.corpora import get_corpus
from dial2vec.dialogue import read_dialogues
from explorer import fresh

CORPUS, START = "talks", "all-MiniLM-L6-v2"
CHAMPION = f"models:/dial2vec-{CORPUS}@champion"
READY = "document.querySelector('.opening')?.textContent"


def main() -> None:
    """Go all the way, and look back."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--work", type=Path, default=Path("artifacts/walkthrough"), help="folder of the scratch project"
    )
    parser.add_argument("--dialogues", type=int, help="so many of the corpus, from its beginning by id; default: all")
    parser.add_argument("--pictures", type=Path, help="folder that gets the pictures")
    arguments = parser.parse_args()
    folder = arguments.work.resolve()
    if not (folder / CORPUS / "clusters").exists():
        make_project(folder, CORPUS)
        export(folder, arguments.dialogues)
        from_export_to_clusters(folder)
    say(folder, "dial2vec", "cluster", CORPUS)
    say(folder, "dial2vec", "search", CORPUS, "which quarterback is the best of all time", "-k", "3")
    one = longest(folder)
    say(folder, "dial2vec", "explain", one, "--model", CHAMPION, "--output", "explained.html", "--png", "explained.png")
    if arguments.pictures:
        take(folder, arguments.pictures)


def export(folder: Path, count: int | None) -> None:
    """Write the corpus as people have theirs: a table with a line per turn."""
    say(folder, "dial2vec", "fetch", "self_dialogue")
    corpus = get_corpus("self_dialogue", data=folder / "data", options=Read())
    dialogues = sorted(corpus.read(folder / "data" / "self_dialogue", quarantine=[]), key=lambda one: one.dialogue_id)
    with (folder / "talks.csv").open("w", encoding="utf-8", newline="") as handle:
        table = csv.writer(handle)
        table.writerow(["conversation", "topic", "speaker", "text"])
        for dialogue in islice(dialogues, count):
            table.writerows([dialogue.dialogue_id, dialogue.label, one.speaker, one.text] for one in dialogue.turns)


def from_export_to_clusters(folder: Path) -> None:
    """Import, train, promote, index."""
    say(folder, "dial2vec", "import", "talks.csv", "--name", CORPUS, "--label", "topic", "--dry-run")
    say(folder, "dial2vec", "import", "talks.csv", "--name", CORPUS, "--label", "topic")
    began = time.monotonic()
    say(folder, "dial2vec", "run")
    sys.stdout.write(f"({(time.monotonic() - began) / 60:.0f} min)\n")
    say(folder, "dial2vec", "promote", CORPUS)
    say(folder, "dial2vec", "index", f"data/{CORPUS}", "--model", CHAMPION, "--output", CORPUS)


def longest(folder: Path) -> str:
    """Write the dialogue of most turns, the first of them by id, into a file of its own and return its name."""
    dialogues = read_dialogues(folder / CORPUS / "dialogues.jsonl")
    found = min(dialogues, key=lambda one: (-len(one.turns), one.dialogue_id))
    (folder / "one.json").write_text(json.dumps(found.to_record()), encoding="utf-8")
    return "one.json"


def take(folder: Path, pictures: Path) -> None:
    """Take the pictures: the report, an explanation, and the explorer, on a screen and on a telephone."""
    command = ("dial2vec", "explore", CORPUS, "--port", "0", "--start", START)
    with browser(fresh(folder / "chromium")) as page:
        shot(page, (folder / "artifacts" / CORPUS / "report.html").as_uri(), pictures / "walkthrough-report.png")
        shot(page, (folder / "explained.html").as_uri(), pictures / "walkthrough-explained.png")
        with serving(folder, *command) as address:
            page.open(address)
            page.until(READY, seconds=300)
            by = "const by = document.getElementById('colour-by'); by.value = [...by.options].find((one) =>"
            page.value(f"{{ {by} one.text === 'cluster').value; by.dispatchEvent(new Event('change')); }}")
            kept(page, pictures / "walkthrough-clusters.png")
            page.click("input[value=meaning]")
            page.click("#words")
            page.write("which quarterback is the best of all time")
            page.key("Enter")
            page.until("document.getElementById('says').textContent.includes('closest in meaning')", seconds=120)
            page.click("#list li:nth-child(1)")
            page.until("!document.getElementById('reader').hidden")
            kept(page, pictures / "walkthrough-read.png")
            page.key("Escape")
            page.key("Escape")
            page.click("#encoders label:nth-of-type(2) input")
            kept(page, pictures / "walkthrough-start.png")
            page.look(PHONE, phone=True, dark=True)
            kept(page, pictures / "walkthrough-phone.png")


def shot(page: Page, address: str, path: Path) -> None:
    """Keep what is seen of a page."""
    page.open(address)
    kept(page, path)


def kept(page: Page, path: Path) -> None:
    """Keep what is seen once it has come to rest."""
    time.sleep(2)
    page.picture(path)


if __name__ == "__main__":
    main()
