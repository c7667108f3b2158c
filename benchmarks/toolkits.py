"""A map of 100,000 and of 500,000 points with 60 names by ready-made toolkits and by the explorer itself.

    npm install --prefix artifacts/toolkits --ignore-scripts --legacy-peer-deps esbuild@0.28.2 @deck.gl/core@9.4.0 \
        @deck.gl/layers@9.4.0 @deck.gl/extensions@9.4.0 regl@2.1.1 regl-scatterplot@1.16.0
    npm pack embedding-atlas@0.26.0 --pack-destination artifacts/toolkits
    tar -xzf artifacts/toolkits/embedding-atlas-0.26.0.tgz -C artifacts/toolkits
    .venv/bin/python benchmarks/toolkits.py artifacts/toolkits

Headless Chromium without a graphics card. Each toolkit is joined into one script, and the page is one file whose
content policy allows this script and nothing else: no code made out of text, no workers, no other files. For each: the
time until the first points are drawn; frames while the map is dragged, and what one costs the processors, which other
work on the machine hardly changes; bytes of the script; what the policy forbade; and pictures, in the same folder. Only
this benchmark needs node.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from browser import Page, browser
from explorer import fresh

import dial2vec.collection.explorer.page

COUNTS, MOVES = (100_000, 500_000), 24
COLOURS = ["#3b82f6", "#e8590c", "#2f9e44", "#c2255c", "#9c6ade", "#b08900", "#0c8599", "#e64980", "#7a8c00", "#8d6e63"]
OWN = Path(dial2vec.collection.explorer.page.__file__).parent
# What esbuild joins into a global `K`, and what draws the points X, Y of the groups G, with names at L, into `g`.
TOOLKITS: dict[str, tuple[str, str]] = {
    "own": (
        "",
        """const places = new Float32Array(2 * N);
        X.forEach((x, i) => { places[2 * i] = x; places[2 * i + 1] = Y[i]; });
        g.innerHTML = '<canvas id="c"></canvas><svg><path id="lasso-path"/></svg><div id="names"></div>';
        let names = null;
        const points = new Points(byId("c"), [places], () => names?.place());
        points.colour(G.map((group) => group % 10), C, C.map(() => "disc"));
        names = new MapNames(byId("names"), points, [L.map((one, id) => ({ ...one, id, level: 1, size: 1 }))]);
        new Gestures(byId("c"), points, { hover: () => 0 }, names);""",
    ),
    "deck.gl 9.4.0": (
        'export { Deck, OrthographicView } from "@deck.gl/core"; export { ScatterplotLayer, TextLayer } from '
        '"@deck.gl/layers"; export { CollisionFilterExtension } from "@deck.gl/extensions";',
        """const places = new Float32Array(2 * N), colours = new Uint8Array(4 * N);
        const rgb = C.map((c) => [1, 3, 5].map((j) => parseInt(c.slice(j, j + 2), 16)));
        for (let i = 0; i < N; i++) { places.set([X[i], -Y[i]], 2 * i); colours.set([...rgb[G[i] % 10], 230], 4 * i); }
        const attributes = { getPosition: { value: places, size: 2 }, getFillColor: { value: colours, size: 4 } };
        new K.Deck({ parent: g, width: 1000, height: 700, views: new K.OrthographicView(), controller: true,
          useDevicePixels: false, initialViewState: { target: [0, 0, 0], zoom: 2.6 }, layers: [
            new K.ScatterplotLayer({ id: "p", data: { length: N, attributes }, getRadius: 1.5, radiusUnits: "pixels" }),
            new K.TextLayer({ id: "t", data: L, getPosition: (d) => [d.x, -d.y], getText: (d) => d.text, getSize: 14,
              fontSettings: { sdf: true }, outlineWidth: 3, outlineColor: [255, 255, 255, 255],
              extensions: [new K.CollisionFilterExtension()], collisionTestProps: { sizeScale: 2 } })] });""",
    ),
    "embedding-atlas 0.26.0": (
        'export { EmbeddingView } from "./package/dist/component.js";',
        """new K.EmbeddingView(g, { data: { x: X, y: Y, category: G.map((group) => group % 10) }, categoryColors: C,
          labels: L.map((one) => ({ x: one.x, y: one.y, content: one.text, level: 0, priority: 1 })), width: 1000,
          height: 700, pixelRatio: 1, config: { mode: "points", autoLabelEnabled: false } });""",
    ),
    "regl-scatterplot 1.16.0": (
        'export { default as createScatterplot } from "regl-scatterplot";',
        """g.innerHTML = '<canvas id="c" style="width:1000px;height:700px"></canvas>';
        const plot = K.createScatterplot({ canvas: document.getElementById("c"), width: 1000, height: 700, pointSize: 3,
          colorBy: "category", pointColor: C, opacity: 0.9 });
        const scale = (values) => Float32Array.from(values, (value) => value / 60);
        plot.draw({ x: scale(X), y: scale(Y), z: Float32Array.from(G, (group) => group % 10) });""",
    ),
}
# embedding-atlas names these two for its view of a database, which is not used here.
LEFT_OUT = "export const coordinator = null, isSelection = () => false, makeClient = null;"
# Notes when points were drawn for the first time, by whatever call.
WATCH = """window.ready = 0;
for (const name of ["drawArrays", "drawElements", "drawArraysInstanced", "drawElementsInstanced"]) {
  for (const kind of [WebGLRenderingContext, WebGL2RenderingContext].filter((one) => one.prototype[name])) {
    const drawn = kind.prototype[name];
    kind.prototype[name] = function (...what) {
      drawn.apply(this, what);
      const many = what.slice(1).reduce((most, one) => Math.max(most, Number(one) || 0), 0);
      if (!window.ready && many > 10000) requestAnimationFrame(() => { window.ready ||= performance.now(); });
    };
  }
}"""
DATA = """let seed = 1;
const random = () => { seed = (seed * 48271) % 2147483647; return seed / 2147483647; };
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
const X = new Float32Array(N), Y = new Float32Array(N), G = new Uint8Array(N);
const L = Array.from({ length: 60 }, (_, i) => ({ x: 50 * Math.cos(i) * random(), y: 50 * Math.sin(i) * random(),
  text: `order ${i}, refund` }));
