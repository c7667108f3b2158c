"""Whether `dial2vec.collection.news` tells what was planted, and nothing else, in simulated months.

    .venv/bin/python benchmarks/news.py shared/corpora --months 40 --output news.jsonl

A month has 28 nights of 1,000 dialogues on average, fewer at weekends; before it come four weeks, which are clustered.
Each topic has its own share on each weekday, and varies by 10 % from day to day besides. Half of the months are quiet.
In the others a topic that never was there has 2 % from the 4th night on, another 1 % from the 11th, and a topic of 2 to
10 % doubles on the 19th. Of a topic that never was there, the whole kind is left out: services of SGD come by domain,
chats of Self-dialogue as film, music, sport or fashion, intents of Clinc150 one by one. Turns of the dialogues are left
out at random, so that a month has hardly one twice; their vectors are those of the general student. Beside it stands
what a z-test of each topic (last night and all before, p < 0.05) would have told.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from studies.topic_corpora import intents, self_dialogue, sgd

from conversations.dialogue import Dialogue
from dial2vec.collection.adapting.adaptation import Adaptation
from dial2vec.collection.changes.grouped import Grouped
from dial2vec.collection.clustering.appearing import appearing
from dial2vec.collection.clustering.clusters import Cluster, Clusters, far_limit
from dial2vec.collection.clustering.partition import assign, centres_of_groups
from dial2vec.collection.clustering.tree import find_levels
from dial2vec.collection.collection_folder import ROWS, sampled
from dial2vec.collection.news import whats_new
from dial2vec.collection.news.ledger import Ledger
from dial2vec.collection.news.telling import TopicChange
from dial2vec.collection.news.testing import NEW, spent
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.maps import centred, fit_map, neighbour_targets, neighbourhood_size, ridge_of
from dial2vec.encoder.nearest import unit_rows

NIGHTS, BEFORE, VOLUMES, VARIES = 28, 28, (1_150,) * 5 + (600,) * 2, 0.1
# First night of each event, and its share, or what the share is multiplied by.
EVENTS = {"new, 2 %": (3, 0.02), "new, 1 %": (10, 0.01), "doubled": (18, 2.0)}
# Nights after which an event counts as told.
WITHIN = {"new, 2 %": 1, "new, 1 %": 3, "doubled": 3}
VARIANTS, MAPPED, START = 4, 5_000, datetime(2026, 3, 2, 3, tzinfo=UTC)
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Pool:
    """Vectors [n, d] of dialogues, the topic of each, int64 [n], and the kind of each topic, int64 [topics]."""

    vectors: NDArray[np.float32]
    topics: Rows
    kinds: Rows

    def new_topics(self, random: np.random.Generator) -> list[int]:
        """Return two topics of two kinds that have at most two fifths of the dialogues."""
        shares = np.bincount(self.kinds[self.topics]) / len(self.topics)
        kinds = random.permutation(np.flatnonzero(shares <= 0.4))[:2]
        return [int(random.choice(np.flatnonzero(self.kinds == kind))) for kind in kinds]


def shorter(dialogue: Dialogue, random: np.random.Generator) -> Dialogue:
    """Return a dialogue without some of its turns, at most four of ten."""
    n = len(dialogue.turns)
    kept = np.sort(random.permutation(n)[: max(min(n, 3), round(n * random.uniform(0.6, 1)))])
    return replace(dialogue, turns=tuple(dialogue.turns[at] for at in kept))


def read_pool(name: str, folder: Path) -> Pool:
    """Return the pool of a corpus; a dialogue has its kind and its topic as labels."""
    if name == "sgd":
        dialogues = [dialogue for split in ("train", "dev", "test") for dialogue in sgd(folder, split)]
    elif name == "self_dialogue":
        # Chats about films and music at once would be of two kinds.
        chats = [dialogue for dialogue in self_dialogue(folder) if "movies" not in dialogue.labels[1][5:]]
        dialogues = [
            replace(chat, labels=("sport", "icehockey")) if chat.labels[1] == "icehockey" else chat for chat in chats
        ]
    else:
        dialogues = [replace(dialogue, labels=dialogue.labels[-1:] * 2) for dialogue in intents(folder, name)]
    random = np.random.default_rng(1)
    several = [shorter(dialogue, random) for _ in range(VARIANTS) for dialogue in dialogues]
    pairs = np.array([dialogue.labels[:2] for dialogue in several])
    _, first, topics = np.unique(pairs[:, 1], return_index=True, return_inverse=True)
    kinds = np.unique(pairs[first, 0], return_inverse=True)[1]
    return Pool(unit_rows(load_encoder("general").encode(several)), topics, kinds)


class Month:
    """A collection that grows by a night at a time; stands for a `CollectionFolder`."""

    def __init__(self, pool: Pool, seed: int, *, quiet: bool) -> None:
        self.pool, self.random = pool, np.random.default_rng(seed)
        random, k = self.random, int(pool.topics.max()) + 1
        self.rates = random.dirichlet(np.full(k, 3.0)) + 0.2 / k
        self.weekly = np.exp(random.normal(0, 0.3, (7, k)))
        self.planted: dict[str, int] = {}
        if not quiet:
            new = pool.new_topics(random)
            self.rates[np.isin(pool.kinds, pool.kinds[new])] = 0
            doubles = int(random.choice(np.flatnonzero(self.rates)))
            self.rates[doubles] = 0
            self.rates /= self.rates.sum()
            self.rates[doubles] = random.uniform(0.02, 0.1)
            self.planted = dict(zip(EVENTS, (*new, doubles), strict=True))
        self.rates /= self.rates.sum()
        self.rows, self.days = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.first = (START - timedelta(days=BEFORE)).date().toordinal() - datetime(1970, 1, 1).toordinal()
        for night in range(-BEFORE, 0):
            self.grow(night)
        self.cluster(seed)

    def grow(self, night: int) -> None:
        """Draw the dialogues of a night."""
        weekday = night % 7
        rates = self.rates * self.weekly[weekday] * np.exp(self.random.normal(0, VARIES, len(self.rates)))
        rates /= rates.sum()
        for event, topic in self.planted.items():
            first, share = EVENTS[event]
            if night >= first:
                rates[topic] = rates[topic] * share if share > 1 else share
        counts = self.random.multinomial(self.random.poisson(VOLUMES[weekday]), rates / rates.sum())
        drawn = [
            self.random.choice(np.flatnonzero(self.pool.topics == topic), count)
            for topic, count in enumerate(counts.tolist())
        ]
        rows = self.random.permutation(np.concatenate(drawn))
        self.rows = np.concatenate([self.rows, rows])
        self.days = np.concatenate([self.days, np.full(len(rows), self.first + BEFORE + night)])

    def cluster(self, seed: int) -> None:
        """Adapt the vectors to the weeks before, and cluster them, as `index` and `cluster` do."""
        plain = self.pool.vectors[self.rows]
        units, mean = centred(plain[sampled(len(plain), MAPPED, seed)])
        targets = neighbour_targets(units, k=neighbourhood_size(len(units)))
        weight = fit_map(units, targets, ridge=ridge_of(*units.shape), identity=1.0)
        self.adapted_pool = Adaptation(mean, weight, len(plain))(self.pool.vectors)
        own = self.adapted
        self.known = find_levels(own, plain, seed=seed).topics
        self.centres = centres_of_groups(own, self.known)
        self.least, nearest = np.full(len(self.centres), -1.0), assign(own, self.centres, known=self.known)
        limits = [far_limit(nearest.similarity[self.known == place]) for place in range(len(self.centres))]
        self.close, self.groups, self.ledger = float(np.median(limits)), nearest.groups, Ledger()
        self.look(0)

    @property
    def adapted(self) -> NDArray[np.float32]:
        """Adapted vectors of all dialogues so far."""
        return self.adapted_pool[self.rows]

    def look(self, night: int) -> list[TopicChange]:
        """Assign the new dialogues, let topics appear, and return what is told."""
        at = START + timedelta(days=night)
        level = NEW * spent(self.ledger.days_until(at, int(self.days.max())))
        added, wider, perhaps = appearing(
            self.adapted, self.days, self.centres, self.known, close=self.close, level=level, seed=1
        )
        self.centres = np.stack([*self.centres, *(centre for centre, _ in added)])
        for place, limit in wider.items():
            self.least[place] = min(self.least[place], limit)
        self.least = np.append(self.least, [limit for _, limit in added])
        nearest = assign(self.adapted, self.centres, known=self.known, least=self.least)
        self.moved = float((nearest.groups[: len(self.groups)] != self.groups).mean())
        self.groups = nearest.groups
        by_rule = assign(self.adapted, self.centres, least=self.least)
        topics = tuple(Cluster(at, f"topic {at}", (), 0, 1, 0, 0, (), ()) for at in range(len(self.centres)))
        clusters = Clusters(
            "",
            "tree",
            1,
            1,
            len(self.rows),
            len(self.known),
            len(topics),
            topics,
            emerging=tuple(tuple(group.rows.tolist()) for group in perhaps),
        )
        groupings = tuple(Grouped(clusters, each.groups, each.similarity) for each in (nearest, by_rule))
        news = whats_new(_collection(self), at=at, groupings=groupings, ledger=self.ledger)
        self.ledger = news.ledger
        return list(news.changes)

    def topic_of(self, change: TopicChange) -> int:
        """Return the topic of most conversations named with a new cluster, or what changed most in an old one."""
        own, topics = self.groups == change.cluster, self.pool.topics[self.rows]
        if change.kind == "new":
            return int(np.bincount(topics[[int(name) for name in change.dialogues]]).argmax())
        late = self.days > self.days.max() - 3
        shares = [np.bincount(topics[own & side], minlength=len(self.rates)) / side.sum() for side in (late, ~late)]
        return int(np.argmax((shares[0] - shares[1]) * (-1 if change.kind == "less" else 1)))

    def z_tests(self) -> int:
        """Return how many topics a z-test of the last night and all before tells."""
        last = self.days == self.days.max()
        k = len(self.centres)
        x, y = (np.bincount(self.groups[side], minlength=k) for side in (last, ~last))
        share = (x + y) / len(last)
        error = np.sqrt(share * (1 - share) * (1 / last.sum() + 1 / (~last).sum()))
        return int((np.abs(x / last.sum() - y / (~last).sum()) > 1.96 * np.maximum(error, 1e-9)).sum())


def _collection(month: Month) -> Any:
    """Return what `whats_new` reads of a collection."""
    n = len(month.rows)
    columns = {name: [None] * n for name in ("labels", "metadata")} | {"dialogue_id": [str(at) for at in range(n)]}
    rows = ROWS.empty_table().select(["labels", "metadata", "dialogue_id"])
    rows = rows.from_pydict(columns, schema=rows.schema)
    manifest = SimpleNamespace(additions=[SimpleNamespace(added=START.isoformat())])
    return _Stand(n, month.adapted, month.days, rows, manifest)


@dataclass(frozen=True)
class _Stand:
    n: int
    adapted: NDArray[np.float32]
    days: Rows
    rows: Any
    manifest: Any

    def __len__(self) -> int:
        return self.n


def simulated(pool: Pool, seed: int, *, quiet: bool) -> dict[str, Any]:
    """Return what was told in a month, and after how many nights."""
    month, nights, false, z, moved = Month(pool, seed, quiet=quiet), dict[str, int](), list[str](), 0, list[float]()
    for night in range(NIGHTS):
        month.grow(night)
        begun = {topic: event for event, topic in month.planted.items() if night >= EVENTS[event][0]}
        for change in month.look(night + 1):
            event = begun.get(month.topic_of(change))
            kinds = ("more",) if event == "doubled" else ("new", "more")
            if event is None or change.kind not in kinds:
                false.append(f"{night}: {change.kind} {change.words}")
            else:
                nights.setdefault(event, night - EVENTS[event][0] + 1)
        z, moved = z + month.z_tests(), [*moved, month.moved]
    return {"seed": seed, "quiet": quiet, "nights": nights, "false": false, "z": z, "moved": max(moved)}


def summary(name: str, months: list[dict[str, Any]]) -> str:
    """Return a row of the table."""
    quiet, busy = ([month for month in months if month["quiet"] is kind] for kind in (True, False))
    cells = [
        f"{sum(month['nights'].get(event, 99) <= WITHIN[event] for month in busy)} of {len(busy)}" for event in EVENTS
    ]
    calm = f"{sum(not month['false'] for month in quiet)} of {len(quiet)}"
    others = f"{sum(bool(month['false']) for month in busy)} of {len(busy)}"
    z, moved = np.mean([month["z"] for month in quiet]), max(month["moved"] for month in months)
    return f"| {name} | {' | '.join(cells)} | {calm} | {others} | {z:.0f} | {moved:.2%} |"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, help="folder of the archives")
    parser.add_argument("--names", nargs="*", default=["sgd", "self_dialogue", "clinc150"])
    parser.add_argument("--months", type=int, default=40)
    parser.add_argument("--output", type=Path, help="file of JSON Lines for what each month told")
    options, write = parser.parse_args(), sys.stdout.write
    write(
        "| corpus | new, 2 %: next morning | new, 1 %: within three | doubled: within three | quiet months without a "
        "tell | others with a further tell | tells of a z-test in a quiet month | ids changed at most |\n"
    )
    write("|---|---|---|---|---|---|---|---|\n")
    for name in options.names:
        pool, months = read_pool(name, options.corpora), []
        for seed in range(options.months):
            begun = time.perf_counter()
            months.append(simulated(pool, seed, quiet=seed % 2 == 0) | {"corpus": name})
            months[-1]["seconds"] = round(time.perf_counter() - begun, 1)
            if options.output:
                with options.output.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(months[-1]) + "\n")
        write(summary(name, months) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
