"""Ways to pool the windows of a long dialogue, on dialogues of SGD's test split that are joined.

    .venv/bin/dial2vec fetch sgd
    .venv/bin/python benchmarks/long.py ways --output long.json   # the table of ways in docs/long.md
    .venv/bin/python benchmarks/long.py length                    # the table of lengths
    .venv/bin/python benchmarks/long.py meetings                  # words per second of meetings, docs/benchmarks.md

A long dialogue is six joined ones. In "one topic" all six have its label, so that every part shows the topic. In
"mixed" three have its label and three have others, in any order. Per seed, every dialogue is used once for its label.
`WAYS` are the ways of pooling, `CUTS` the ways of cutting.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, Turn
from dial2vec.data.corpora import get_corpus
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.turns import ReadTurns
from dial2vec.encoder.windows import Windows, windows_of
from dial2vec.evaluation.scores import score
from dial2vec.files import find_root

JOINED, OTHERS, OVERLAP, RUNS, AT_ONCE = 6, 3, 4, 10, 16
LENGTHS = (300, 1_000, 5_000, 20_000)
# Words of a meeting, numbers of meetings and of short dialogues, and how often each kind is read.
WORDS, MEETINGS, SHORT, TIMES = 9_000, 6, 200, 3
Vector = NDArray[np.float32]


def main() -> None:
    """Measure ways of pooling, or the cost of length."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    ways = commands.add_parser("ways")
    ways.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    ways.add_argument("--dialogues", type=int, default=200, help="largest number of long dialogues per seed")
    ways.add_argument("--output", type=Path, required=True)
    commands.add_parser("length")
    commands.add_parser("meetings")
    arguments = parser.parse_args()
    data = find_root() / "data"
    found = list(get_corpus("sgd", data=data).read(data / "sgd", quarantine=[]))
    labelled = [one for one in found if one.split == "test" and one.label is not None]
    encoder = DialogueEncoder.from_pretrained("all-MiniLM-L6-v2")
    if arguments.command == "length":
        print_lengths(encoder, labelled)
        return
    if arguments.command == "meetings":
        print_meetings(encoder, labelled)
        return
    rows: list[dict[str, Any]] = []
    for seed in arguments.seeds:
        for kind in ("one topic", "mixed"):
            joined = join(labelled, kind=kind, most=arguments.dialogues, seed=seed)
            rows += [{"kind": kind, "seed": seed} | row for row in measure_ways(encoder, joined)]
            arguments.output.write_text(json.dumps(rows, indent=1))
    sys.stdout.write(table(rows))


def join(dialogues: Sequence[Dialogue], *, kind: str, most: int, seed: int) -> list[Dialogue]:
    """Join dialogues to long ones of one label each; the speakers of all are taken for the same two."""
    draw = np.random.default_rng(seed)
    own = JOINED if kind == "one topic" else JOINED - OTHERS
    groups = []
    for label in sorted({str(one.label) for one in dialogues}):
        members = draw.permutation([place for place, one in enumerate(dialogues) if one.label == label])
        groups += [(label, members[first : first + own]) for first in range(0, len(members) - own + 1, own)]
    long = []
    for number in draw.permutation(len(groups))[:most]:
        label, members = groups[number]
        others = [place for place, one in enumerate(dialogues) if one.label != label]
        parts = draw.permutation([*members, *draw.choice(others, JOINED - own, replace=False)])
        turns = tuple(
            Turn(str(role), turn.text)
            for part in parts
            for role, turn in zip(dialogues[part].roles, dialogues[part].turns, strict=True)
        )
        long.append(Dialogue(f"long-{number}", turns, (label,)))
    return long


def measure_ways(encoder: DialogueEncoder, joined: Sequence[Dialogue]) -> list[dict[str, Any]]:
    """Score each way of pooling on each way of cutting; every cut is read once."""
    labels = [str(one.label) for one in joined]
    rows = []
    for cut, windows_by in CUTS.items():
        begin = time.perf_counter()
        pooled: dict[str, list[Vector]] = {way: [] for way in WAYS}
        windows = windows_by(encoder, joined)
        for first in range(0, len(windows), AT_ONCE):
            some = windows[first : first + AT_ONCE]
            alone = [part for one in some for part in apart(one)]
            read = iter(encoder.read_turns(alone))
            for one in some:
                parts = [next(read) for _ in one.sequences]
                for way, pool in WAYS.items():
                    pooled[way].append(pool(parts))
        seconds = time.perf_counter() - begin
        n_windows = float(np.mean([len(one.sequences) for one in windows]))
        for way, vectors in pooled.items():
            figures = score(np.array(vectors), labels, runs=RUNS, seed=1)
            rows.append({"cut": cut, "way": way, "n": len(labels), "windows": n_windows, "seconds": seconds} | figures)
    return rows


def apart(windows: Windows) -> list[Windows]:
    """Return each window as if it were a whole dialogue."""
    pairs = zip(windows.sequences, windows.turns, strict=True)
    return [Windows((sequence,), (turns,), windows.roles) for sequence, turns in pairs]


def roles_over_all(parts: Sequence[ReadTurns]) -> Vector:
    """Sum of the speakers' means over all their tokens."""
    sums, tokens = sum(part.sums for part in parts), sum(part.tokens for part in parts)
    return ReadTurns(sums, tokens, sums, parts[0].weights, parts[0].roles).of_speakers().sum(0)


def mean_over_all(parts: Sequence[ReadTurns]) -> Vector:
    """Mean over all tokens."""
    return np.asarray(sum(part.sums.sum(0) for part in parts) / sum(part.tokens.sum() for part in parts))


