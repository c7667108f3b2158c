"""How well does a lens tell what happened? Figures of docs/lenses.md, on SGD's annotations.

    .venv/bin/python benchmarks/lenses.py run --archive sgd.zip
    .venv/bin/python benchmarks/lenses.py run --archive sgd.zip --wrong 0.1 --examples 500
    .venv/bin/python benchmarks/lenses.py run --archive sgd.zip --ways minilm
    .venv/bin/python benchmarks/lenses.py run --archive gsim.tgz --ways lens whole described
    .venv/bin/python benchmarks/lenses.py time --archive sgd.zip
    .venv/bin/python benchmarks/lenses.py map --archive sgd.zip --examples 200 500
    .venv/bin/python benchmarks/lenses.py table

Five targets: `failed` (any NOTIFY_FAILURE), `tried` (any NOTIFY), `changed` (NEGATE after CONFIRM), `alternatives`
(REQUEST_ALTS), `declined` (NEGATE_INTENT). Examples are drawn from 3,000 dialogues of the train split at their natural
shares, with two of each side at least. Judged are 1,500 dialogues of the test split, all of whose services are absent
from training (unseen), and 700 others of it (seen). Ways: `lens`, the same by `examples` alone, `whole` (logistic
regression on whole-dialogue vectors of the general student), `minilm` (the model of a lens on MiniLM's turns), and
`described` (no example: likeness to two sentences, by the general student's turns). Rows go to studies/lenses.jsonl.

GSIM, whose wording people wrote, has `failed` (NOTIFY_FAILURE), `negated` (the customer's NEGATE) and `refused` (the
agent's). Examples are calls about films (Sim-M), and judged are those about restaurants (Sim-R).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tarfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, normalized_mutual_info_score, roc_auc_score

from conversations.dialogue import Dialogue, Turn
from dial2vec.collection.lenses.learning import LensData, calibration_error, learn
from dial2vec.collection.lenses.likeness import likeness, probabilities
from dial2vec.collection.lenses.model import Design, TurnReader, Turns, fit_weights, pooled
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL, MINILM, resolve

RESULTS = Path(__file__).with_name("studies") / "lenses.jsonl"
GROUPS = (6, 12)
POOL, JUDGED, SPARE, SEED = 3_000, {"unseen": 1_500, "seen": 700}, 1_000, 0
# Two sentences of each side, written before any figure was seen.
SAID = {
    "failed": (
        ("Sorry, the booking has failed.", "I was not able to make the reservation."),
        ("Your reservation is confirmed.", "The booking was made successfully."),
    ),
    "tried": (
        ("Your reservation is confirmed.", "Sorry, the booking has failed."),
        ("Thanks, that is all the information I needed.", "I am only looking, goodbye."),
    ),
    "changed": (
        (
            "No, I would like to change that, make it another day.",
            "Actually, that is not right, please change the time.",
        ),
        ("Yes, that is correct.", "Sounds good, please go ahead."),
    ),
    "alternatives": (
        ("Do you have anything else?", "Can you show me another one?"),
        ("That one sounds good.", "I like that one."),
    ),
    "negated": (
        ("No, that is not right.", "No, I don't want that one."),
        ("Yes, that works.", "Yes, please go ahead."),
    ),
    "refused": (
        ("Sorry, that is not available.", "I could not find anything like that."),
        ("There is one that fits.", "That is available."),
    ),
    "declined": (
        ("No, I do not want to book it now.", "Not right now, thanks."),
        ("Yes, please book it.", "Yes, I would like to make a reservation."),
    ),
}
SGD = ("failed", "tried", "changed", "alternatives", "declined")
GSIM = {
    ("system_acts", "NOTIFY_FAILURE"): "failed",
    ("user_acts", "NEGATE"): "negated",
    ("system_acts", "NEGATE"): "refused",
}
Marks = dict[str, set[int]]


class Part(NamedTuple):
    """Dialogues, and the turns that say each target."""

    dialogues: list[Dialogue]
    marks: list[Marks]

    def known(self, target: str) -> NDArray[np.bool_]:
        """Return whether each dialogue has a target."""
        return np.array([bool(marks[target]) for marks in self.marks])


def read(archive: Path) -> dict[str, Part]:
    """Read pool, unseen and seen dialogues, drawn by the seed; GSIM has none that are seen."""
    if archive.suffix != ".zip":
        return dict(zip(("pool", "unseen"), gsim(archive), strict=True))
    with ZipFile(archive) as files:
        train, test = (list(_dialogues(files, split)) for split in ("train", "test"))
    services = set().union(*(each for _, _, each in train))
    sides: dict[str, list[tuple[Dialogue, Marks]]] = {"pool": [], "unseen": [], "seen": []}
    sides["pool"] = [(one, marks) for one, marks, _ in train]
    for one, marks, own in test:
        sides["seen" if own & services else "unseen"].append((one, marks))
    rng, sizes = np.random.default_rng(SEED), {"pool": POOL, **JUDGED}
    return {
        side: Part(*map(list, zip(*(rows[row] for row in rng.permutation(len(rows))[: sizes[side]]), strict=True)))
        for side, rows in sides.items()
    }


def _dialogues(files: ZipFile, split: str) -> Iterator[tuple[Dialogue, Marks, set[str]]]:
    for name in sorted(name for name in files.namelist() if re.search(rf"/{split}/dialogues_\d+\.json$", name)):
        for record in json.loads(files.read(name)):
            turns = [Turn(turn["speaker"].lower(), turn["utterance"]) for turn in record["turns"]]
            dialogue = Dialogue(f"{split}/{record['dialogue_id']}", tuple(turns))
            yield dialogue, _marks(record["turns"]), set(record["services"])


def gsim(archive: Path) -> Iterator[Part]:
    """Yield the dialogues about films, and those about restaurants."""
    with tarfile.open(archive) as files:
        for domain in ("sim-M", "sim-R"):
            names = [name for name in sorted(files.getnames()) if f"/{domain}/" in name and name.endswith(".json")]
            records = [record for name in names for record in json.load(files.extractfile(name))]
            yield Part(*map(list, zip(*map(_simulated, records), strict=True)))


def _simulated(record: Any) -> tuple[Dialogue, Marks]:
    """Return a dialogue of GSIM, whose records have an answer of the agent and what the customer says to it."""
    turns, marks = [], {target: set() for target in GSIM.values()}
    for spoken in record["turns"]:
        for side in ("system", "user"):
            for act in spoken.get(f"{side}_acts", ()):
                if target := GSIM.get((f"{side}_acts", act["type"])):
                    marks[target].add(len(turns))
            if f"{side}_utterance" in spoken:
                turns.append(Turn(side, spoken[f"{side}_utterance"]["text"]))
    return Dialogue(record["dialogue_id"], tuple(turns)), marks


def _marks(turns: list[Any]) -> Marks:
    marks: Marks = {target: set() for target in SGD}
    before: set[str] = set()
    for place, turn in enumerate(turns):
        acts = {action["act"] for frame in turn["frames"] for action in frame.get("actions", ())}
        found = {
            "failed": "NOTIFY_FAILURE" in acts,
            "tried": bool(acts & {"NOTIFY_FAILURE", "NOTIFY_SUCCESS"}),
            "changed": "NEGATE" in acts and "CONFIRM" in before,
            "alternatives": "REQUEST_ALTS" in acts,
            "declined": "NEGATE_INTENT" in acts,
        }
        for target in (target for target, so in found.items() if so):
            marks[target].add(place)
        before = acts
    return marks


class Drawn(NamedTuple):
    """Examples of one target, which some noise may have labelled wrongly."""

    target: str
    rows: NDArray[np.int64]
    labels: NDArray[np.bool_]
    spare: NDArray[np.int64]


def drawn(pool: Part, target: str, n: int, draw: int, wrong: float) -> Drawn:
    """Draw n examples, with two of each side at least."""
    rng, known = np.random.default_rng(draw), pool.known(target)
    while True:
        rows = rng.choice(len(known), n, replace=False)
        if 2 <= known[rows].sum() <= n - 2:
            break
    others = np.setdiff1d(np.arange(len(known)), rows)
    spare = np.sort(rng.choice(others, min(SPARE, len(others)), replace=False))
    return Drawn(target, rows, known[rows] ^ (rng.random(n) < wrong), spare)


# A way takes examples, and returns chances and turns for dialogues of a side.
Way = Callable[[Drawn, str], tuple[NDArray[np.float64], NDArray[np.int32] | None]]


def ways(parts: dict[str, Part], names: list[str]) -> dict[str, Callable[[Drawn], Callable[[str], Any]]]:
    """Return the ways by name: a function of examples that learns, and returns one that judges a side."""
    reader = TurnReader()
    turns = {side: reader.read(part.dialogues) for side, part in parts.items()}

    def lens(given: Drawn, described: bool = True) -> Callable[[str], Any]:
        said = [reader.sentences(texts if described else ()) for texts in SAID[given.target]]
        examples, spare = turns["pool"].some(given.rows), turns["pool"].some(given.spare)
        model, _ = learn(LensData(examples, np.where(given.labels, 0, 1), spare, said, reader.word), SEED)
        return lambda side: [each[:, 0] for each in model.read(turns[side])]

    found: dict[str, Callable[[Drawn], Callable[[str], Any]]] = {
        "lens": lens,
        "examples": lambda given: lens(given, described=False),
    }
    if {"whole", "described"} & set(names):
        student = load_encoder(resolve(GENERAL))
        whole = {side: student.encode(part.dialogues) for side, part in parts.items()}

        def by_whole(given: Drawn) -> Callable[[str], Any]:
            model = LogisticRegression(C=10, max_iter=1_000).fit(whole["pool"][given.rows], given.labels)
            return lambda side: (model.predict_proba(whole[side])[:, 1], None)

        def described(given: Drawn) -> Callable[[str], Any]:
            units = np.stack([student.encode_utterances(texts).mean(0) for texts in SAID[given.target]])
            units /= np.linalg.norm(units, axis=1, keepdims=True)

            def judge(side: str) -> Any:
                own = np.concatenate(student.encode(parts[side].dialogues, output="turns"))
                alike = likeness(own.__getitem__, turns[side].starts, units)
                return probabilities(alike)[:, 0], alike.turns[:, 0]

            return judge

        found |= {"whole": by_whole, "described": described}
    if "minilm" in names:
        found["minilm"] = by_minilm(parts, turns)
    return {name: found[name] for name in names}


def by_minilm(parts: dict[str, Part], turns: dict[str, Turns]) -> Callable[[Drawn], Callable[[str], Any]]:
    """Return the way that reads each turn and the one before by MiniLM, apart by side."""
    encoder = load_encoder(MINILM)
    dense = {}
    for side, part in parts.items():
        own = np.concatenate(encoder.encode(part.dialogues, output="turns")).astype(float)
        before = np.concatenate([np.zeros((1, own.shape[1])), own[:-1]])
        before[turns[side].starts[:-1]] = 0
        pair, first = np.hstack([own, before]), (turns[side].sides == 0)[:, None]
        rows = csr_array(np.hstack([pair * first, pair * ~first]))
        dense[side] = Design(rows, np.arange(rows.shape[1]), turns[side].starts)

    def learnt(given: Drawn) -> Callable[[str], Any]:
        design = dense["pool"].some(given.rows)
        weights = fit_weights(design, given.labels.astype(float))

        def judge(side: str) -> Any:
            spoken = dense[side].rows @ weights[:-1]
            chances = expit(pooled(spoken, dense[side].starts) + weights[-1])
            best = [part.argmax() for part in np.split(spoken, dense[side].starts[1:-1])]
            return chances, np.array(best)

        return judge

    return learnt


def run(arguments: argparse.Namespace) -> None:
    """Measure each way at each number of examples, and append the rows."""
    parts = read(arguments.archive)
    corpus = "sgd" if arguments.archive.suffix == ".zip" else "gsim"
    for name, way in ways(parts, arguments.ways).items():
        for n in [0] if name == "described" else (n for n in arguments.examples if n < len(parts["pool"].dialogues)):
            for target in parts["pool"].marks[0]:
                for draw in range(1 if name == "described" else arguments.draws):
                    given = drawn(parts["pool"], target, n or 20, draw, arguments.wrong)
                    begin = time.process_time()
                    judge = way(given)
                    row = {"corpus": corpus, "way": name, "examples": n, "target": target, "draw": draw}
                    row["wrong"] = arguments.wrong
                    row["seconds"] = round(time.process_time() - begin, 2)
                    for side in (side for side in parts if side != "pool"):
                        row |= judged(parts[side], target, side, *judge(side))
                    with RESULTS.open("a") as handle:
                        handle.write(json.dumps(row) + "\n")


def judged(part: Part, target: str, side: str, chances: Any, turns: Any) -> dict[str, float]:
    """Return the figures of one side, in percent; `turn` counts turns that are the annotated one or beside it."""
    known = part.known(target).astype(float)
    figures = {
        "auroc": roc_auc_score(known, chances),
        "ap": average_precision_score(known, chances),
        "ece": calibration_error(known, chances),
    }
    if turns is not None:
        hits = [min(abs(turns[row] - turn) for turn in part.marks[row][target]) <= 1 for row in np.flatnonzero(known)]
        figures["turn"] = float(np.mean(hits))
    return {f"{side}_{name}": round(100 * float(value), 1) for name, value in figures.items()}


def table() -> None:
    """Print the means over targets and draws, and the targets apart."""
    groups = defaultdict(list)
    for line in RESULTS.read_text().splitlines():
        row = json.loads(line)
        for target in ("all", row["target"]):
            groups[row["corpus"], row["way"], row["wrong"], row["examples"], target].append(row)
    columns = [f"{side}_{name}" for side in JUDGED for name in ("auroc", "ap", "ece", "turn")] + ["seconds"]
    write("| corpus | way | wrong | examples | target |", " | ".join(columns), "|")
    for (*key, target), rows in sorted(groups.items(), key=lambda each: tuple(map(str, each[0]))):
        figures = [f"{mean(row[name] for row in rows):.1f}" if name in rows[0] else "-" for name in columns]
        write("|", " | ".join(map(str, [*key, target, *figures])), "|")


def timed(arguments: argparse.Namespace) -> None:
    """Print CPU seconds of learning from 500 examples, and of reading, per thousand dialogues."""
    parts = read(arguments.archive)
    reader = TurnReader()
    turns = reader.read(parts["pool"].dialogues)
    given = drawn(parts["pool"], "failed", 500, 0, 0.0)
    said = [reader.sentences(texts) for texts in SAID["failed"]]
    begin = time.process_time()
    lesson = LensData(turns.some(given.rows), np.where(given.labels, 0, 1), turns.some(given.spare), said, reader.word)
    model, _ = learn(lesson, SEED)
    write(f"learning: {time.process_time() - begin:.1f} s")
    for number in range(3):
        begin = time.process_time()
        model.read(TurnReader().read(parts["pool"].dialogues))
        seconds = (time.process_time() - begin) / len(parts["pool"].dialogues)
        write(f"reading {number + 1}: {1_000 * seconds:.2f} s / 1,000")


def mapped(arguments: argparse.Namespace) -> None:
    """Print how well groups of the five lenses' probabilities agree with how a booking ended, beside whole dialogues.

    Groups are of k-means, 6 and 12 of them; figures are normalised mutual information, in percent, means over draws.
    """
    parts = read(arguments.archive)
    ends = [_end(marks) for marks in parts["unseen"].marks]
    whole = load_encoder(resolve(GENERAL)).encode(parts["unseen"].dialogues)
    write("whole dialogues:", *(f"{agreement(ends, whole, k):.1f}" for k in GROUPS))
    lens = ways(parts, ["lens"])["lens"]
    for n in arguments.examples:
        figures = []
        for draw in range(arguments.draws):
            judges = [lens(drawn(parts["pool"], target, n, draw, 0.0)) for target in SGD]
            chances = np.stack([judge("unseen")[0] for judge in judges], axis=1)
            figures.append([agreement(ends, chances, k) for k in GROUPS])
        write(f"lenses by {n} examples:", *(f"{figure:.1f}" for figure in np.mean(figures, axis=0)))


def _end(marks: Marks) -> str:
    made = marks["tried"] - marks["failed"]
    if not marks["failed"]:
        return "made" if made else "never tried"
    return "made at last" if made and max(made) > max(marks["failed"]) else "failed"


def agreement(ends: list[str], vectors: NDArray[np.float64], k: int) -> float:
    """Return the agreement of k groups of centred vectors of length 1 with the ends, the mean of three seeds."""
    units = vectors - vectors.mean(0)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    groups = (KMeans(k, n_init=3, random_state=seed).fit_predict(units) for seed in range(3))
    return 100 * mean(normalized_mutual_info_score(ends, each) for each in groups)


def write(*words: str) -> None:
    """Print a line."""
    sys.stdout.write(" ".join(words) + "\n")


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "table", "time", "map"])
    parser.add_argument("--archive", type=Path)
    parser.add_argument("--ways", nargs="+", default=["lens", "examples", "whole", "described"])
    parser.add_argument("--examples", nargs="+", type=int, default=[20, 50, 200, 500, 2_000])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--wrong", type=float, default=0.0, help="share of examples with the wrong label")
    arguments = parser.parse_args()
    if arguments.command != "table" and arguments.archive is None:
        parser.error("give --archive")
    {"run": run, "table": lambda _: table(), "time": timed, "map": mapped}[arguments.command](arguments)


if __name__ == "__main__":
    sys.exit(main())
