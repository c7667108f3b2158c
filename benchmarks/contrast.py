"""`search --not`: ways to take what is not wanted off a query, judged by the labels of self_dialogue.

    .venv/bin/dial2vec run            # with corpora: [self_dialogue] in params.yaml
    .venv/bin/python benchmarks/contrast.py

General questions ("what movies do you like") and questions that name two topics ("comedy movies or horror films"),
each without one topic, by up to 2,000 dialogues of test and dev. `wanted` is the share of the 10 first hits with a
label that was asked for and is wanted, `unwanted` of those with the label that is not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
from groups import dialogues_of
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, Turn
from dial2vec.collection.search.contrast import without
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.nearest import unit_rows

HITS = 10
Vector = NDArray[np.float32]
# Questions, labels that answer them, and the topics among these labels in words.
TOPICS: list[tuple[list[str], list[str], dict[str, str]]] = [
    (
        ["what movies do you like", "favorite movie", "a film with great actors"],
        ["movies"],
        {
            "star_wars": "star wars",
            "thriller": "thriller movies",
            "superhero": "superhero movies",
            "comedy": "comedy movies",
            "horror": "horror films",
            "harry_potter": "harry potter",
            "fast_furious": "the fast and the furious",
            "disney": "disney movies",
            "action": "action movies",
        },
    ),
    (
        ["what music do you listen to", "favorite band or singer", "songs on the radio"],
        ["music"],
        {
            "pop": "pop music",
            "rap_hiphop": "rap and hip hop",
            "rock": "rock bands",
            "beatles": "the beatles",
            "lady_gaga": "lady gaga",
        },
    ),
    (
        ["which team do you root for", "sports", "who will win the championship"],
        [],
        {
            "nfl_football": "american football",
            "baseball": "baseball",
            "basketball": "basketball",
            "icehockey": "ice hockey",
        },
    ),
]
WAYS: dict[str, Callable[[Vector, Vector, Vector], Vector]] = {
    "query alone": lambda units, query, _: units @ query,
    "minus half": lambda units, query, unwanted: units @ (query - 0.5 * unwanted),
    "minus all": lambda units, query, unwanted: units @ (query - unwanted),
    "nearest 5 % left out": lambda units, query, unwanted: np.where(
        units @ unwanted >= np.quantile(units @ unwanted, 0.95), -2, units @ query
    ),
    "projection (ours)": lambda units, query, unwanted: units @ without(query, unwanted[None]),
}


def questions() -> list[tuple[str, str, str, set[str], str]]:
    """Return kind, question, unwanted topic in words, wanted labels and the unwanted label."""
    asked = []
    for general, labels, topics in TOPICS:
        for question in general:
            asked += [
                ("general", question, topics[label], {*labels, *topics} - {label}, label) for label in sorted(topics)
            ]
        asked += [
            ("two topics", f"{topics[wanted]} or {topics[label]}", topics[label], {wanted}, label)
            for wanted, label in permutations(sorted(topics), 2)
        ]
    return asked


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--artifacts", type=Path, default=Path("artifacts"))
    parser.add_argument("--corpus", default="self_dialogue")
    parser.add_argument("--start", default="all-MiniLM-L6-v2")
    options = parser.parse_args()
    dialogues = dialogues_of(options.corpus, options.artifacts)
    labels = np.array([dialogue.labels[0] for dialogue in dialogues])
    asked = questions()
    sys.stdout.write("| vectors | questions | way | wanted | unwanted |\n|---|---|---|---|---|\n")
    for name, model in (("start", options.start), ("trained", str(options.artifacts / options.corpus / "model"))):
        encoder = load_encoder(model)
        units = unit_rows(encoder.encode(dialogues))
        texts = sorted({text for _, question, topic, _, _ in asked for text in (question, topic)})
        queries = unit_rows(encoder.encode([Dialogue("", (Turn("query", text),)) for text in texts]))
        vector_of = dict(zip(texts, queries, strict=True))
        for kind in ("general", "two topics"):
            for way, score in WAYS.items():
                shares = []
                for _, question, topic, wanted, unwanted in (one for one in asked if one[0] == kind):
                    scores = score(units, vector_of[question], vector_of[topic])
                    hits = labels[np.argsort(-scores, kind="stable")[:HITS]]
                    shares.append((np.isin(hits, list(wanted)).mean(), (hits == unwanted).mean()))
                mean = 100 * np.mean(shares, axis=0)
                count = f"{len(shares)} {kind}"
                sys.stdout.write(f"| {name} | {count} | {way} | {mean[0]:.1f} | {mean[1]:.1f} |\n")


if __name__ == "__main__":
    main()
