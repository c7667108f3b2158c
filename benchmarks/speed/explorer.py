"""The explorer in headless Chromium with made-up dialogues: seconds to the first picture, frames, search, and memory.

    .venv/bin/python benchmarks/speed/explorer.py
    .venv/bin/python benchmarks/speed/explorer.py --dialogues 500000

Makes a collection whose vectors lie in 60 clouds, with names of areas and topics and a made-up map, and keeps it in
--work; then opens the page and measures the time to the first picture, frames while the map is dragged and zoomed, a
search, a lasso, and memory; medians of --runs runs, as a table for docs/explorer.md. No graphics card draws.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dial2vec.collection import Collection
from synthetic import made_up_collection, write_map

sys.path.append(str(Path(__file__).parents[2] / "docs" / "pictures"))

from browser import Page, browser
from scratch import ROOT, serving

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
    """Make the collection once, and print medians of the runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dialogues", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--work", type=Path, default=Path("artifacts/explorer"), help="folder of the collections")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    many = given.work.resolve() / f"made-up-{given.dialogues}"
    if not (many / "map" / "trained.npz").exists():
        made_up_collection(many, given.dialogues)
        write_map(Collection(many))
    sys.stdout.write(f"load of the machine: {os.getloadavg()[0]:.1f}\n")
    with serving(ROOT, "dial2vec", "explore", str(many), "--port", "0") as address:
        runs = [measured(address) for _ in range(given.runs)]
    for what, (_, form) in runs[0].items():
        sys.stdout.write(f"| {what} | {form.format(np.median([run[what][0] for run in runs]))} |\n")


def measured(address: str) -> dict[str, tuple[float, str]]:
    """Open the page in a new browser and use it; return the figures and how to write them."""
    with browser() as page:
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


if __name__ == "__main__":
    main()