for (let i = 0; i < N; i++) { G[i] = i % 60; X[i] = L[G[i]].x + 1.5 * normal(); Y[i] = L[G[i]].y + 1.5 * normal(); }"""


def main() -> None:
    """Measure each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder into which the toolkits were installed")
    parser.add_argument("--only", nargs="+", choices=TOOLKITS, default=[*TOOLKITS])
    given = parser.parse_args()
    for name in given.only:
        entry, script = TOOLKITS[name]
        source = joined(given.folder.resolve(), entry)
        cells = [measured(given.folder, name, source, script, count) for count in COUNTS]
        sys.stdout.write(f"| {name} | {' | '.join(cells)} | {len(source.encode()) / 1e6:.2f} MB |\n")
        sys.stdout.flush()


def joined(folder: Path, entry: str) -> str:
    """Return the toolkit as one script."""
    if not entry:
        names = ("list", "picture", "points", "names", "gestures")
        return "\n".join((OWN / f"{name}.js").read_text(encoding="utf-8") for name in names)
    (folder / "entry.js").write_text(entry)
    (folder / "left-out.js").write_text(LEFT_OUT)
    options = ["--bundle", "--minify", "--format=iife", "--global-name=K", "--outfile=joined.js", "--log-level=error"]
    options += [f"--alias:@uwdata/mosaic-{name}=./left-out.js" for name in ("core", "sql")]
    esbuild = next(folder.glob("node_modules/@esbuild/*/bin/esbuild"))
    subprocess.run([esbuild, "entry.js", *options, "--define:import.meta.url=location.href"], cwd=folder, check=True)
    return (folder / "joined.js").read_text(encoding="utf-8").replace("</script", "<\\/script")


def measured(work: Path, name: str, source: str, script: str, count: int) -> str:
    """Return the cells of a toolkit for a number of points."""
    scripts = [
        WATCH,
        source,
        f"const N = {count}, C = {json.dumps(COLOURS)}, g = document.getElementById('g'); {DATA} {script}",
    ]
    hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}"
    style = f":root {{ --page: #fff; --ink: #111 }} {(OWN / 'map.css').read_text(encoding='utf-8')}"
    file = work / "points.html"
    file.write_text(
        f'<!doctype html><meta charset=utf-8><meta http-equiv=Content-Security-Policy content="{policy}">'
        f"<style>{style} body {{ margin: 0; font: 1rem sans-serif }}</style>"
        '<div id="g" style="position:relative;width:1000px;height:700px;overflow:hidden"></div>'
        + "".join(f"<script>{one}</script>" for one in scripts),
        encoding="utf-8",
    )
    with browser(fresh(work / "profile")) as page:
        page.open(file.resolve().as_uri())
        try:
            first = page.until("window.ready", seconds=60)
        except TimeoutError:
            return f"nothing drawn: {page.complaints[:1]} | |"
        time.sleep(2)
        page.picture(work / f"{name.split()[0]}-{count}.png")
        between, busy = dragged(page)
        forbidden = sorted({one.split(" because")[0][:90] for one in page.complaints})
    frame = f"{np.median(between):.0f} ms, p95 {np.percentile(between, 95):.0f} ms, {busy:.0f} ms of processors"
    return f"{first / 1000:.1f} s | {frame} {forbidden or ''}"


def dragged(page: Page) -> tuple[np.ndarray, float]:
    """Drag the map; return the milliseconds between frames, and the milliseconds of processors per frame."""
    page.value("window.frames_ = []; (function f(t) { frames_.push(t); requestAnimationFrame(f); })(performance.now())")
    turn, busy = np.arange(MOVES) / 4, page.busy_seconds()
    page.drag((np.stack([500 + 120 * np.sin(turn), 350 + 90 * np.sin(2 * turn)], axis=1)).tolist())
    between = np.diff(page.value("frames_"))
    return between, 1000 * (page.busy_seconds() - busy) / len(between)


if __name__ == "__main__":
    main()
