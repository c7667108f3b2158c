"""Which dialogues are said to belong to nothing: 240 among 1,000 that do, and public corpora in which none should.

    .venv/bin/python benchmarks/studies/belonging.py --archives FOLDER [--model all-MiniLM-L6-v2]

A mix has 760 dialogues of five topics, and 240 of as many turns, each drawn at random from other corpora. The last
columns are the numbers of topics, of all dialogues and without 5 % of them, five times.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import topic_corpora as corpora
from conversations.dialogue import Dialogue, write_dialogues
from dial2vec.collection import Collection, add
from dial2vec.collection.clustering.belonging import belonging
from dial2vec.collection.clustering.tree import find_levels
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL
from dial2vec.encoder.protocol import Encoder

NOTHING = "nothing"


def drawn(dialogues: list[Dialogue], n: int, seed: int) -> list[Dialogue]:
    """Return n dialogues at random."""
    return [dialogues[at] for at in np.random.default_rng(seed).permutation(len(dialogues))[:n]]


def mix(dialogues: list[Dialogue], level: int, others: list[Dialogue], seed: int) -> list[Dialogue]:
    """Return 760 dialogues of five labels of a level, and 240 of nothing."""
    rng, labels = np.random.default_rng(seed), [dialogue.labels[level] for dialogue in dialogues]
    frequent = [label for label in sorted({*labels}) if labels.count(label) >= 160]
    chosen = {*rng.choice(frequent, 5, replace=False)}
    topics = drawn([one for one in dialogues if one.labels[level] in chosen], 760, seed)
    turns = [turn.text for dialogue in others for turn in dialogue.turns]
    return topics + [
        corpora.made(
            f"{NOTHING}/{at}", [("AB"[n % 2], turns[rng.integers(len(turns))]) for n in range(length)], NOTHING
        )
        for at, length in enumerate(rng.choice([len(dialogue.turns) for dialogue in topics], 240))
    ]


def row(name: str, dialogues: list[Dialogue], encoder: Encoder) -> str:
    """Return the row of a table."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "dialogues.jsonl"
        order = np.random.default_rng(0).permutation(len(dialogues))
        write_dialogues(
            file, [corpora.made(str(at), [(turn.speaker, turn.text) for turn in dialogues[at].turns]) for at in order]
        )
        add(Path(folder) / "calls", file, encoder=encoder, progress=False, turns=False)
        collection = Collection(Path(folder) / "calls")
        units, plain = np.asarray(collection.adapted), np.asarray(collection.vectors)
    nothing = np.array([dialogues[at].dialogue_id.startswith(NOTHING) for at in order])
    outside = ~belonging(plain, np.arange(len(plain)), seed=1)
    right = (outside & nothing).sum()
    figures = (
        [f"{100 * right / max(1, outside.sum()):.0f}", f"{100 * right / nothing.sum():.0f}"]
        if nothing.any()
        else ["", ""]
    )
    numbers = [find_levels(units, plain, seed=1).topics.max() + 1]
    for seed in range(5):
        kept = np.sort(np.random.default_rng(seed).permutation(len(units))[: len(units) * 95 // 100])
        numbers.append(find_levels(units[kept], plain[kept], seed=1).topics.max() + 1)
    wrong = 100 * outside[~nothing].mean()
    return (
        f"| {name} | {figures[0]} | {figures[1]} | {wrong:.1f} | {numbers[0]} | {', '.join(map(str, numbers[1:]))} |\n"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archives", type=Path, required=True)
    parser.add_argument("--model", default=GENERAL)
    options = parser.parse_args()
    archives, encoder = options.archives, load_encoder(options.model)
    sgd, chats = corpora.sgd(archives, "train"), corpora.self_dialogue(archives)
    orders, foods = corpora.taskmaster4(archives), corpora.woz(archives)
    questions, bank = (corpora.intents(archives, name) for name in ("clinc150", "banking77"))
    sys.stdout.write(
        "| corpus | precision, % | recall, % | of the others, % | topics | without 5 % |\n|---|---|---|---|---|---|\n"
    )
    for seed in (1, 2, 3):
        sys.stdout.write(row(f"sgd, mix {seed}", mix(sgd, 0, chats + orders + foods + questions, seed), encoder))
        sys.stdout.flush()
        sys.stdout.write(
            row(f"self_dialogue, mix {seed}", mix(chats, 1, sgd + orders + foods + questions, seed), encoder)
        )
        sys.stdout.flush()
        sys.stdout.write(row(f"clinc150, mix {seed}", mix(questions, 0, chats + sgd + bank, seed), encoder))
        sys.stdout.flush()
    for name, dialogues in (("sgd", sgd), ("self_dialogue", chats), ("clinc150", questions), ("banking77", bank)):
        sys.stdout.write(row(name, drawn(dialogues, 2_000, 1), encoder))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
