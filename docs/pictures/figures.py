"""Charts of the manual, from figures that stand in the repository: nothing is measured.

    .venv/bin/python docs/pictures/figures.py docs

Reads the tables of the pages, docs/*.csv and docs/*.json, and the records of benchmarks/studies/*.jsonl.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from conversations.files import atomic_path
from dial2vec.evaluation.geometry import COLOURS
from dial2vec_papers.tables.charts import draw_methods, draw_results
from dial2vec_papers.tables.published import COUNTS
from scratch import ROOT

DPI = 110
GREY = "#6b7680"
TABLE = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)
FIGURE = re.compile(r"[−-]?\d+(?:\.\d+)?")
NAMES = {"sgd": "SGD", "self_dialogue": "Self-dialogue", "demo": "demo"}


def main() -> None:
    """Draw all charts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path, help="folder that gets the pictures")
    parser.add_argument("--only", choices=CHARTS, help="draw only the chart of this page")
    arguments = parser.parse_args()
    for name in [arguments.only] if arguments.only else CHARTS:
        with atomic_path(arguments.pictures / f"{name}-chart.png") as temporary:
            CHARTS[name]().savefig(temporary, format="png", metadata={"Software": None})
    for name, draw in (("results", draw_results), ("method-results", draw_methods)):
        draw((ROOT / "docs" / f"{name}.csv").read_text(encoding="utf-8"), arguments.pictures / f"{name}.png")


