"""Does what follows from a sentence lie nearer to it than what contradicts it? Triples of WOZ 2.0 for `inference`.

    .venv/bin/python benchmarks/studies/woz_inferences.py data/woz --output woz.tsv
    .venv/bin/dial2vec papers evaluate --model all-MiniLM-L6-v2 --tasks inference --inferences woz.tsv

Dialogue NLI, on which DSE's section 4.5 is measured, is made of sentences with people's labels of what they say about a
speaker. WOZ has people's labels of what a user asks for, as (food, italian) and (area, north), so a triple is made the
same way: a sentence, another one with the same labels, and one whose labels differ in one value. Sentences without
labels, with `dontcare`, with requests, and with labels that differ from place to place are left out; each of the others
is the first of one triple, if there are two to join it.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from conversations.files import write_text
from dial2vec_papers.corpora.woz import Woz

Labels = tuple[tuple[str, str], ...]


def labelled_turns(dialogues: Iterable[Mapping[str, Any]]) -> dict[Labels, list[str]]:
    """Return the users' sentences by what they ask for, each sentence once."""
    labels_of: dict[str, set[Labels]] = defaultdict(set)
    for dialogue in dialogues:
        for turn in dialogue["dialogue"]:
            labels_of[turn["transcript"].strip()].add(tuple(sorted(map(tuple, turn["turn_label"]))))
    sentences = defaultdict(list)
    for sentence, found in labels_of.items():
        labels = next(iter(found))
        if len(found) == 1 and labels and all(slot != "request" and value != "dontcare" for slot, value in labels):
            sentences[labels].append(sentence)
    return dict(sentences)


def contradict(one: Labels, other: Labels) -> bool:
    """Return whether both name the same things, and give one of them another value."""
    same = [slot for slot, _ in one] == [slot for slot, _ in other]
    return same and sum(left != right for left, right in zip(one, other, strict=True)) == 1


def triples(sentences: Mapping[Labels, Sequence[str]], *, seed: int) -> Iterator[tuple[str, str, str]]:
    """Yield each sentence with one that follows from it and one that contradicts it, drawn with the seed."""
    generator = np.random.default_rng(seed)
    for labels, same in sentences.items():
        against = [text for other, texts in sentences.items() if contradict(labels, other) for text in texts]
        for place, sentence in enumerate(same):
            following = [*same[:place], *same[place + 1 :]]
            if following and against:
                yield sentence, str(generator.choice(following)), str(generator.choice(against))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="data/woz: the files as their authors publish them, packed or not")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with Woz().opened(given.folder) as sources:
        found = labelled_turns(record.content for _, record in Woz().records(sources, []))
    write_text(given.output, "".join("\t".join(row) + "\n" for row in triples(found, seed=given.seed)))
