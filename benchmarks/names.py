"""How well do names say what a group is about? Figures of docs/clusters.md.

    .venv/bin/python benchmarks/names.py table banking77 clinc150 domains german spanish hwu64 --archives FOLDER
    .venv/bin/python benchmarks/names.py hygiene --archives FOLDER
    .venv/bin/python benchmarks/names.py time --archives FOLDER
    .venv/bin/python benchmarks/names.py pairs --archives FOLDER
    .venv/bin/python benchmarks/names.py audit banking77 clinc150 hwu64 sgd --archives FOLDER

Each label of a corpus is a group whose name never sees the label. `table` finds the true label by the vector of the
name, with all-MiniLM-L6-v2: mean cosine, mean reciprocal rank and recall at 1, for the three terms of version 0.3 and
for the names of today. `hygiene` counts names of people and places, function words at an edge of a part, and equal
siblings. `time` names 100 groups of 5,000 dialogues. `pairs` writes 40 pairs of names in random order to
studies/names-pairs.jsonl, with three texts each, and which side is which to studies/names-pairs-key.json. `audit`
takes labels for a language model's names, and lists those that `describe --audit` would list if every name were right,
and if a group had the name of another one.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

STUDIES = Path(__file__).with_name("studies")
sys.path.insert(0, str(STUDIES))

from conversations.dialogue import Dialogue
from dial2vec.collection.clustering.levels import assign_fine, divide_topics
from dial2vec.collection.clustering.naming import Namer
from dial2vec.collection.clustering.partition import Groups, centres_of_groups
from dial2vec.collection.clustering.tree import find_levels
from dial2vec.collection.collection_folder import sampled
from dial2vec.collection.describing.audit import MARGIN
from dial2vec.data.languages import known_languages
from dial2vec.data.terms import Terms, names_of
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.nearest import unit_rows
from topic_corpora import desk, made, read_topics, sgd

JUDGE, SEED, MOST = "all-MiniLM-L6-v2", 1, 20_000
OWN = ("german", "spanish")
PAIRED = {"banking77": 8, "clinc150": 9, "hwu64": 9, "sgd_customers": 8, "self_dialogue": 6}
FOUND = ("sgd_customers", "self_dialogue")


class Named(NamedTuple):
    """Groups of one corpus with their names by both ways.

    :param labels: true label of each group, "" for groups that were found.
    """

    dialogues: list[Dialogue]
    groups: Groups
    labels: list[str]
    before: list[str]
    today: list[str]


def main() -> None:
    """Print a table, or write pairs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["table", "hygiene", "time", "pairs", "audit"])
    parser.add_argument("corpora", nargs="*", metavar="CORPUS")
    parser.add_argument("--archives", type=Path)
    parser.add_argument("--names", action="store_true", help="print all names too")
    given = parser.parse_args()
    if given.what == "table":
        table(given.corpora, given.archives, given.names)
    elif given.what == "audit":
        audit(given.corpora, given.archives)
    else:
        {"hygiene": hygiene, "time": cpu_time, "pairs": pairs}[given.what](given.archives)


def named(dialogues: Sequence[Dialogue], groups: Groups, labels: list[str]) -> Named:
    """Name groups by terms and by phrases."""
    rows = sampled(len(dialogues), MOST, SEED)
    dialogues, groups = [dialogues[row] for row in rows], groups[rows]
    terms = Terms.read(dialogues).of(groups, len(labels))
    today, _ = Namer.read(dialogues).names(groups, terms, range(len(labels)))
    return Named(dialogues, groups, labels, names_of(terms, range(len(labels))), today)


