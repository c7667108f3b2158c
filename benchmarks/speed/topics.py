"""Seconds of `DialogueTopics` on demo dialogues, and how well it shares out dialogues that were joined of others.

    .venv/bin/python benchmarks/speed/topics.py --sizes 1000 10000
    .venv/bin/python benchmarks/speed/topics.py --file calls.jsonl

A joined dialogue is two of different topics, one after the other. Its share of a topic should be that of its words.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import numpy as np

from conversations.dialogue import read_dialogues
from dial2vec import Dialogue, DialogueTopics
from dial2vec.data.corpora.demo import generate_demo

JOINED, WINDOWS = 500, (1, 2, 3, 4, 6, 8)


def seconds(work: Callable[[], object]) -> str:
    """Return wall time and processor time of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return f"{time.perf_counter() - wall:.1f} s ({time.process_time() - cpu:.1f} s of CPU)"


def shared_out(topics: DialogueTopics, dialogues: list[Dialogue]) -> list[str]:
    """Return a line for each window: mean distance of shares from the true ones, and how often both topics lead."""
    random, own = Random(1), dict(zip(dialogues, topics.predict(dialogues).tolist(), strict=True))
    pairs = [random.sample(dialogues, 2) for _ in range(JOINED)]
    pairs = [pair for pair in pairs if own[pair[0]] != own[pair[1]]]
    joined = [Dialogue(str(row), first.turns + second.turns) for row, (first, second) in enumerate(pairs)]
    places, true = [*topics.names_], np.zeros((len(pairs), len(topics.names_)))
    for row, pair in enumerate(pairs):
        for dialogue in pair:
            true[row, places.index(own[dialogue])] = len(dialogue.text) / sum(len(one.text) for one in pair)
    lines = []
    for window in WINDOWS:
        shares = topics.approximate_distribution(joined, window=window)
        lead = np.take_along_axis(true, np.argsort(-shares)[:, :2], axis=1) > 0
        lines.append(
            f"window {window}: {np.abs(shares - true).sum(1).mean() / 2:.3f} apart, {lead.mean():.1%} of topics"
        )
    lead = np.take_along_axis(true, np.argsort(-topics.transform(joined))[:, :2], axis=1) > 0
    return [*lines, f"cosines of the whole: {lead.mean():.1%} of topics"]


def main() -> None:
    """Print the seconds for each size, and the shares of the largest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--file", type=Path, help="dialogues of one's own instead, a .jsonl file")
    options = parser.parse_args()
    corpora = [list(generate_demo(n_dialogues=size)) for size in options.sizes]
    for dialogues in [list(read_dialogues(options.file))] if options.file else corpora:
        topics = DialogueTopics()
        fit, predict = (seconds(partial(do, dialogues)) for do in (topics.fit, topics.predict))
        sys.stdout.write(f"{len(dialogues)} dialogues: {len(topics.names_)} topics, fit {fit}, predict {predict}\n")
    sys.stdout.write("\n".join(shared_out(topics, dialogues)) + "\n")


if __name__ == "__main__":
    main()
