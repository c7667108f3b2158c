"""What the paper leaves open, one setting at a time: the paper's recipe with other values, checkpoint by checkpoint.

    .venv/bin/python benchmarks/ablations.py run demo --setting temperature
    .venv/bin/python benchmarks/ablations.py run sgd self_dialogue        # all settings
    .venv/bin/python benchmarks/ablations.py run demo --setting none      # the recipe itself, for figure 3
    .venv/bin/python benchmarks/ablations.py table
    .venv/bin/python benchmarks/ablations.py draw docs                    # ablations.png, alignment-uniformity.png

Needs the splits of the corpora (`make run` with them in `corpora`). A curve that is there, made with today's settings,
is not computed again, and a training that was killed goes on. Curves lie in artifacts/benchmark/<corpus>/.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from dial2vec import telemetry
from dial2vec.artifacts import find_root
from dial2vec.benchmark.curves import Curve, curve, known_curves
from dial2vec.config import load_settings
from dial2vec.evaluation import TASKS

# setting -> its block in params.yaml and the values beside the recipe's own.
SETTINGS: dict[str, tuple[str, list[Any]]] = {
    "negatives": ("sample", [1, 4, 19]),
    "window": ("train", [0, 2, None]),
    "temperature": ("train", [0.05, 0.1, 0.5]),
    "frozen_share": ("train", [0.0, 0.8]),
    "keep_role": ("sample", ["first", "second"]),
    "passes": ("sample", [2]),
}
RECIPE = "the recipe"


def main() -> None:
    """Compute curves, or show what is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("corpora", nargs="+")
    run.add_argument("--setting", nargs="+", default=list(SETTINGS), choices=[*SETTINGS, "none"])
    run.add_argument("--seed", type=int, default=1)
    commands.add_parser("table")
    draw = commands.add_parser("draw")
    draw.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    telemetry.switch_off()
    root = find_root()
    if arguments.command == "run":
        settings = load_settings(root / "params.yaml")
        for corpus in arguments.corpora:
            for name, changes in variants(arguments.setting).items():
                curve(root, corpus, settings, name=name, changes=changes, seed=arguments.seed, say=_say)
        return
    found = known_curves(root)
    if not found:
        sys.exit("no curve is there yet: `benchmarks/ablations.py run demo`")
    if arguments.command == "table":
        sys.stdout.write(table(found))
        return
    from dial2vec.benchmark.drawing import draw_curves, draw_paths

    arguments.folder.mkdir(parents=True, exist_ok=True)
    draw_curves(found, arguments.folder / "ablations.png")
    draw_paths([one for one in found if one.name == RECIPE], arguments.folder / "alignment-uniformity.png")


def variants(settings: list[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return what each curve changes, by its name; the recipe itself first."""
    found: dict[str, dict[str, dict[str, Any]]] = {RECIPE: {}}
    for setting in settings:
        block, values = SETTINGS.get(setting, ("", []))
        for value in values:
            found[f"{setting} {'no limit' if value is None else value}"] = {block: {setting: value}}
    return found


def table(curves: list[Curve]) -> str:
    """Return a Markdown row per curve: the start, the last checkpoint, and what labels and criteria choose."""
    lines = [
        "| corpus | setting | start | last checkpoint | chosen by labels of dev | chosen without labels |",
        "|---|---|---|---|---|---|",
    ]
    for one in curves:
        by_step = {int(point["step"]): point for point in one.points}
        shown = [0, max(by_step), one.by_labels, one.label_free]
        figures = [" / ".join(f"{by_step[step][task]:.2f}" for task in TASKS) for step in shown]
        chosen = [f"{figures[place]}, step {shown[place]}" for place in (2, 3)]
        lines.append(f"| {one.corpus} | {one.name} | {figures[0]} | {figures[1]} | {' | '.join(chosen)} |")
    return "\n".join(lines) + "\n"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
