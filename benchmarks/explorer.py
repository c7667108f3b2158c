"""The explorer in headless Chromium: 100,000 synthetic dialogues, and pictures of the demo corpus.

    .venv/bin/python benchmarks/explorer.py --pictures docs

Makes a collection whose vectors lie in 60 clouds, and its map, and keeps them in --work; then opens
the page and measures the time to the first picture, frames while the map is dragged, a search, a lasso, and memory.
Nothing is drawn by a graphics card. With --pictures it looks at 1,000 dialogues of the demo corpus, as on a screen and
on a telephone.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from browser import PHONE, Page, browser
from scratch import ROOT, serving

from dial2vec.collection import Collection, add
from dial2vec.collection.explorer.maps import maps_of
from dial2vec.collection.explorer.projection import lay_out_many, place
from dial2vec.data.corpora.demo import generate_demo
from dial2vec.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.encoder import DialogueEncoder

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
    """Measure, and take pictures if asked for."""
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
    few = demo(given.work / "demo")
    sys.stdout.write(placed(Collection(few)) + "\n")
    if given.pictures:
        with served(few) as address, browser(fresh(given.work / "profile")) as page:
            look(page, address, given.pictures)


def synthetic(folder: Path, count: int) -> str:
    """Make a collection of made-up dialogues with vectors in clouds, and return what its map cost."""
    if not (folder / "map" / "trained.npz").exists():
        shutil.rmtree(folder, ignore_errors=True)
        source = folder.with_suffix(".jsonl")
        random = np.random.default_rng(1)
        clouds = random.integers(CLOUDS, size=count)
        write_dialogues(source, (made_up(number, int(cloud), random) for number, cloud in enumerate(clouds)))
        add(folder, source, encoder=narrow(folder.with_suffix(".encoder")), batch_size=256)
        write_vectors(folder / "vectors.f32", clouds, random)
    else:
        return f"the map of {folder} was there"
    began, busy = time.perf_counter(), time.process_time()
    maps_of(Collection(folder))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds, used = time.perf_counter() - began, time.process_time() - busy
    return f"map: {seconds:.0f} s, of which {used:.0f} s of a processor; peak of the process {peak:.0f} MiB"


def write_vectors(path: Path, clouds: np.ndarray, random: np.random.Generator) -> None:
    """Write vectors of length 1: each lies near the centre of its cloud, some of the way to another one."""
    centres = random.normal(size=(CLOUDS, DIMENSION))
    with path.open("wb") as handle:
        for first in range(0, len(clouds), 10_000):
            own = clouds[first : first + 10_000]
            towards = random.uniform(0, 0.5, size=(len(own), 1)) ** 2
            near = (1 - towards) * centres[own] + towards * centres[random.integers(CLOUDS, size=len(own))]
            vectors = near + random.normal(scale=1.5, size=near.shape)
            handle.write((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32).tobytes())


def made_up(number: int, cloud: int, random: np.random.Generator) -> Dialogue:
    """Return a dialogue of some words about the topic of its cloud."""
    words = [" ".join(random.choice(WORDS, size=12)) for _ in range(6)]
    turns = tuple(Turn("agent" if place % 2 else "caller", text) for place, text in enumerate(words))
    moment = str(date(2025, 1, 1) + timedelta(days=number * 600 // 100_000))
    return Dialogue(f"call-{number:06d}", turns, (WORDS[cloud % len(WORDS)],), date=moment)


def narrow(folder: Path) -> DialogueEncoder:
    """Return an encoder of one layer with random weights, whose vectors are not used."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    from dial2vec.encoder.names import resolve

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


def placed(collection: Collection, *, seeds: int = 5) -> str:
    """Place one half of the dialogues on a map of the other half, and return how well they lie.

    The measure is the share of dialogues with the same label among the 10 nearest on the map.
    """
    from openTSNE import TSNE

    labels = collection.rows["labels"].to_pylist()
    rows = [row for row, found in enumerate(labels) if len(found) == 1]
    units, names = np.asarray(collection.vectors[rows]), np.array([labels[row][0] for row in rows])
    shares: dict[str, list[float]] = {"all fitted": [], "placed at the median": [], "placed by openTSNE": []}
    for seed in range(seeds):
        halves = np.array_split(np.random.default_rng(seed).permutation(len(units)), 2)
        known, new = (units[half] for half in halves)
        way = TSNE(perplexity=30, n_jobs=1, random_state=seed, negative_gradient_method="bh").fit(known)
        base = lay_out_many(known, seed=seed)
        whole = lay_out_many(units, seed=seed)
        maps = (
            (whole[halves[0]], whole[halves[1]]),
            (base, place(new, known, base)),
            (np.asarray(way), np.asarray(way.transform(new))),
        )
        for found, (old, points) in zip(shares.values(), maps, strict=True):
            found.append(
                like(points, names[halves[1]], np.concatenate([points, old]), names[np.concatenate(halves[::-1])])
            )
    return "\n".join(f"| {name} | {np.mean(all_):.1f} ± {np.std(all_):.1f} |" for name, all_ in shares.items())


def like(points: np.ndarray, names: np.ndarray, among: np.ndarray, theirs: np.ndarray) -> float:
    """Return the percentage of the same name among the ten nearest; the points come first among all."""
    distances = np.linalg.norm(points[:, None] - among, axis=2)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :10]
    return float(100 * (theirs[nearest] == names[:, None]).mean())


def fresh(folder: Path) -> Path:
    """Return a folder that does not exist."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def served(folder: Path) -> contextlib.AbstractContextManager[str]:
    """Run the command on a collection; the `with` has its address."""
    return serving(ROOT, "dial2vec", "explore", str(folder.resolve()), "--port", "0")


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


def seconds(page: Page, act: Callable[[], None], said: str) -> str:
    """Return the seconds from the last action of the user until the page shows a text."""
    page.value(
        f"""void (() => {{
          for (const kind of ["input", "pointerup"]) {{
            document.addEventListener(kind, () => {{ window.acted = performance.now(); }}, true);
          }}
          window.said = 0;
          new MutationObserver(() => {{
            if (document.getElementById("says").textContent.includes("{said}")) window.said ||= performance.now();
          }}).observe(document.getElementById("says"), {{ childList: true }});
        }})()"""
    )
    act()
    page.until("window.said")
    return f"{page.value('window.said - window.acted') / 1000:.2f} s"


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