def tables(page: str) -> list[list[list[str]]]:
    """Return the tables of a page of the manual as rows of cells, without the line below the head."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    found = [[line.strip("|").split("|") for line in table.splitlines()] for table in TABLE.findall(text)]
    return [[[cell.strip(" *") for cell in row] for place, row in enumerate(table) if place != 1] for table in found]


def figures(text: str) -> list[float]:
    """Return the numbers of a text."""
    return [float(found.replace("−", "-")) for found in FIGURE.findall(text.replace(",", ""))]


def records(name: str) -> list[dict[str, Any]]:
    """Return the records of a study."""
    text = (ROOT / "benchmarks" / "studies" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def sheet(width: float, height: float, columns: int, **options: Any) -> tuple[Any, Any]:
    """Return a figure with a row of panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    panels = figure.subplots(1, columns, squeeze=False, **options)[0]
    for panel in panels:
        panel.tick_params(labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(color="#e4e8ec", linewidth=0.6)
        panel.set_axisbelow(True)
    return figure, panels


def adapting() -> Any:
    """Draw MAP and NMI of plain and of adapted vectors, by corpus and encoder, means over seeds."""
    rows = [row for row in records("adapting.jsonl") if row["study"] == "groups" and row["encoder"] != "trained"]
    names = list(dict.fromkeys(row["corpus"] for row in rows))[::-1]
    figure, panels = sheet(8.6, 4.6, 2, sharey=True)
    for panel, title, label in ((panels[0], "MAP", "MAP"), (panels[1], "NMI", "NMI of topics")):
        for shift, (colour, kind) in zip((-0.18, 0.18), zip(COLOURS, ("base", "general"), strict=False), strict=True):
            for adapted, fill in ((False, "white"), (True, colour)):
                own = [[row[title] for row in rows if (row["corpus"], row["encoder"], row["adapted"]) == (name, kind, adapted)] for name in names]  # fmt: skip  # noqa: E501
                known = {"base": "all-MiniLM-L6-v2", "general": "general student"}[kind]
                panel.plot(
                    [np.mean(figures) for figures in own], np.arange(len(names)) + shift, "o", markersize=5,
                    color=colour, markerfacecolor=fill, label=f"{known}{', adapted' if adapted else ''}",
                )  # fmt: skip
        panel.set_xlabel(label, fontsize=8)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].legend(fontsize=7, frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return figure


def corpora() -> Any:
    """Draw how large the six corpora are."""
    figure, panels = sheet(8.6, 2.4, 4, sharey=True)
    names = sorted(COUNTS, key=lambda name: sum(split[0] for split in COUNTS[name]["splits"].values()))
    sizes = [(COUNTS[name]["splits"], COUNTS[name]["labels"]) for name in names]
    for panel, title, values in (
        (panels[0], "dialogues", [sum(split[0] for split in splits.values()) for splits, _ in sizes]),
        (panels[1], "turns of a dialogue", [splits["train"][1] for splits, _ in sizes]),
        (panels[2], "words of a dialogue", [splits["train"][2] for splits, _ in sizes]),
        (panels[3], "labels", [labels for _, labels in sizes]),
    ):
        bars = panel.barh(names, values, color=COLOURS[0])
        panel.bar_label(bars, [f"{value:,}" for value in values], fontsize=7, padding=2)
        panel.set_title(title, fontsize=9)
        panel.set_xlim(0, 1.3 * max(values))
        panel.set_xticks([])
        panel.grid(visible=False)
    return figure


def drift() -> Any:
    """Draw how often drift is found, by the share of strange dialogues."""
    both = [table for table in tables("drift") if table[0][1] == "share"]
    figure, panels = sheet(8.6, 3, 2, sharey=True)
    for panel, (head, *rows) in zip(panels, both, strict=True):
        found: dict[str, list[list[float]]] = defaultdict(list)
        for kind, share, *alarms in rows:
            counts = [figures(cell)[:2] for cell in alarms]
            found[kind].append([figures(share)[0], *(100 * alarm / trials for alarm, trials in counts)])
        [nothing] = found.pop("halves")
        for colour, (kind, points) in zip(COLOURS, found.items(), strict=False):
            for column, style in ((1, ":"), (3, "-")):
                x, y = np.array([nothing, *points]).T[[0, column]]
                panel.plot(x, y, style, marker="o", markersize=4, color=colour, label=f"{kind}, {head[1 + column]}")
        panel.set_title(f"training data: {NAMES[head[0]]}", fontsize=9)
        panel.set_xlabel("% of the new dialogues are strange", fontsize=8)
        panel.set_xticks([0, 5, 10, 20])
        panel.legend(fontsize=7, frameon=False)
    panels[0].set_ylabel("% of the trials give an alarm", fontsize=8)
    return figure


def log() -> Any:
    """Draw MAP of methods together on both corpora, beside the default alone."""
    places: dict[str, dict[str, float]] = defaultdict(dict)
    for record in records("together.jsonl"):
        places[record["way"]][record["corpus"]] = record["map"]
    figure, [panel] = sheet(6.4, 3.6, 1)
    for way, place in places.items():
        known = way in ("start", "default")
        at = (place["sgd"], place["self_dialogue"])
        panel.plot(*at, "s" if known else "o", color=COLOURS[1] if known else COLOURS[0], markersize=7)
        side, offset = (
            ("right", -8) if way in ("default against corrupted dialogues", "start", "default") else ("left", 8)
        )
        panel.annotate(way, at, (offset, -3), textcoords="offset points", fontsize=8, ha=side)
    panel.set_xlabel("MAP on SGD", fontsize=8)
    panel.set_ylabel("MAP on Self-dialogue", fontsize=8)
    panel.margins(x=0.32, y=0.12)
    return figure


def methods() -> Any:
    """Draw how much each method gains over the start in each task."""
    both = [table for table in tables("methods") if table[0][-1] == "perturbed, R@1"]
    tasks = ("MAP of dialogues", "intents, 1 shot", "out of scope", "retrieval", "answers, R@1", "perturbed, R@1")
    figure, panels = sheet(8.6, 3.1, 2, sharey=True)
    for panel, (_, *rows), corpus in zip(panels, both, ("SGD", "Self-dialogue"), strict=True):
        cells = [[figures(cell) for cell in row[1:]] for row in rows]
        points = np.array([[one[0][2], one[1][0], one[2][0], one[3][0], one[4][0], one[5][0]] for one in cells])
        gains = points[1:] - points[0]
        panel.imshow(np.clip(gains, -15, 15), cmap="PuOr", vmin=-22, vmax=22, aspect="auto")
        for (row, column), gain in np.ndenumerate(gains):
            panel.text(column, row, f"{gain:+.1f}", ha="center", va="center", fontsize=8)
        panel.set_xticks(range(len(tasks)), tasks, rotation=30, ha="right")
        panel.set_yticks(range(len(gains)), [row[0].replace("`", "") for row in rows[1:]])
        panel.set_title(f"trained on {corpus}", fontsize=9)
        panel.grid(visible=False)
    return figure


def recipe() -> Any:
    """Draw MAP by the number of dialogues that train."""
    found = records("recipe.jsonl")
    figure, panels = sheet(8.6, 2.8, 2)
    sizes = ("200", "500", "2000", "all")
    for panel, corpus in zip(panels, ("sgd", "self_dialogue"), strict=True):
        mine = [record for record in found if record["corpus"] == corpus]
        points = [(sizes.index(str(one["size"])), one["map"]) for one in mine if one["variant"] == "default"]
        means = [np.mean([score for place, score in points if place == at]) for at in range(len(sizes))]
        panel.plot(means, color=COLOURS[0], linewidth=1.5)
        panel.plot(
            *zip(*points, strict=True), "o", color=COLOURS[0], markersize=5, label="default, each of three seeds"
        )
        for variant, colour, style in (("start", COLOURS[1], "--"), ("paper", COLOURS[2], ":")):
            height = np.mean([one["map"] for one in mine if one["variant"] == variant])
            label = "start, not trained" if variant == "start" else "200 dialogues of the paper's"
            panel.axhline(height, color=colour, linestyle=style, label=label)
        panel.set_xticks(range(len(sizes)), ["200", "500", "2,000", "all"])
        panel.set_title(f"MAP on {NAMES[corpus]}", fontsize=9)
        panel.set_xlabel("training dialogues", fontsize=8)
    panels[1].legend(fontsize=7, frameon=False, loc="center right")
    return figure


def reliability() -> Any:
    """Draw the rounds of kills by what was killed, and what came of them."""
    faults = json.loads((ROOT / "docs" / "faults.json").read_text(encoding="utf-8"))
    figure, [panel] = sheet(7, 3.4, 1)
    kinds = list(faults["by_kind"])[::-1]
    bars = panel.barh(kinds, [faults["by_kind"][kind] for kind in kinds], color=COLOURS[0])
    panel.bar_label(bars, fontsize=8, padding=2)
    panel.set_xlabel("rounds, each of up to four kills", fontsize=8)
    lost = f"champion lost: {faults['champion_lost']}; not recovered: {faults['runs_not_recovered']}"
    panel.set_title(f"{faults['kills']} kills in {faults['rounds']} rounds. {lost}", fontsize=9, loc="left")
    panel.grid(visible=False)
    return figure


def student() -> Any:
    """Draw MAP against speed, of the start, the teacher and the student."""
    speeds = json.loads((ROOT / "docs" / "benchmarks.json").read_text(encoding="utf-8"))
    slow, fast = speeds["encode_dialogues_per_second"], speeds["student_cold_dialogues_per_second"]
    figure, [panel] = sheet(6.4, 3.4, 1)
    rows = [row for row in tables("student")[0][1:] if row[0]]
    for colour, (corpus, _, *systems) in zip(COLOURS, rows, strict=False):
        start, teacher, small = (figures(cell)[2] for cell in systems)
        panel.annotate("", (fast, small), (slow, teacher), arrowprops={"arrowstyle": "-", "color": colour, "ls": ":"})
        panel.plot(slow, start, "s", color=colour, fillstyle="none", markersize=7)
        panel.plot(slow, teacher, "o", color=colour, markersize=7)
        panel.plot(fast, small, "^", color=colour, markersize=8)
        panel.annotate(corpus, (fast, small), (10, -3), textcoords="offset points", fontsize=8, color=colour)
    for marker, label in (("s", "start"), ("o", "teacher, the trained encoder"), ("^", "student")):
        panel.plot([], [], marker, color=GREY, fillstyle="none" if marker == "s" else "full", label=label)
    panel.set_xscale("log")
    panel.set_xlim(10, 60_000)
    panel.set_xlabel("dialogues per second", fontsize=8)
    panel.set_ylabel("MAP", fontsize=8)
    panel.legend(fontsize=7, frameon=False, loc="lower center")
    return figure


CHARTS: dict[str, Callable[[], Any]] = {
    "adapting": adapting,
    "corpora": corpora,
    "drift": drift,
    "log": log,
    "methods": methods,
    "recipe": recipe,
    "reliability": reliability,
    "student": student,
}


if __name__ == "__main__":
    main()
