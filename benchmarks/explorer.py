"""The explorer in headless Chromium: 100,000 synthetic dialogues, and pictures of the demo corpus.

    .venv/bin/python benchmarks/explorer.py --pictures docs

Makes a collection whose vectors lie in 60 clouds, and its map, which are kept in --work for the next time; then opens
the page and measures the time to the first picture, frames while the map is dragged, a search, a lasso, and memory.
Nothing is drawn by a graphics card. With --pictures it looks at 1,000 dialogues of the demo corpus, as on a screen and
on a telephone.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from browser import PHONE, Page, browser

from dial2vec.collection import Collection, add
from dial2vec.corpora.demo import generate_demo
from dial2vec.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.explorer.maps import maps_of

CLOUDS, DIMENSION, MOVES = 60, 384, 60
WORDS = (
    *("card", "parcel", "flight", "room", "table", "doctor"),
    *("refund", "order", "ticket", "train", "invoice", "password"),
)
# Notes when the first points were drawn, and every picture after that.
WATCH = """window.pictures = [];
const drawn = WebGL2RenderingContext.prototype.drawArrays;
WebGL2RenderingContext.prototype.drawArrays = function (...what) {
  drawn.apply(this, what);
  requestAnimationFrame(() => window.pictures.push(performance.now()));
};"""


def main() -> None:
    """Measure, and take pictures where they are wanted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dialogues", type=int, default=100_000)
    parser.add_argument("--work", type=Path, default=Path("artifacts/explorer"), help="folder of the collections")
    parser.add_argument("--pictures", type=Path, help="folder that gets the pictures")
    given = parser.parse_args()
    many = given.work / f"synthetic-{given.dialogues}"
    made = synthetic(many, given.dialogues)
    sys.stdout.write(f"{made}\n")
    with served(many) as address, browser(fresh(given.work / "profile")) as page:
        sys.stdout.write(measured(page, address) + "\n")
    if given.pictures:
        with served(demo(given.work / "demo")) as address, browser(fresh(given.work / "profile")) as page:
            look(page, address, given.pictures)


def synthetic(folder: Path, count: int) -> str:
    """Make a collection of made-up dialogues with vectors in clouds, and its map; return what the map took."""
    if not (folder / "map" / "trained.npz").exists():
        shutil.rmtree(folder, ignore_errors=True)
        source = folder.with_suffix(".jsonl")
        random = np.random.default_rng(1)
        clouds = random.integers(CLOUDS, size=count)
        write_dialogues(source, (made_up(number, int(cloud), random) for number, cloud in enumerate(clouds)))
        add(folder, source, encoder=narrow(folder.with_suffix(".encoder")), batch_size=256)
        centres = random.normal(size=(CLOUDS, DIMENSION))
        with (folder / "vectors.f32").open("wb") as handle:
            for first in range(0, count, 10_000):
                near = centres[clouds[first : first + 10_000]]
                vectors = near + random.normal(scale=0.9, size=near.shape)
                units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
                handle.write(units.astype(np.float32).tobytes())
    else:
        return f"the map of {folder} was there"
    began, busy = time.perf_counter(), time.process_time()
    maps_of(Collection(folder))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds, used = time.perf_counter() - began, time.process_time() - busy
    return f"map: {seconds:.0f} s, of which {used:.0f} s of a processor; peak of the process {peak:.0f} MiB"