def labelled(name: str, folder: Path) -> Iterator[Named]:
    """Yield the groups of a corpus by its labels; "domains" are two corpora, each named by itself."""
    if name == "domains":
        # The domains of SGD; coffee (Taskmaster-4), cinema and restaurant (GSim), Cambridge (WOZ).
        parts = [[made(one.dialogue_id, [(turn.speaker, turn.text) for turn in one.turns], one.labels[0])
                  for one in [*sgd(folder, "dev"), *sgd(folder, "test")]], desk(folder)]  # fmt: skip
    elif name in OWN:
        parts = [[made(f"{label}/{at}", [("user", text) for text in request.split(" | ")], label)
                  for label, requests in yaml.safe_load((STUDIES / "names.yaml").read_text("utf-8"))[name].items()
                  for at, request in enumerate(requests)]]  # fmt: skip
    else:
        parts = [read_topics(name, folder)]
    for dialogues in parts:
        labels, groups = np.unique([one.labels[-1] for one in dialogues], return_inverse=True)
        yield named(dialogues, groups.astype(np.int32), [spelled(label) for label in labels])


def found(name: str, folder: Path, *, fine: bool = False) -> Named:
    """Return the topics, or the fine topics, of a corpus as they are found with the general student."""
    dialogues = read_topics(name, folder)
    dialogues = [dialogues[row] for row in sampled(len(dialogues), 3_000, SEED)]
    units = unit_rows(np.asarray(load_encoder("general").encode(dialogues)))
    groups = find_levels(units, units, seed=SEED).topics
    if fine:
        groups = assign_fine(units, groups, *divide_topics(units, units, groups, int(groups.max()) + 1, seed=SEED))
    return named(dialogues, groups, [""] * (int(groups.max()) + 1))


def spelled(label: str) -> str:
    """Return a label in words: "RentalCars" and "card_arrival" as "rental cars" and "card arrival"."""
    return " ".join(re.sub(r"([a-z])([A-Z])", r"\1 \2", label).replace("_", " ").lower().split())


def table(corpora: Sequence[str], folder: Path, show: bool) -> None:
    """Print how well names find their labels."""
    judge = load_encoder(JUDGE, precision="fp32")
    write("| corpus | groups | names | cosine | MRR | recall at 1 | words |\n|---|---|---|---|---|---|---|")
    for corpus in corpora:
        named_groups = [*labelled(corpus, folder)]
        labels = [label for one in named_groups for label in one.labels]
        goals = unit_rows(judge.encode_utterances(labels))
        for way in ("before", "today"):
            names = [name for one in named_groups for name in getattr(one, way)]
            cosines = unit_rows(judge.encode_utterances([name.lower() for name in names])) @ goals.T
            own = np.diag(cosines)
            ranks = 1 + (cosines > own[:, None]).sum(axis=1)
            figures = own.mean(), (1 / ranks).mean(), (ranks == 1).mean()
            words = np.mean([len(name.split()) for name in names])
            write(f"| {corpus} | {len(labels)} | {way} | {' | '.join(f'{x:.3f}' for x in figures)} | {words:.1f} |")
            if show:
                write("\n".join(f"    {label}: {name}" for label, name in zip(labels, names, strict=True)))


def hygiene(folder: Path) -> None:
    """Print shares of names that nobody should see."""
    marked = set(yaml.safe_load((STUDIES / "names.yaml").read_text("utf-8"))["people and places"])
    # Not what begins a phrase on purpose ("how old", "no cash"), nor the ends of "log out" and "top up".
    light = set(known_languages()["en"]["words"].split()) | {"need", "want", "please", "like", "got", "get"}
    light -= {"how", "no", "not", "up", "off", "out", "down"}
    write(
        "| groups | names | person or place, % | function word at an edge, % | equal siblings, % |"
        "\n|---|---|---|---|---|"
    )
    intents = [*labelled("banking77", folder), *labelled("clinc150", folder), *labelled("domains", folder)]
    for title, parts in (("fine topics", [found("sgd_customers", folder, fine=True)]), ("labels", intents)):
        for way in ("before", "today"):
            lists = [getattr(one, way) for one in parts]
            names = [name.lower() for own in lists for name in own]
            edges = [
                {word for part in name.split(", ") for word in (part.split()[0], part.split()[-1])} for name in names
            ]
            figures = (
                np.mean([bool(set(re.findall(r"\w+", name)) & marked) for name in names]),
                np.mean([bool(own & light) for own in edges]),
                sum(len(own) - len(set(own)) for own in lists) / len(names),
            )
            write(f"| {title} ({len(names)}) | {way} | {' | '.join(f'{100 * x:.1f}' for x in figures)} |")


