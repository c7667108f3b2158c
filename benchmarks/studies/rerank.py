"""Order the 100 dialogues nearest to a question again, as `/v1/rerank` does: is it better than the cosine alone?

    .venv/bin/dial2vec fetch sgd        # likewise self_dialogue, woz, taskmaster4 and gsim
    .venv/bin/python benchmarks/studies/rerank.py --model all-MiniLM-L6-v2 general

Collections and questions are those of find.py, and so is the figure: the share of the ten first that answer, of ten or
of all answers if there are fewer, mean of the four collections. Columns: the cosine of whole dialogues, that of the
nearest turn, the mean of both, and how much the mean is better than the first, with the 95 % interval of a bootstrap
over questions.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, Turn
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.protocol import Encoder
from find import CORPORA_READ, HITS, KINDS, SEED, questions_of

POOL, BOOTSTRAPS = 100, 2_000
ROW = "| {} ({}) | {:.1f} | {:.1f} | {:.1f} | {:+.1f} ({:+.1f} to {:+.1f}) |\n"


def shares(encoder: Encoder, name: str, data: Path) -> dict[str, list[list[float]]]:
    """Return, by kind of question, the shares of each question in a collection: whole, nearest turn, mean."""
    dialogues = CORPORA_READ[name](data)
    questions = questions_of(name, dialogues)
    turns = [turn.text for dialogue in dialogues for turn in dialogue.turns]
    first = np.cumsum([0, *(len(dialogue.turns) for dialogue in dialogues[:-1])])
    whole, alone = unit_rows(np.asarray(encoder.encode(dialogues))), vectors(encoder, turns)
    found: dict[str, list[list[float]]] = defaultdict(list)
    for question, asked in zip(questions, vectors(encoder, [each.text for each in questions]), strict=True):
        cosines, nearest = whole @ asked, np.maximum.reduceat(alone @ asked, first)
        pool = np.argsort(-cosines, kind="stable")[:POOL]
        ways = cosines, nearest, cosines + nearest
        rows = [pool[np.argsort(-scores[pool], kind="stable")[:HITS]] for scores in ways]
        right = [np.isin(row, question.answers).sum() / min(HITS, len(question.answers)) for row in rows]
        found[question.kind].append(right)
    return found


def vectors(encoder: Encoder, texts: list[str]) -> NDArray[np.float32]:
    """Return the vectors of texts as dialogues of one turn, of length 1, float32 [n, d]."""
    return unit_rows(np.asarray(encoder.encode([Dialogue("", (Turn("user", text),)) for text in texts])))


def line(title: str, several: list[NDArray[np.float64]]) -> str:
    """Return the row of a table for the shares of questions in several collections, each [n, 3]."""
    rng = np.random.default_rng(SEED)
    means = np.mean([each.mean(0) for each in several], axis=0)
    drawn = [
        np.mean([(each[rng.integers(len(each), size=len(each))] @ (-1, 0, 1)).mean() for each in several])
        for _ in range(BOOTSTRAPS)
    ]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return ROW.format(title, sum(map(len, several)), *100 * means, *(100 * np.array([means[2] - means[0], low, high])))


def main() -> None:
    """Print a table for each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", nargs="+", default=["general"], help="encoders")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the corpora")
    arguments = parser.parse_args()
    for model in arguments.model:
        encoder = load_encoder(model)
        by_corpus = [shares(encoder, name, arguments.data) for name in CORPORA_READ]
        for kind in KINDS:
            sys.stdout.write(line(f"{model}, {kind}", [np.array(each[kind]) for each in by_corpus if each.get(kind)]))


if __name__ == "__main__":
    main()
