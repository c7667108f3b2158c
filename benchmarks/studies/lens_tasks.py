"""A lens over single utterances: intents and a system's next actions from a few examples, beside prototypes.

    .venv/bin/python benchmarks/studies/lens_tasks.py --intents intents.zip --actions sgd.zip

Intents: k sentences of each intent, as `dial2vec papers evaluate --tasks intents` draws them, three draws; the way
`names` describes each intent by its name, too. Judged are 1,000 test sentences. Actions: 10 and 20 examples of each,
drawn as for the task `actions`; each action is a label of its own, predicted from the probability 0.5 on, for 1,000
test examples. Prints a row per set.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from conversations.dialogue import Dialogue, Turn
from dial2vec.collection.lenses.encoder import LensModel
from dial2vec.collection.lenses.learning import LensData, learn
from dial2vec.collection.lenses.model import TurnReader, Turns, pooled
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL, MINILM
from dial2vec_papers.tasks.action_prediction import draw_examples, f1_scores
from dial2vec_papers.tasks.actions import read_actions
from dial2vec_papers.tasks.intents import INTENT_SETS, read_intents
from dial2vec_papers.tasks.prototypes import draw_shots, intent_codes

JUDGED, DRAWS, SEED = 1_000, 3, 42
SHOTS, ACTION_SHOTS = (5, 10), (10, 20)


def main() -> None:
    """Print the rows of the sets that are given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--intents", type=Path, help="folder or zip of the intent sets")
    parser.add_argument("--actions", type=Path, help="folder or zip of SGD, GSIM or DSTC2")
    arguments = parser.parse_args()
    reader = TurnReader()
    if arguments.intents:
        for name in INTENT_SETS:
            intents(name, arguments.intents, reader)
    if arguments.actions:
        actions(arguments.actions, reader)


def intents(name: str, path: Path, reader: TurnReader) -> None:
    """Print the accuracies of one set of intents."""
    data = read_intents(name, path)
    labels = sorted(set(data.train.labels))
    drawn = draw_shots(data.train, labels, most=max(SHOTS), draws=DRAWS, seed=SEED, name=name)
    some = np.random.default_rng(SEED).permutation(len(data.test.texts))[:JUDGED]
    texts = [data.test.texts[row] for row in some]
    truth = intent_codes([data.test.labels[row] for row in some], labels)
    test = alone(reader, texts)
    names = [(label.replace("_", " "),) for label in labels]
    encoders = {name: load_encoder(name) for name in (GENERAL, MINILM)}
    queries = {name: units(encoder.encode_utterances(texts)) for name, encoder in encoders.items()}
    for k in SHOTS:
        right: dict[str, list[float]] = {}
        began = time.process_time()
        for draw in range(DRAWS):
            given = drawn[draw, :, :k].ravel().tolist()
            codes = np.repeat(np.arange(len(labels)), k)
            for way, described in (("lens", [()] * len(labels)), ("names", names)):
                said = [*described, ()]
                model, _ = learn(data_of(reader, alone(reader, given), codes, said), SEED)
                right.setdefault(way, []).append(float((model.read(test)[0][:, :-1].argmax(1) == truth).mean()))
            for way, encoder in encoders.items():
                means = units(units(encoder.encode_utterances(given)).reshape(len(labels), k, -1).mean(1))
                right.setdefault(way, []).append(float(((queries[way] @ means.T).argmax(1) == truth).mean()))
        figures = ", ".join(f"{way} {100 * mean(each):.1f}" for way, each in right.items())
        write(f"{name}, {len(labels)} intents, {k} shots: {figures} ({time.process_time() - began:.0f} CPU s)")


def actions(path: Path, reader: TurnReader) -> None:
    """Print micro and macro F1 of the actions of a corpus."""
    data = read_actions(path)
    some = np.random.default_rng(SEED).permutation(len(data.test))[:JUDGED]
    test = [data.test[row] for row in some]
    wanted = np.array([[action in one.actions for action in data.actions] for one in test])
    turns = reader.read(dialogues([one.context for one in test]))
    for k in ACTION_SHOTS:
        found = []
        for draw in range(DRAWS):
            train, others = draw_examples(data, shots=k, seed=SEED, draw=draw)
            examples = [*train, *others]
            own = reader.read(dialogues([one.context for one in examples]))
            chances = np.zeros(wanted.shape)
            for place, action in enumerate(data.actions):
                codes = np.array([0 if action in one.actions else 1 for one in examples])
                model, _ = learn(data_of(reader, own, codes, [(), ()]), SEED)
                chances[:, place] = alone_odds(model, turns)
            found.append(f1_scores(wanted, chances > 0.5))
        micro, macro = (100 * mean(one[name] for one in found) for name in ("micro_f1", "macro_f1"))
        write(
            f"{data.name}, {len(data.actions)} actions, {k} + {k} examples: micro F1 {micro:.1f}, macro F1 {macro:.1f}"
        )


def alone_odds(model: LensModel, turns: Turns) -> NDArray[np.float64]:
    """Return the probability of a model's one label, [n]."""
    scores = pooled(model.scores(turns), turns.starts)[:, 0]
    return np.asarray(expit(scores * model.lines[0, 0] + model.lines[0, 1]))


def data_of(reader: TurnReader, examples: Turns, codes: NDArray[np.int64], said: Sequence[Sequence[str]]) -> LensData:
    """Return examples without further dialogues, as a lens learns them."""
    return LensData(examples, codes, examples.some(np.arange(0)), [reader.sentences(one) for one in said], reader.word)


def alone(reader: TurnReader, texts: Sequence[str]) -> Turns:
    """Return each text as a dialogue of one turn."""
    return reader.read([Dialogue(str(number), (Turn("user", text),)) for number, text in enumerate(texts)])


def dialogues(contexts: Sequence[Sequence[object]]) -> list[Dialogue]:
    """Return contexts as dialogues of a user and a system."""
    return [
        Dialogue(str(number), tuple(Turn("system" if turn.role else "user", turn.text) for turn in context))
        for number, context in enumerate(contexts)
    ]


def units(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors of length 1."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)


def write(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