def cpu_time(folder: Path) -> None:
    """Print the CPU seconds in which 100 groups of 5,000 dialogues are named, by the 20,000 that are read."""
    dialogues = [one for split in ("train", "dev", "test") for one in sgd(folder, split)]
    rows = np.random.default_rng(SEED).choice(len(dialogues), 20_000)
    services = np.unique([dialogues[row].labels[-1] for row in rows], return_inverse=True)[1]
    # Services are divided until there are a hundred groups.
    groups = np.unique(services * 4 + np.arange(len(rows)) % 4, return_inverse=True)[1].astype(np.int32) % 100
    dialogues = [dialogues[row] for row in rows]
    begun = time.process_time()
    terms = Terms.read(dialogues).of(groups, 100)
    write(f"terms: {time.process_time() - begun:.1f} CPU seconds")
    begun = time.process_time()
    namer = Namer.read(dialogues)
    write(f"phrases: {time.process_time() - begun:.1f} CPU seconds")
    namer.names(groups, terms, range(100))
    write(f"phrases and names: {time.process_time() - begun:.1f} CPU seconds")


def pairs(folder: Path) -> None:
    """Write 40 pairs of names of five corpora, and their key."""
    rng, lines, key = np.random.default_rng(64), list[dict[str, object]](), list[str]()
    for corpus, n in PAIRED.items():
        [one] = [found(corpus, folder)] if corpus in FOUND else labelled(corpus, folder)
        units = unit_rows(np.asarray(load_encoder("general").encode(one.dialogues)))
        near = (units * centres_of_groups(units, one.groups)[one.groups]).sum(axis=1)
        differ = [at for at in range(len(one.labels)) if one.before[at].lower() != one.today[at].lower()]
        for at in rng.permutation(differ)[:n].tolist():
            typical = typical_rows(one.groups, near, at)
            texts = [" / ".join(turn.text for turn in one.dialogues[row].turns)[:300] for row in typical]
            sides = [("before", one.before[at][:1].upper() + one.before[at][1:]), ("today", one.today[at])]
            if rng.random() < 0.5:
                sides.reverse()
            lines.append({"corpus": corpus, "texts": texts, "A": sides[0][1], "B": sides[1][1]})
            key.append(sides[0][0])
    order = rng.permutation(len(lines)).tolist()
    shuffled = [{"pair": number} | lines[at] for number, at in enumerate(order, 1)]
    (STUDIES / "names-pairs.jsonl").write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in shuffled), "utf-8"
    )
    names = {
        number: {"A": key[at], "B": "today" if key[at] == "before" else "before"} for number, at in enumerate(order, 1)
    }
    (STUDIES / "names-pairs-key.json").write_text(json.dumps(names, indent=0) + "\n", "utf-8")


def audit(corpora: Sequence[str], folder: Path) -> None:
    """Print how many names are nearer to another group's dialogues, by the general student."""
    encoder = load_encoder("general")
    write("| corpus | groups | right names listed | wrong names listed, % |\n|---|---|---|---|")
    for corpus in corpora:
        dialogues = read_topics(corpus, folder)
        labels, groups = np.unique([one.labels[-1] for one in dialogues], return_inverse=True)
        centres = centres_of_groups(unit_rows(np.asarray(encoder.encode(dialogues))), groups, len(labels))
        cosines = unit_rows(encoder.encode_utterances([spelled(label) for label in labels])) @ centres.T
        listed = cosines.max(axis=1, keepdims=True) - cosines > MARGIN
        wrong = 100 * listed[~np.eye(len(labels), dtype=bool)].mean()
        write(f"| {corpus} | {len(labels)} | {np.trace(listed)} | {wrong:.1f} |")


def typical_rows(groups: Groups, near: NDArray[np.float32], group: int) -> list[int]:
    """Return three dialogues of a group that are nearest to its centre."""
    rows = np.flatnonzero(groups == group)
    return [int(row) for row in rows[np.argsort(-near[rows], kind="stable")[:3]]]


def write(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
