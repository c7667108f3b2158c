"""Pictures of the explorer with 1,000 dialogues of the demo corpus, on a screen and on a telephone.

.venv/bin/python docs/pictures/explorer.py --pictures docs
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

from browser import PHONE, Page, browser
from conversations.dialogue import write_dialogues
from dial2vec.collection import add
from dial2vec.data.corpora.demo import generate_demo
from dial2vec.encoder import DialogueEncoder
from explorer_page import open_explorer, read, rest, search, set_state
from scratch import ROOT, serving


def main() -> None:
    """Make the collection, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=Path, required=True, help="folder that gets the pictures")
    pictures = parser.parse_args().pictures
    with tempfile.TemporaryDirectory() as work:
        folder = demo(Path(work) / "demo")
        with serving(ROOT, "dial2vec", "explore", str(folder), "--port", "0") as address, browser() as page:
            look(page, address, pictures)


def demo(folder: Path) -> Path:
    """Make a collection of the demo corpus, with dates."""
    dialogues = [
        replace(one, date=str(date(2026, 1, 5) + timedelta(days=place % 290)))
        for place, one in enumerate(generate_demo(n_dialogues=1_000))
    ]
    source = folder.with_suffix(".jsonl")
    write_dialogues(source, dialogues)
    add(folder, source, encoder=DialogueEncoder.from_pretrained("all-MiniLM-L6-v2"))
    return folder


def look(page: Page, address: str, folder: Path) -> None:
    """Take the pictures of the documentation: the first screen, a search beside the reader, and a telephone."""
    open_explorer(page, address)
    page.picture(folder / "explorer.png")
    search(page, "my card was stolen")
    read(page)
    page.picture(folder / "explorer-read.png")
    set_state(page, "{ ...START }")
    page.look(PHONE, phone=True, dark=True)
    rest(page)
    page.picture(folder / "explorer-phone.png")


if __name__ == "__main__":
    main()
