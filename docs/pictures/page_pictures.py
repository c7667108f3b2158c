"""Pictures of pages for the manual: decisions, lenses and segments in the explorer, and what validation says of data.

    .venv/bin/python docs/pictures/calls.py       # makes the collection
    .venv/bin/python docs/pictures/page_pictures.py artifacts/changes/calls --pictures docs

The commands run on a copy of the collection. The data that validation refuses are dialogues of the demo corpus, some of
which are spoiled here.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from browser import Page, browser
from dial2vec.data.corpora.demo import generate_demo
from dial2vec.errors import ValidationError
from dial2vec.params import load_settings
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.validate import validate
from explorer_page import open_explorer, set_state
from scratch import ROOT, serving
from terminal import reduce_colours

LENS = ("--name", "outcome", "--is", "booked: your reservation is confirmed", "--is", "failed: the booking has failed")
DEMO, LONG_TURN = 400, "and so on " * 700


def main() -> None:
    """Make what the pages show, and take their pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the collection")
    parser.add_argument("--pictures", type=Path, required=True, help="folder that gets the pictures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, browser() as page:
        work = Path(name).resolve()
        page.open(refused_data(work).as_uri())
        page.until("document.readyState === 'complete'")
        keep(page, arguments.pictures / "data-validation.png")
        calls = work / "calls"
        shutil.copytree(arguments.folder, calls)
        dial2vec(work, "segments", "calls")
        dial2vec(work, "lens", "calls", *LENS)
        with serving(ROOT, "dial2vec", "explore", str(calls), "--port", "0") as address:
            look(page, address, of_most_topics(calls), arguments.pictures)
        with serving(ROOT, "dial2vec", "lens", str(calls), *LENS, "--page") as address:
            page.open(address)
            page.until("!!document.querySelector('#turns li')")
            keep(page, arguments.pictures / "lenses-page.png")


def look(page: Page, address: str, dialogue: str, pictures: Path) -> None:
    """Take the pictures of the explorer: a decision, a lens, and a dialogue with its segments."""
    open_explorer(page, address)
    set_state(page, "{ colour: 'outcome' }")
    keep(page, pictures / "lenses-map.png")
    set_state(page, f"{{ ...START, panel: 'dialogues', open: [{json.dumps(dialogue)}, -1] }}")
    page.until("!document.getElementById('reader').hidden")
    keep(page, pictures / "segments-reader.png", of="#reader")
    set_state(page, "{ ...START, topic: [1, 2] }")
    page.click("#topics .chosen .dots")
    keep(page, pictures / "curation-explorer.png")


def keep(page: Page, picture: Path, *, of: str = "") -> None:
    """Take a picture once the page is at rest."""
    page.picture(picture, of=of)
    reduce_colours(picture)


def dial2vec(folder: Path, *words: str) -> None:
    """Run a command."""
    subprocess.run([sys.executable, "-m", "dial2vec.cli", *words], cwd=folder, check=True)


def of_most_topics(folder: Path) -> str:
    """Return the id of the first dialogue with the most topics."""
    with (folder / "segments" / "segments.csv").open(encoding="utf-8", newline="") as handle:
        rows = {(row["dialogue_id"], row["topic"]) for row in csv.DictReader(handle)}
    counts = Counter(dialogue for dialogue, _ in rows)
    return min(counts, key=lambda dialogue: (-counts[dialogue], dialogue))


def refused_data(work: Path) -> Path:
    """Make a project whose data stops the run, and return the page that says so."""
    dial2vec(work, "new", "hotline")
    project = work / "hotline"
    data = project / "data" / "hotline"
    data.mkdir(parents=True)
    (data / "june.jsonl").write_text("\n".join(spoiled()), encoding="utf-8")
    artifacts = Artifacts(project, "hotline")
    with suppress(ValidationError):
        validate(artifacts, load_settings(project / "params.yaml"))
    return artifacts.validation_page


def spoiled() -> Iterator[str]:
    """Yield lines of a corpus, with errors that exports have."""
    for number, dialogue in enumerate(generate_demo(n_dialogues=DEMO)):
        record = dialogue.to_record()
        if number % 9 == 0:
            record["turns"] = [turn | {"speaker": "agent"} for turn in record["turns"]]
        if number % 150 == 1:
            record["turns"][0]["text"] = LONG_TURN
        line = json.dumps(record)
        yield line
        if number % 97 == 2:
            yield line
        if number % 130 == 3:
            yield line[:-20]


if __name__ == "__main__":
    main()
