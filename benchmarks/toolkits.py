"""100,000 points by ready-made toolkits and by the explorer itself, in headless Chromium without a graphics card.

    .venv/bin/python -m pip install --no-deps --target artifacts/toolkits plotly==7.1.0 bokeh==3.9.2 pydeck==0.9.3
    .venv/bin/python benchmarks/toolkits.py artifacts/toolkits

For each: the time until the first points are drawn, the median frame while the map is dragged, what the page loads, and
whether it makes code out of text, which a strict policy forbids. Takes some minutes: the slow ones are slow.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from browser import browser
from explorer import fresh

import dial2vec.collection.explorer

COUNT, GROUPS, MOVES = 100_000, 10, 20
COLOURS = ["#3b82f6", "#e8590c", "#2f9e44", "#c2255c", "#9c6ade", "#b08900", "#0c8599", "#e64980", "#7a8c00", "#8d6e63"]
OWN = Path(dial2vec.collection.explorer.__file__).parent
READY = "requestAnimationFrame(() => requestAnimationFrame(() => { window.ready = performance.now(); }));"
# Files of each toolkit, and what draws the points P of the groups K with it into the element `g`.
TOOLKITS: dict[str, tuple[list[str], str]] = {
    "own": (
        [str(OWN / "points.js"), str(OWN / "list.js"), str(OWN / "gestures.js")],
        f"""g.innerHTML = '<canvas id="c" style="width:100%;height:100%"></canvas><svg><path id="lasso-path"/></svg>';
        const points = new Points(byId("c"), [new Float32Array(P)], () => 0);
        points.colour(new Uint8Array(K), C, C.map(() => "disc"));
        new Gestures(byId("c"), points, {{ hover: () => 0 }}); {READY}""",
    ),
    "plotly": (
        ["plotly/package_data/plotly.min.js"],
        f"""const of = (axis) => P.filter((_, i) => i % 2 === axis), axis = {{ visible: false }};
        Plotly.newPlot(g, [{{ type: "scattergl", mode: "markers", hoverinfo: "none", x: of(0), y: of(1),
          marker: {{ size: 3, color: K.map((k) => C[k]) }} }}],
          {{ dragmode: "pan", xaxis: axis, yaxis: axis, margin: {{ l: 0, r: 0, t: 0, b: 0 }} }},
          {{ displayModeBar: false, plotGlPixelRatio: 1 }}).then(() => {{ {READY} }});""",
    ),
    "bokeh": (
        [f"bokeh/server/static/js/bokeh{part}.min.js" for part in ("", "-api", "-gl")],
        f"""const of = (axis) => Float32Array.from(P.filter((_, i) => i % 2 === axis));
        const source = new Bokeh.ColumnDataSource({{ data: {{ x: of(0), y: of(1), c: K.map((k) => C[k]) }} }});
        const plot = Bokeh.Plotting.figure({{ width: 1000, height: 700, output_backend: "webgl", tools: "pan" }});
        plot.scatter({{ field: "x" }}, {{ field: "y" }},
          {{ source, size: 3, line_color: null, color: {{ field: "c" }} }});
        Bokeh.Plotting.show(plot, "#g").then(() => {{ {READY} }});""",
    ),
    "deck.gl (pydeck)": (
        ["pydeck/nbextension/static/index.js"],
        """const layer = { "@@type": "ScatterplotLayer", id: "l", data: [] }, colours = new Uint8Array(4 * K.length);
        K.forEach((k, i) => colours.set([...[1, 3, 5].map((j) => parseInt(C[k].slice(j, j + 2), 16)), 255], 4 * i));
        const attributes = { getPosition: { value: new Float32Array(P), size: 2 },
          getFillColor: { value: colours, size: 4 } };
        const deck = createDeck({ container: g, handleEvent: () => 0, jsonInput: { layers: [layer],
          views: [{ "@@type": "OrthographicView", id: "m", controller: true }],
          initialViewState: { target: [0, 0, 0], zoom: 4 } } });
        const fill = () => {
          if (!deck.props?.layers?.[0]) return setTimeout(fill, 20);
          const Layer = deck.props.layers[0].constructor, data = { length: K.length, attributes };
          return deck.setProps({ onAfterRender: () => { window.ready ??= performance.now(); },
            layers: [new Layer({ id: "p", data, getRadius: 1.5, radiusUnits: "pixels", antialiasing: false })] });
        };
        fill();""",
    ),
}


def main() -> None:
    """Measure each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", type=Path, help="folder into which the toolkits were installed")
    given = parser.parse_args()
    for name, (files, script) in TOOLKITS.items():
        sources = [given.wheels.resolve() / file for file in files]
        sys.stdout.write(f"| {name} | {measured(given.wheels, sources, script)} |\n")
        sys.stdout.flush()


def measured(work: Path, sources: list[Path], script: str) -> str:
    """Return the cells of a toolkit's row."""
    random = np.random.default_rng(0)
    groups = random.integers(GROUPS, size=COUNT)
    places = random.normal(scale=10, size=(GROUPS, 2))[groups] + random.normal(size=(COUNT, 2))
    data = (
        f"const P = {json.dumps(places.ravel().round(3).tolist())}, K = {groups.tolist()}, C = {json.dumps(COLOURS)};"
    )
    loaded = "".join(f'<script src="{source.as_uri()}"></script>' for source in sources)
    body = f'<body style="margin:0"><div id="g" style="position:relative;width:1000px;height:700px"></div>{loaded}'
    file = work / "points.html"
    file.write_text(f"<!doctype html><meta charset=utf-8>{body}<script>{data}{script}</script>", encoding="utf-8")
    with browser(fresh(work / "profile")) as page:
        page.open(file.resolve().as_uri())
        first = page.until("window.ready", seconds=120)
        page.value(
            "window.frames_ = []; (function f(t) { frames_.push(t); requestAnimationFrame(f); })(performance.now())"
        )
        turn = np.arange(MOVES) / 4
        page.drag(np.stack([500 + 120 * np.sin(turn), 350 + 90 * np.sin(2 * turn)], axis=1).tolist())
        time.sleep(1)
        between = np.diff(page.value("frames_"))
        # A frame in which nothing was drawn lasts 17 ms.
        drawn = between[between > 20] if (between > 20).any() else between
        makes_code = any("new Function(" in source.read_text(encoding="utf-8") for source in sources)
    size = sum(source.stat().st_size for source in sources) / 1e6
    return f"{first / 1000:.1f} s | {np.median(drawn):.0f} ms | {size:.2f} MB | {'yes' if makes_code else 'no'}"


if __name__ == "__main__":
    main()
