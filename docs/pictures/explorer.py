"""Pictures of the explorer with a made-up help desk of 1,000 dialogues, on a screen and on a telephone.

.venv/bin/python docs/pictures/explorer.py --pictures docs
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import PHONE, Page, browser
from dial2vec.collection.adding import add
from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.encoder.loading import load_encoder
from explorer_page import open_explorer, read, rest, search, set_state
from scratch import ROOT, serving

# Wide enough for the band of changes.
SCREEN = (1440, 900)


def main() -> None:
    """Make the collection, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=Path, required=True, help="folder that gets the pictures")
    pictures = parser.parse_args().pictures
    with tempfile.TemporaryDirectory() as work:
        folder = help_desk(Path(work) / "help_desk")
        with serving(ROOT, "dial2vec", "explore", str(folder), "--port", "0") as address, browser() as page:
            look(page, address, pictures)


def help_desk(folder: Path) -> Path:
    """Make the collection of the help desk in which three changes are planted."""
    source = folder.with_suffix(".jsonl")
    subprocess.run([sys.executable, "-m", "tests.collection.planted", str(source)], cwd=ROOT, check=True)
    add(folder, source, encoder=load_encoder("general"))
    cluster(CollectionFolder(folder))
    return folder


def look(page: Page, address: str, folder: Path) -> None:
    """Take the pictures of the documentation: the first screen, a search beside the reader, and a telephone."""
    page.look(SCREEN)
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
