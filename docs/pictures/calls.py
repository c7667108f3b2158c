"""Calls with made-up facts, as a collection: the manual's pictures show it.

    .venv/bin/dial2vec run                       # with corpora: [sgd] in params.yaml
    .venv/bin/python docs/pictures/calls.py

Up to 2,000 dialogues get dates in April and May, a rating, a channel and a duration. Calls to one hotel service have
low ratings, alarms are mostly set by chat. In May one service has more calls, and another one is new.

Writes artifacts/changes/calls.jsonl and the collection artifacts/changes/calls. With --model general no training is
needed: the stage `prepare` has written the splits.
"""

from __future__ import annotations

import argparse
import shutil
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from conversations.dialogue import Dialogue, read_dialogues, write_dialogues
from dial2vec.collection.adding import add
from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.collection_folder import CollectionFolder, sampled
from dial2vec.encoder.loading import load_encoder

MOST = 2000
GROWS, NEW = "Buses_3", "Banks_2"
LOW_RATINGS, BY_CHAT = "Hotels_4", "Alarm_1"


def main() -> None:
    """Write the collection."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--artifacts", type=Path, default=Path("artifacts"))
    parser.add_argument("--corpus", default="sgd")
    parser.add_argument("--model", help="encoder; default: the trained one of the corpus")
    options = parser.parse_args()
    folder = options.artifacts / "changes"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    dialogues, random = dialogues_of(options.corpus, options.artifacts), Random(1)
    write_dialogues(folder / "calls.jsonl", [call_of(one, number, random) for number, one in enumerate(dialogues)])
    encoder = load_encoder(options.model or options.artifacts / options.corpus / "model")
    add(folder / "calls", folder / "calls.jsonl", encoder=encoder)
    cluster(CollectionFolder(folder / "calls"))


def dialogues_of(corpus: str, root: Path) -> list[Dialogue]:
    """Return at most 2,000 labelled dialogues of test, and of dev if there are too few."""
    dialogues: list[Dialogue] = []
    for split in ("test", "dev"):
        if len(dialogues) < MOST:
            dialogues += read_dialogues(root / corpus / "splits" / f"{split}.jsonl")
    labelled = [dialogue for dialogue in dialogues if dialogue.labels]
    return [labelled[row] for row in sampled(len(labelled), MOST, 1)]


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


def date_of(random: Random, chance: float) -> str:
    """Return a time in April, or with this chance in May, on a day from 1 to 30."""
    day = datetime(2026, 5 if random.random() < chance else 4, 1) + timedelta(days=random.randrange(30))
    return (day + timedelta(minutes=random.randrange(8 * 60, 20 * 60))).isoformat()


if __name__ == "__main__":
    main()
