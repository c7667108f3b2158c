"""The explorer in headless Chromium: made-up dialogues with clusters, and pictures of the demo corpus.

    .venv/bin/python benchmarks/explorer.py
    .venv/bin/python benchmarks/explorer.py --dialogues 500000
    .venv/bin/python benchmarks/explorer.py --map --demo --pictures docs

Makes a collection whose vectors lie in 60 clouds, with names of areas and topics, and keeps it in --work; then opens
the page and measures the time to the first picture, frames while the map is dragged and zoomed, a search, a lasso, and
memory; medians of --runs runs, as a table for docs/explorer.md. No graphics card draws. The map is made up,
too; with --map it is made from the vectors, which takes minutes. With --demo it measures where new dialogues land among
those of the demo corpus, and with --pictures it looks at them, as on a screen and on a telephone.
"""

from __future__ import annotations

import argparse
import contextlib
import os
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
from explorer_page import open_explorer, read, rest, search, set_state
from scratch import ROOT, serving
from synthetic import made_up_collection, write_map

from conversations.dialogue import write_dialogues
from dial2vec.collection import Collection, add
from dial2vec.collection.explorer.maps import maps_of
from dial2vec.collection.explorer.projection import Placing, lay_out_many
from dial2vec.data.corpora.demo import generate_demo
from dial2vec.encoder import DialogueEncoder

MOVES = 120
# Notes when the map was first drawn with names, and from then on every frame in which the map stands elsewhere.
WATCH = """window.frames_ = []; window.first_ = 0;
let before = "";
(function watch(now) {
  const sheet = document.querySelector(".sheet"), place = sheet?.style.transform;
  const named = [...document.querySelectorAll("#names span")].some((one) => one.style.visibility === "inherit");
  if (!window.first_ && place && named) window.first_ = now;
  if (place !== before) window.frames_.push(now);
  before = place;
  requestAnimationFrame(watch);
})(0);"""
READY = "document.querySelector('.opening')?.textContent"


def main() -> None:
    """Measure, and take pictures if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dialogues", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--work", type=Path, default=Path("artifacts/explorer"), help="folder of the collections")
    parser.add_argument("--map", action="store_true", help="make the map from the vectors")
    parser.add_argument("--demo", action="store_true", help="place one half of the demo corpus on a map of the other")
    parser.add_argument("--pictures", type=Path, help="folder that gets the pictures of the demo corpus")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    many = given.work / f"made-up-{given.dialogues}"
    if not (many / "clusters" / "clusters.json").exists():
        made_up_collection(many, given.dialogues)
    if given.map:
        sys.stdout.write(made_map(many))
    elif not (many / "map" / "trained.npz").exists():
        write_map(Collection(many))
    sys.stdout.write(f"load of the machine: {os.getloadavg()[0]:.1f}\n")
    with served(many) as address:
        runs = [measured(address, given.work / "profile") for _ in range(given.runs)]
    for what, (_, form) in runs[0].items():
        sys.stdout.write(f"| {what} | {form.format(np.median([run[what][0] for run in runs]))} |\n")
    few = demo(given.work / "demo") if given.demo or given.pictures else None
    if few and given.demo:
        sys.stdout.write(placed(Collection(few)) + "\n")
    if few and given.pictures:
        with served(few) as address, browser(fresh(given.work / "profile")) as page:
            look(page, address, given.pictures)


def made_map(folder: Path) -> str:
    """Make the map from the vectors, and return what it cost."""
    began, busy = time.perf_counter(), time.process_time()
    maps_of(Collection(folder), from_scratch=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds, used = time.perf_counter() - began, time.process_time() - busy
    return f"map: {seconds:.0f} s, of which {used:.0f} s of a processor; peak of the process {peak:.0f} MiB\n"


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
            (base, Placing(known, base).place(new)),
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


def measured(address: str, profile: Path) -> dict[str, tuple[float, str]]:
    """Open the page in a new browser and use it; return the figures and how to write them."""
    with browser(fresh(profile)) as page:
        page.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        page.open(f"{address}#panel=dialogues")
        first = page.until("window.first_", seconds=120)
        answered = page.value(
            "performance.getEntriesByType('resource').find(({name}) => name.includes('content')).responseEnd"
        )
        found = {
            "first picture with names after the page was opened": (first / 1000, "{:.1f} s"),
            "of this after the server's answer": ((first - answered) / 1000, "{:.1f} s"),
        }
        page.until(READY)
        box = page.value("(b => [b.left, b.top, b.width, b.height])(byId('canvas').getBoundingClientRect())")
        # The browser's own frames are 16.7 ms apart.
        for doing in ("dragging", "zooming"):
            for _ in range(2):
                between = frames(page, doing, box)
            found[f"a frame while {doing}, median"] = (float(np.median(between)), "{:.0f} ms")
            found[f"a frame while {doing}, 95th percentile"] = (float(np.percentile(between, 95)), "{:.0f} ms")
        page.value("explorer.map.points.showAll()")
        page.click("#words")
        said = seconds(page, lambda: (page.write("refund"), page.key("Enter")), "dialogues of")
        found["search for a word, until the page stops changing"] = (said, "{:.2f} s")
        page.value("explorer.set({ query: null })")
        page.until("!document.getElementById('says').textContent.includes(' of ')")
        page.click("#lasso")
        places = [
            (box[0] + x * box[2], box[1] + y * box[3]) for x, y in ((0.3, 0.2), (0.7, 0.2), (0.7, 0.8), (0.3, 0.8))
        ]
        found["lasso, from its last corner"] = (seconds(page, lambda: page.drag(places), "dialogues of"), "{:.2f} s")
        found["memory of the page's scripts"] = (page.heap_bytes() / 1e6, "{:.0f} MB")
        found["memory of all of the browser's processes"] = (page.resident_bytes() / 1e6, "{:.0f} MB")
        if page.complaints:
            raise RuntimeError(f"complaints of the console: {page.complaints}")
    return found


def frames(page: Page, doing: str, box: list[float]) -> np.ndarray:
    """Return the milliseconds from frame to frame while the map moves."""
    page.value("window.frames_.length = 0")
    turn = np.arange(MOVES) / 12
    middle, reach = np.array(box[:2]) + np.array(box[2:]) / 2, np.array(box[2:]) / 5
    places = (middle + reach * np.stack([np.sin(turn), np.sin(2 * turn)], axis=1)).tolist()
    if doing == "dragging":
        page.drag([(x, y) for x, y in places])
    else:
        for place, (x, y) in enumerate(places):
            page.wheel(x, y, by=-30 if place < MOVES // 2 else 30)
    time.sleep(1)
    return np.diff(page.value("window.frames_"))


def seconds(page: Page, act: Callable[[], object], said: str) -> float:
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
    return float(page.value("window.said - window.acted")) / 1000


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
