"""The picture of a map by lenses, docs/lenses-map-of.png: 2,000 dialogues of SGD and three lenses of 500 examples.

    PYTHONPATH=benchmarks .venv/bin/python docs/pictures/lens_map.py sgd.zip --pictures docs

Its dialogues and their marks are those of benchmarks/lenses.py.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from lenses import read

from browser import browser
from conversations.dialogue import write_dialogues
from dial2vec.collection.lenses.examples import write_examples
from page_pictures import dial2vec, keep

EXAMPLES, LENSES = 500, ("failed", "changed", "tried")


def main() -> None:
    """Index, learn, look, and take the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path, help="SGD's archive")
    parser.add_argument("--pictures", type=Path, required=True, help="folder that gets the picture")
    arguments = parser.parse_args()
    parts = read(arguments.archive)
    pool = list(zip(parts["pool"].dialogues, parts["pool"].marks, strict=True))[:EXAMPLES]
    with tempfile.TemporaryDirectory() as name, browser() as page:
        work = Path(name).resolve()
        write_dialogues(work / "calls.jsonl", [*(one for one, _ in pool), *parts["unseen"].dialogues])
        dial2vec(work, "index", "calls.jsonl", "--output", "calls", "--model", "general")
        for lens in LENSES:
            known = {one.dialogue_id: lens if marks[lens] else "none" for one, marks in pool}
            write_examples(work / f"{lens}.csv", known)
            dial2vec(work, "lens", "calls", "--name", lens, "--examples", f"{lens}.csv")
        of = [word for lens in LENSES for word in ("--lens", lens)]
        dial2vec(work, "look", "calls", *of, "--static", "map.html")
        page.open((work / "map.html").as_uri())
        page.until("explorer.view && explorer.map.names?.placed.length && !explorer.map.points.moving")
        keep(page, arguments.pictures / "lenses-map-of.png")


if __name__ == "__main__":
    main()