def turns_over_all(parts: Sequence[ReadTurns]) -> Vector:
    """Mean of the turns' means."""
    sums, tokens = sum(part.sums for part in parts), sum(part.tokens for part in parts)
    return np.asarray((sums / tokens.clip(min=1)[:, None]).mean(0))


def mean_of_windows(parts: Sequence[ReadTurns]) -> Vector:
    """Mean of the windows' role-pooled vectors."""
    return np.mean([part.of_speakers().sum(0) for part in parts], axis=0)


def mean_of_unit_windows(parts: Sequence[ReadTurns]) -> Vector:
    """Mean of the windows' role-pooled vectors at length 1."""
    vectors = [part.of_speakers().sum(0) for part in parts]
    return np.mean([vector / np.linalg.norm(vector) for vector in vectors], axis=0)


def first_window(parts: Sequence[ReadTurns]) -> Vector:
    """The first window alone, like a cut at the end."""
    return np.asarray(parts[0].of_speakers().sum(0))


WAYS: dict[str, Callable[[Sequence[ReadTurns]], Vector]] = {
    "role, over all tokens": roles_over_all,
    "mean, over all tokens": mean_over_all,
    "turns, over all turns": turns_over_all,
    "mean of the windows": mean_of_windows,
    "mean of the windows at length 1": mean_of_unit_windows,
    "first window only": first_window,
}


def full(encoder: DialogueEncoder, dialogues: Sequence[Dialogue]) -> list[Windows]:
    """Windows as they are: as many turns as fit."""
    return windows_of(encoder.tokens, dialogues)


def overlapping(encoder: DialogueEncoder, dialogues: Sequence[Dialogue]) -> list[Windows]:
    """Each window but the first begins with the last turns of the one before; their tokens count in both."""
    found = []
    for dialogue, turns in zip(dialogues, encoder.tokens.turns_of(dialogues), strict=True):
        spans, first, after = [], 0, 0
        while after < len(turns):
            after = first + 1
            while after < len(turns) and encoder.tokens.length([len(t) for t in turns[first : after + 1]]) <= (
                encoder.max_length
            ):
                after += 1
            spans.append(range(first, after))
            first = max(after - OVERLAP, first + 1)
        read = [encoder.tokens.assemble([turns[t] for t in s], [dialogue.roles[t] for t in s]) for s in spans]
        places = [np.array(span)[one.turns] for span, one in zip(spans, read, strict=True)]
        found.append(Windows(tuple(read), tuple(places), dialogue.roles))
    return found


CUTS: dict[str, Callable[[DialogueEncoder, Sequence[Dialogue]], list[Windows]]] = {
    "windows": full,
    f"windows that share {OVERLAP} turns": overlapping,
}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return means over seeds as Markdown."""
    lines = ["| windows | pooling | MAP, one topic | purity | MAP, mixed | purity |", "|---|---|---|---|---|---|"]
    for cut in CUTS:
        for way in WAYS:
            cells = []
            for kind in ("one topic", "mixed"):
                of = [row for row in rows if (row["cut"], row["way"], row["kind"]) == (cut, way, kind)]
                cells += [f"{np.mean([row[figure] for row in of]):.1f}" for figure in ("map", "purity")]
            lines.append(f"| {cut} | {way} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def print_lengths(encoder: DialogueEncoder, dialogues: Sequence[Dialogue]) -> None:
    """Print time and memory per number of words, longest last: memory is the peak of the process so far."""
    turns = [Turn(str(r), t.text) for one in dialogues for r, t in zip(one.roles, one.turns, strict=True)]
    words = np.cumsum([len(turn.text.split()) for turn in turns])
    encoder.encode(dialogues[0])
    for length in LENGTHS:
        joined = Dialogue("joined", tuple(turns[: int(np.searchsorted(words, length)) + 1]))
        [windows] = windows_of(encoder.tokens, [joined])
        begin = time.perf_counter()
        encoder.encode(joined)
        seconds = time.perf_counter() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        sys.stdout.write(
            f"| {length:,} | {len(joined.turns):,} | {len(windows.sequences)} | {seconds:.2f} | {peak:.2f} |\n"
        )


def print_meetings(encoder: DialogueEncoder, dialogues: Sequence[Dialogue]) -> None:
    """Print words per second of CPU of short dialogues and of meetings that are made of their turns, in turn."""
    rng = np.random.default_rng(0)
    kinds = {"short dialogues": dialogues[:SHORT]}
    for speakers in (4, 8, 20):
        kinds[f"meetings of {speakers}"] = [meeting(dialogues, rng, speakers=speakers) for _ in range(MEETINGS)]
    speeds: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(TIMES):
        for kind, read in kinds.items():
            begin = time.process_time()
            with encoder.autocast("auto"):
                encoder.encode(read)
            words = sum(len(turn.text.split()) for one in read for turn in one.turns)
            speeds[kind].append(words / (time.process_time() - begin))
    for kind, found in speeds.items():
        sys.stdout.write(f"| {kind} | {np.median(found):,.0f} ({min(found):,.0f} to {max(found):,.0f}) |\n")


def meeting(dialogues: Sequence[Dialogue], rng: np.random.Generator, *, speakers: int) -> Dialogue:
    """Return the turns of random dialogues, at least 9,000 words, said by random speakers."""
    turns: list[Turn] = []
    words = 0
    while words < WORDS:
        for turn in dialogues[rng.integers(len(dialogues))].turns:
            turns.append(Turn(f"s{rng.integers(speakers)}", turn.text))
            words += len(turn.text.split())
    return Dialogue("meeting", tuple(turns))


if __name__ == "__main__":
    main()