def made_up(number: int, cloud: int, random: np.random.Generator) -> Dialogue:
    """Return a dialogue of some words about the topic of its cloud."""
    words = [" ".join(random.choice(WORDS, size=12)) for _ in range(6)]
    turns = tuple(Turn("agent" if place % 2 else "caller", text) for place, text in enumerate(words))
    moment = str(date(2025, 1, 1) + timedelta(days=number * 600 // 100_000))
    return Dialogue(f"call-{number:06d}", turns, (f"{WORDS[cloud % 12]} {cloud // 12}",), date=moment)


def narrow(folder: Path) -> DialogueEncoder:
    """Return an encoder of one layer and random weights: its vectors are thrown away."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    from dial2vec.backbone import resolve

    tokenizer = AutoTokenizer.from_pretrained(resolve("all-MiniLM-L6-v2"))
    sizes = {"num_hidden_layers": 1, "num_attention_heads": 6, "intermediate_size": 64}
    config = BertConfig(vocab_size=len(tokenizer), hidden_size=DIMENSION, max_position_embeddings=512, **sizes)
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return DialogueEncoder.from_pretrained(folder, max_length=32)


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


def fresh(folder: Path) -> Path:
    """Return a folder that is not there."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run the command on a collection, and yield its address."""
    command = [sys.executable, "-m", "dial2vec.cli", "explore", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[1]
        process.terminate()


def measured(page: Page, address: str) -> str:
    """Open the page and use it; return the rows of a table."""
    page.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    page.open(address)
    first = page.until("window.pictures[0]", seconds=120)
    page.until("document.querySelector('.opening')?.textContent")
    rows = [("first picture after the page was opened", f"{first / 1000:.1f} s")]
    rows += [(f"a frame while {doing}", frames(page, doing)) for doing in ("dragging", "zooming")]
    page.click("#words")
    rows.append(("search by words, to the last change", seconds(page, lambda: page.write("refund"), "“refund”")))
    page.key("Escape")
    page.click("#lasso")
    corners = [(250, 150), (700, 150), (700, 550), (250, 550)]
    rows.append(("lasso, from its last corner", seconds(page, lambda: page.drag(corners), "selected")))
    rows.append(("memory of the page's scripts", f"{page.heap_bytes() / 1e6:.0f} MB"))
    rows.append(("memory of all of the browser's processes", f"{page.resident_bytes() / 1e6:.0f} MB"))
    complaints = f"complaints of the console: {page.complaints or 'none'}"
    return "\n".join(f"| {what} | {found} |" for what, found in rows) + f"\n{complaints}"


def frames(page: Page, doing: str) -> str:
    """Return median and 95th percentile of the time from picture to picture while the map moves."""
    page.value("window.pictures.length = 0")
    turn = np.arange(MOVES) / 10
    places = np.stack([450 + 120 * np.sin(turn), 350 + 90 * np.sin(2 * turn)], axis=1).tolist()
    if doing == "dragging":
        page.drag([(x, y) for x, y in places])
    else:
        for place, (x, y) in enumerate(places):
            page.wheel(x, y, by=-60 if place < MOVES // 2 else 60)
    time.sleep(1)
    between = np.diff(page.value("window.pictures"))
    return f"median {np.median(between):.0f} ms, p95 {np.percentile(between, 95):.0f} ms"


def seconds(page: Page, act: object, said: str) -> str:
    """Return how long it took until the page says something."""
    assert callable(act)
    page.value(
        f"""void new MutationObserver(() => {{
          if (document.getElementById("says").textContent.includes("{said}")) window.said = performance.now();
        }}).observe(document.getElementById("says"), {{ childList: true }})"""
    )
    act()
    began = page.value("performance.now()")
    return f"{max(page.until('window.said') - began, 0) / 1000:.2f} s"


def look(page: Page, address: str, folder: Path) -> None:
    """Take the pictures of the documentation."""
    page.open(address)
    page.until("document.querySelector('.opening')?.textContent")
    page.click("#words")
    page.write("birthday")
    page.until("document.getElementById('says').textContent.includes('“birthday”')")
    page.click("#list li:nth-child(3)")
    page.until("!document.getElementById('reader').hidden")
    page.picture(folder / "explorer.png")
    page.key("Escape")
    page.key("Escape")
    page.look(dark=True)
    time.sleep(1)
    page.picture(folder / "explorer-dark.png")
    page.look(PHONE, phone=True)
    time.sleep(1)
    page.picture(folder / "explorer-phone.png")


if __name__ == "__main__":
    main()
