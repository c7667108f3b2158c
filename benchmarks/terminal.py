"""Pictures of commands on the terminal, for the pages that describe them.

    .venv/bin/python benchmarks/changes.py       # makes the collection
    .venv/bin/python benchmarks/terminal.py artifacts/changes/calls --pictures docs

The commands run in a temporary folder, on a copy of the collection and on an export of its dialogues.
"""

from __future__ import annotations

import argparse
import html
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

from browser import Page, browser
from first_look import TERMINAL, write_table

from dial2vec.collection.collection_folder import CollectionFolder

# Columns of the terminal, lines of a picture, and its width in pixels.
COLUMNS, LINES, WIDTH = 104, 26, 960
# Dialogues of the export.
EXPORTED = 500
# Commands by the page that shows them; a picture is named after its page.
COMMANDS = {
    "import": "dial2vec import export.csv --output export.jsonl",
    "clusters": "dial2vec cluster calls",
    "changes": "dial2vec compare calls --before 2026-05-01",
}


def main() -> None:
    """Run the commands, and take their pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the collection")
    parser.add_argument("--pictures", type=Path, required=True, help="folder that gets the pictures")
    parser.add_argument("--only", choices=COMMANDS, help="take only the picture of this page")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, browser(Path(name) / "profile") as page:
        work = Path(name).resolve()
        shutil.copytree(arguments.folder, work / "calls")
        write_table(list(islice(CollectionFolder(work / "calls").dialogues(), EXPORTED)), work / "export.csv")
        for title in [arguments.only] if arguments.only else COMMANDS:
            shown = f"$ {COMMANDS[title]}\n{output_of(COMMANDS[title], work)}"
            take(page, shown, work / "terminal.html", arguments.pictures / f"{title}-terminal.png")


def output_of(command: str, work: Path) -> str:
    """Return what a command prints; of a long text the first lines."""
    program = [sys.executable, "-m", "dial2vec.cli", *shlex.split(command)[1:]]
    environment = os.environ | {"COLUMNS": str(COLUMNS)}
    done = subprocess.run(program, cwd=work, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    lines = done.stdout.rstrip("\n").split("\n")
    return "\n".join(lines if len(lines) <= LINES else [*lines[: LINES - 1], "..."])


def take(page: Page, text: str, file: Path, picture: Path) -> None:
    """Take a picture of a text on a terminal."""
    file.write_text(TERMINAL % html.escape(text), encoding="utf-8")
    page.open(file.as_uri())
    page.look((WIDTH, 100))
    page.look((WIDTH, page.until("document.querySelector('pre')?.scrollHeight")))
    page.picture(picture)


if __name__ == "__main__":
    main()
