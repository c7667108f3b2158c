"""From the wheel in an empty folder to the map in a browser, as pictures.

    .venv/bin/python benchmarks/first_look.py --pictures docs --borrow

Builds the wheel, installs it into a new environment, and calls `dial2vec look` on an export in an otherwise empty
folder. The first picture shows the terminal, the second the map in headless Chromium. The export is the demo corpus, as
a table or in the form of ChatGPT's data export. Without --borrow all libraries are installed from the package index;
with it the new environment uses those of this one.
"""

from __future__ import annotations

import argparse
import csv
import html
import json
import os
import re
import shutil
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

from browser import browser
from explorer import fresh
from explorer_page import open_explorer

from conversations.dialogue import Dialogue
from dial2vec.data.corpora.demo import write_demo
from dial2vec.data.corpora.transcripts import Transcripts
from dial2vec.files import find_root

ROOT = find_root(Path(__file__).parent)
TERMINAL = """<meta charset="utf-8"><body style="margin:0;background:#1e1e24">
<pre style="margin:0;padding:20px 24px;color:#e8e8ea;font:14px/1.42 monospace;white-space:pre-wrap">%s</pre>"""


def main() -> None:
    """Install, look, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("artifacts/first_look"), help="folder of the environment")
    parser.add_argument("--dialogues", type=int, default=2000, help="number of dialogues")
    parser.add_argument("--form", choices=FORMS, default="calls.csv", help="file to look at; default: calls.csv")
    parser.add_argument("--pictures", type=Path, required=True, help="folder that gets the pictures")
    parser.add_argument("--borrow", action="store_true", help="use the libraries of this environment")
    arguments = parser.parse_args()
    work = arguments.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    folder = work / "transcripts"
    folder.mkdir(parents=True)
    form = arguments.form
    FORMS[form](dialogues_of(work / "demo", arguments.dialogues), folder / form)
    shown = ["$ pip install dist/*.whl", f"{install(work, borrow=arguments.borrow)}\n", "$ ls", f"{form}\n"]
    began = time.monotonic()
    command = [work / "venv" / "bin" / "dial2vec", "look", form, "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=clean(), stdout=subprocess.PIPE, text=True) as process:
        shown.append(f"$ dial2vec look {form}")
        for line in process.stdout or ():
            sys.stdout.write(line)
            shown.append(line.rstrip("\n"))
            if address := re.search(r"http://\S+", line):
                break
        else:
            sys.exit("look ended without an address")
        sys.stdout.write(f"{time.monotonic() - began:.0f} s from the command to the address\n")
        try:
            name = "look" if form == "calls.csv" else "look-chatgpt"
            take(work, arguments.pictures / name, "\n".join(shown), address[0])
        finally:
            process.terminate()


def dialogues_of(corpus: Path, count: int) -> list[Dialogue]:
    """Return dialogues of the demo corpus."""
    write_demo(corpus)
    return list(islice(Transcripts().read(corpus, quarantine=[]), count))


def write_table(dialogues: list[Dialogue], path: Path) -> None:
    """Write a table with a line per turn."""
    with path.open("w", encoding="utf-8", newline="") as handle:
        table = csv.writer(handle)
        table.writerow(["conversation", "speaker", "text"])
        for dialogue in dialogues:
            table.writerows([dialogue.dialogue_id, turn.speaker, turn.text] for turn in dialogue.turns)


def write_chatgpt(dialogues: list[Dialogue], path: Path) -> None:
    """Write the form of ChatGPT's data export: the agent is the assistant, and a system message comes first."""
    path.write_text(json.dumps([_conversation(dialogue) for dialogue in dialogues]), encoding="utf-8")


def _conversation(dialogue: Dialogue) -> dict[str, Any]:
    turns = [("system", ""), *((ROLES[turn.speaker], turn.text) for turn in dialogue.turns)]
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["n0"]}}
    for at, (role, text) in enumerate(turns):
        message = {"id": f"n{at}", "author": {"role": role}, "create_time": 1709632800.0 + 60 * at}
        message["content"] = {"content_type": "text", "parts": [text]}
        below = [f"n{at + 1}"] if at + 1 < len(turns) else []
        mapping[f"n{at}"] = {"id": f"n{at}", "message": message, "parent": f"n{at - 1}" if at else "root"}
        mapping[f"n{at}"]["children"] = below
    head = {"title": dialogue.dialogue_id, "create_time": 1709632800.0, "conversation_id": dialogue.dialogue_id}
    return head | {"mapping": mapping, "current_node": f"n{len(turns) - 1}"}


ROLES = {"customer": "user", "agent": "assistant"}
FORMS = {"calls.csv": write_table, "conversations.json": write_chatgpt}


def install(work: Path, *, borrow: bool) -> str:
    """Build the wheel, install it into a new environment, and return the last line of the output."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(work / "dist"), str(ROOT))
    run(sys.executable, "-m", "venv", str(work / "venv"))
    [wheel] = (work / "dist").glob("dial2vec-*.whl")
    pip = (str(work / "venv" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check")
    output = run(*pip, "install", *(["--no-deps"] if borrow else []), str(wheel))
    if borrow:
        [site] = (work / "venv").glob("lib/*/site-packages")
        (site / "borrowed.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    return output.strip().splitlines()[-1]


def clean() -> dict[str, str]:
    """Return the environment variables without those that would lead to this checkout."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def run(*command: str) -> str:
    """Run a command to its end, and return its output."""
    return subprocess.run(command, env=clean(), stdout=subprocess.PIPE, text=True, check=True).stdout


def take(work: Path, pictures: Path, terminal: str, address: str) -> None:
    """Take a picture of the terminal, and of the first screen of the explorer.

    :param pictures: Path of the pictures without the ends of their names.
    """
    page_of_terminal = work / "terminal.html"
    page_of_terminal.write_text(TERMINAL % html.escape(terminal), encoding="utf-8")
    with browser(fresh(work / "chromium")) as page:
        page.open(page_of_terminal.as_uri())
        page.look((1000, 100))
        page.look((1000, page.until("document.querySelector('pre')?.scrollHeight")))
        page.picture(pictures.with_name(f"{pictures.name}-terminal.png"))
        page.look()
        open_explorer(page, address)
        page.picture(pictures.with_name(f"{pictures.name}-map.png"))


if __name__ == "__main__":
    main()
