"""`dial2vec compare` on a corpus with made-up dates: is a planted change found, and nothing else?

    .venv/bin/dial2vec run            # with corpora: [sgd] in params.yaml
    .venv/bin/python benchmarks/changes.py

Up to 2,000 dialogues get dates in April and May, a rating, a channel and a duration. Calls to one hotel service have
low ratings, alarms are mostly set by chat. Dates are dealt out at random many times: each time with a given chance, the
dialogues of one service are in May; all others with a chance of one half. `at the top` counts the times in which the
group of this service comes first; `else` those in which anything else is claimed, in groups, metadata or terms.

Writes artifacts/changes/calls.jsonl and the collection artifacts/changes/calls, in which that service has a chance of
0.8, and another one is new in May.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
from groups import dialogues_of

from conversations.dialogue import Dialogue, write_dialogues
from dial2vec.collection.adding import add
from dial2vec.collection.changes import compare_groups
from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.clustering.clusters import read_assignment
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.encoder.loading import load_encoder

GROWS, NEW = "Buses_3", "Banks_2"
LOW_RATINGS, BY_CHAT = "Hotels_4", "Alarm_1"
BOUNDARY = "2026-05-01"
CHANCES = (0.5, 0.6, 0.7, 0.8, 1.0)


def date_of(random: Random, chance: float) -> str:
    """Return a time in April, or with this chance in May, on a day from 1 to 30."""
    day = datetime(2026, 5 if random.random() < chance else 4, 1) + timedelta(days=random.randrange(30))
    return (day + timedelta(minutes=random.randrange(8 * 60, 20 * 60))).isoformat()


def call_of(dialogue: Dialogue, number: int, random: Random) -> Dialogue:
    """Return a dialogue as a call with made-up facts, without its label."""
    [label] = dialogue.labels[:1]
    weights = [5, 4, 2, 1, 1] if label == LOW_RATINGS else [1, 1, 2, 4, 4]
    channels = [5, 95, 0] if label == BY_CHAT else [50, 40, 10]
    return replace(
        dialogue,
        dialogue_id=f"call-{number}",
        labels=(),
        date=date_of(random, {GROWS: 0.8, NEW: 1}.get(label, 0.5)),
        metadata={
            "csat": random.choices(range(1, 6), weights)[0],
            "channel": random.choices(["phone", "chat", "email"], channels)[0],
            "duration": round(random.lognormvariate(5.5, 0.6)),
        },
    )


def dealt(folder: Path, labels: list[str], chance: float, seed: int) -> CollectionFolder:
    """Return the collection with other dates."""
    random, collection = Random(seed), CollectionFolder(folder)
    dates = [datetime.fromisoformat(date_of(random, chance if label == GROWS else 0.5)) for label in labels]
    place = collection.rows.schema.get_field_index("date")
    field = collection.rows.schema.field(place)
    column = pa.array(dates, pa.timestamp("us")).cast(pa.timestamp("us", "UTC")).cast(field.type)
    collection.rows = collection.rows.set_column(place, field, column)
    return collection


def main() -> None:
    """Write the collection, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--artifacts", type=Path, default=Path("artifacts"))
    parser.add_argument("--corpus", default="sgd")
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args()
    folder = options.artifacts / "changes"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    dialogues, random = dialogues_of(options.corpus, options.artifacts), Random(1)
    labels = [dialogue.labels[0] for dialogue in dialogues]
    write_dialogues(folder / "calls.jsonl", [call_of(one, number, random) for number, one in enumerate(dialogues)])
    encoder = load_encoder(options.artifacts / options.corpus / "model")
    add(folder / "calls", folder / "calls.jsonl", encoder=encoder)
    collection = CollectionFolder(folder / "calls")
    cluster(collection)
    groups = read_assignment(collection)
    planted = np.bincount(groups[np.array(labels) == GROWS]).argmax()
    sys.stdout.write(
        "| chance of May | before | after | at the top | else | claims else |\n|---|---|---|---|---|---|\n"
    )
    for chance in CHANCES:
        top, others, shares = 0, [], []
        for draw in range(options.draws):
            changes = compare_groups(dealt(folder / "calls", labels, chance, draw), before=BOUNDARY, seed=draw)
            clear = changes.groups[changes.groups["change"] != ""]
            # The row of dialogues far from every group has no id.
            found = len(clear) > 0 and clear["group"].fillna(-1).iloc[0] == planted
            top += found
            within = changes.terms["group"] == planted
            others.append(len(clear) - found + len(changes.metadata) + int((~within).sum()))
            shares.append(changes.groups.set_index("group").loc[planted, ["before", "after"]].astype(float))
        before, after = np.mean(shares, axis=0)
        sys.stdout.write(f"| {chance} | {before:.1%} | {after:.1%} | {top} of {options.draws} ")
        sys.stdout.write(f"| {sum(count > 0 for count in others)} of {options.draws} | {sum(others)} |\n")


if __name__ == "__main__":
    main()
