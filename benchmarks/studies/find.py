"""Search for one turn, for exact words and for a topic: the search as it chooses, beside each signal alone.

    .venv/bin/dial2vec fetch sgd        # likewise self_dialogue, woz, taskmaster4 and gsim
    .venv/bin/python benchmarks/studies/find.py --model all-MiniLM-L6-v2 general
    .venv/bin/python benchmarks/studies/find.py --model all-MiniLM-L6-v2 general --fit

Four collections: up to 2,000 dialogues of Self-dialogue and 1,500 of sgd's dev and test, woz (labels: the food asked
for), and a desk at which coffee is ordered, tickets are bought, tables booked and restaurants found (taskmaster4, gsim,
woz). Questions, none made by a language model: turns with 30 % of their words deleted and others replaced by synonyms
(`dial2vec.training.augmentation.perturbations`); turns told by hand, and topics in other words than their labels'
(find.yaml); three rare words of a turn; five words in a row; labels alone, and in sentences. A figure is the
share of the ten first hits that answer, of ten or of all answers if there are fewer.

`--fit` fits the choice (`dial2vec.collection.search.moments.Signs`) to all collections but the one that it is judged
on, and to all.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.collection import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search import Search, moments
from dial2vec.collection.search.words import bm25_words
from dial2vec.config import Read
from dial2vec.encoder.loading import load_encoder
from dial2vec.training.augmentation.perturbations import delete_words, use_synonyms
from dial2vec_papers.corpora import CORPORA

HITS, SEED, EACH = 10, 1, 100
SENTENCES = (
    "conversations about {}",
    "people talking about {}",
    "who talks about {}?",
    "everything on {}",
    "the subject is {}",
    "I need the dialogues that deal with {}",
    "somebody brings up {}",
)
KINDS = (
    "a turn, told by hand", "a turn, paraphrased", "three rare words", "five words in a row", "a topic",
    "a topic, in a sentence", "a topic, in other words",
)  # fmt: skip
COLUMNS = ("words", "nearest turn", "themes", "moments", "auto")
BY_HAND = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the rows of the collection that answer it, int64 [m]."""

    kind: str
    text: str
    answers: NDArray[np.int64]


def read(name: str, data: Path) -> list[Dialogue]:
    """Return the dialogues of a public corpus."""
    return list(CORPORA[name](Read()).read(data / name, quarantine=[]))


def in_words(label: str) -> str:
    """Return a label in words, without the number of a service: "RentalCars_1" is "rental cars"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", re.sub(r"_\d+$", "", label)).replace("_", " ").lower()


def self_dialogue(data: Path) -> list[Dialogue]:
    """Return dialogues with their topic."""
    dialogues = [one for one in read("self_dialogue", data) if len(one.turns) >= 4]
    return drawn([replace(one, labels=(in_words(one.labels[0]),)) for one in dialogues], 2_000)


def sgd(data: Path) -> list[Dialogue]:
    """Return dialogues about one domain, with the domain, that no general student has read."""
    dialogues = [one for one in read("sgd", data) if one.split != "train"]
    labelled = [replace(one, labels=tuple({in_words(label) for label in one.labels})) for one in dialogues]
    return drawn([one for one in labelled if len(one.labels) == 1], 1_500)


def woz(data: Path) -> list[Dialogue]:
    """Return dialogues with the food that is asked for last."""
    foods: dict[str, str] = {}
    for name, found in members(data / "woz"):
        for one in found:
            slots = [slot for turn in one["dialogue"] for state in turn["belief_state"] for slot in state["slots"]]
            asked = [value for slot, value in slots if slot == "food" and value != "dontcare"]
            split = {"train": "train", "validate": "dev", "test": "test"}[Path(name).name.split("_")[1]]
            foods |= {f"{split}/{one['dialogue_idx']}": f"{asked[-1]} food"} if asked else {}
    found_in = [one for one in read("woz", data) if one.dialogue_id in foods]
    return [replace(one, labels=(foods[one.dialogue_id],)) for one in found_in]


def desk(data: Path) -> list[Dialogue]:
    """Return dialogues at a desk for four matters, with the matter."""
    rooms: dict[str, list[Dialogue]] = {"sim-M": [], "sim-R": []}
    for name, found in members(data / "gsim"):
        rooms["sim-M" if "sim-M" in name else "sim-R"] += [said(name, one) for one in found]
    found = woz(data)
    return [
        *drawn([replace(one, labels=("ordering a coffee",)) for one in read("taskmaster4", data)], 500),
        *drawn([replace(one, labels=("buying movie tickets",)) for one in rooms["sim-M"]], 350),
        *drawn([replace(one, labels=("booking a table",)) for one in rooms["sim-R"]], 350),
        *drawn([replace(one, labels=("finding a restaurant", *one.labels)) for one in found], 400),
    ]


def said(name: str, record: dict[str, Any]) -> Dialogue:
    """Return a dialogue of gsim, which has one turn of each side in a record."""
    turns = []
    for turn in record["turns"]:
        sides = ("system", "user")
        turns += [Turn(side, turn[f"{side}_utterance"]["text"]) for side in sides if f"{side}_utterance" in turn]
    return Dialogue(f"{Path(name).parent.name}/{Path(name).stem}/{record['dialogue_id']}", tuple(turns))


def members(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield name and content of the JSON files in a folder, or in its archive."""
    for path in sorted(folder.rglob("*.json")):
        yield str(path), json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(folder.glob("*.tgz")):
        with tarfile.open(path) as archive:
            for member in archive.getmembers():
                if member.name.endswith(".json") and (file := archive.extractfile(member)):
                    yield Path(member.name).as_posix(), json.loads(file.read())


def drawn(dialogues: Sequence[Dialogue], most: int) -> list[Dialogue]:
    """Return at most so many dialogues of two turns or more, in their order, those of find.yaml among them."""
    named = {dialogue for _, dialogue, _ in BY_HAND["retold"]}
    long = [one for one in dialogues if len(one.turns) >= 2]
    order = np.random.default_rng(SEED).permutation(len(long)).tolist()
    return [long[at] for at in sorted(sorted(order, key=lambda at: long[at].dialogue_id not in named)[:most])]


CORPORA_READ = {"self_dialogue": self_dialogue, "sgd": sgd, "woz": woz, "desk": desk}


def questions_of(name: str, dialogues: Sequence[Dialogue]) -> list[Question]:
    """Return the questions for a collection."""
    return [*questions_for_turns(dialogues), *by_hand(name, dialogues), *topical(dialogues)]


def questions_for_turns(dialogues: Sequence[Dialogue]) -> Iterator[Question]:
    """Yield questions that turns make: a third each paraphrased, of rare words, and of words in a row."""
    rng = np.random.default_rng(SEED)
    frequency = Counter(word for one in dialogues for turn in one.turns for word in set(bm25_words(turn.text)))
    joined = [[f" {' '.join(turn.text.split())} " for turn in one.turns] for one in dialogues]
    long = [(row, [text for text in texts if len(text.split()) >= 6]) for row, texts in enumerate(joined)]
    able = [(row, texts) for row, texts in long if texts]
    for which, at in enumerate(rng.permutation(len(able))[: 3 * EACH]):
        row, texts = able[at]
        text, answers = texts[int(rng.integers(len(texts)))].strip(), np.array([row])
        words = bm25_words(text)
        if which % 3 == 0:
            asked = use_synonyms(delete_words([text], rng, share=0.3), rng, share=1.0)[0]
        elif which % 3 == 1:
            asked = " ".join(
                words[at] for at in sorted(sorted(range(len(words)), key=lambda at: frequency[words[at]])[:3])
            )
        else:
            first = int(rng.integers(len(text.split()) - 4))
            asked = " ".join(text.split()[first : first + 5])
            answers = np.array([row for row, texts in enumerate(joined) if any(f" {asked} " in text for text in texts)])
        yield Question(KINDS[1 + which % 3], asked, answers)


def by_hand(name: str, dialogues: Sequence[Dialogue]) -> Iterator[Question]:
    """Yield the questions of find.yaml."""
    row_of = {one.dialogue_id: row for row, one in enumerate(dialogues)}
    for corpus, dialogue, text in BY_HAND["retold"]:
        if corpus == name and dialogue in row_of:
            yield Question(KINDS[0], text, np.array([row_of[dialogue]]))
    for corpus, label, text in BY_HAND["topics"]:
        if corpus == name:
            yield Question(KINDS[6], text, rows_with(label, dialogues))


def topical(dialogues: Sequence[Dialogue]) -> Iterator[Question]:
    """Yield questions for each label that at least ten dialogues have."""
    counts = Counter(label for one in dialogues for label in one.labels)
    for label in sorted(counts):
        if counts[label] >= HITS:
            answers = rows_with(label, dialogues)
            yield Question(KINDS[4], label, answers)
            yield from (Question(KINDS[5], sentence.format(label), answers) for sentence in SENTENCES)


def rows_with(label: str, dialogues: Sequence[Dialogue]) -> NDArray[np.int64]:
    """Return the rows with a label, int64 [m]."""
    return np.array([row for row, one in enumerate(dialogues) if label in one.labels])


def share(rows: NDArray[np.int64], question: Question) -> float:
    """Return the share of ten hits that answer, or of all answers if there are fewer, in percent."""
    return 100 * float(np.isin(rows, question.answers).sum()) / min(HITS, len(question.answers))


@dataclass(frozen=True, slots=True)
class Judged:
    """A question's figure by each column, its signs, and the figure at each weight of the themes in `WEIGHTS`."""

    kind: str
    figures: tuple[float, ...]
    signs: tuple[float, ...]
    at_weights: tuple[float, ...]


# The weights between which `--fit` interpolates.
WEIGHTS = (0.0, 0.1, 0.3, 0.6, 1.0, 1.7, 3.0, 10.0)


def judge(search: Search, question: Question) -> Judged:
    """Ask a question in every way."""
    opened = search.moments
    assert opened is not None
    text, seen = question.text, []
    query = search.encoder.encode(Dialogue("", (Turn("query", text),)))
    themes = search.collection.vectors @ (query / np.linalg.norm(query))
    nearest = opened.cosines(opened.vector(text), np.arange(len(search.collection)))
    alone = by_row(opened.score(text, themes, rows=None, auto=False))
    own = moments.weight_of_themes

    def of_one(signs: moments.Signs) -> float:
        seen.append(signs)
        return 1.0

    try:
        moments.weight_of_themes = of_one
        added = by_row(opened.score(text, themes, rows=None, auto=True)) - alone
    finally:
        moments.weight_of_themes = own
    signs = seen[0]
    columns = [opened.words.of_dialogues(text), nearest, themes, alone, alone + own(signs) * added]
    at_weights = [alone + weight * added for weight in WEIGHTS]
    values = tuple(float(value) for value in astuple(replace(signs, words=np.log(max(1, signs.words)))))
    return Judged(
        question.kind,
        tuple(share(first(column), question) for column in columns),
        values,
        tuple(share(first(column), question) for column in at_weights),
    )


def by_row(scored: moments.Scored) -> NDArray[np.float32]:
    """Return the scores in the order of the rows, float32 [n]."""
    return scored.scores[np.argsort(scored.rows)]


def first(signal: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the rows with the largest values, best first, int64 [10]."""
    return np.argsort(-signal, kind="stable")[:HITS]


def means(judged: Sequence[Judged], figures: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean figure of each kind of question, [kinds, ...]; NaN for a kind without questions."""
    kinds = np.array([one.kind for one in judged])
    return np.array(
        [figures[kinds == kind].mean(0) if (kinds == kind).any() else np.nan * figures[0] for kind in KINDS]
    )


def table(name: str, judged: Sequence[Judged]) -> str:
    """Return the rows of a collection, in which the best figure is bold."""
    lines, counts = [], Counter(one.kind for one in judged)
    for kind, row in zip(KINDS, means(judged, np.array([one.figures for one in judged])), strict=True):
        cells = [f"**{value:.1f}**" if round(value, 1) == round(row.max(), 1) else f"{value:.1f}" for value in row]
        lines += [f"| {name}, {kind} ({counts[kind]}) | " + " | ".join(cells) + " |"] if counts[kind] else []
    return "\n".join(lines)


def fit(judged: Sequence[Judged]) -> NDArray[np.float64]:
    """Return factors of the signs and a constant that tell how much themes are better, [signs + 1].

    Every kind of question has the same weight; a question counts more if the choice matters for it. The odds are
    sharpened by 1.5, which was better on the collections left out.
    """
    from sklearn.linear_model import LogisticRegression

    counts = Counter(one.kind for one in judged)
    signs = np.array([one.signs for one in judged])
    gain = np.array([one.at_weights[-1] - one.at_weights[0] for one in judged])
    theme = np.array([one.kind in KINDS[4:] for one in judged])
    weight = np.array([1 / max(15, counts[one.kind]) for one in judged]) * (1 + abs(gain) / 100)
    middle, spread = signs.mean(0), signs.std(0)
    model = LogisticRegression(max_iter=500)
    model.fit((signs - middle) / spread, np.where(gain == 0, theme, gain > 0), sample_weight=weight / weight.mean())
    factors = 1.5 * model.coef_[0] / spread
    return np.append(factors, 1.5 * model.intercept_[0] - factors @ middle)


def chosen(judged: Sequence[Judged], factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the figure of each question with the weights that these factors give, [questions]."""
    logits = np.array([one.signs for one in judged]) @ factors[:-1] + factors[-1]
    weights = np.exp(np.minimum(logits, np.log(WEIGHTS[-1])))
    return np.array([np.interp(at, WEIGHTS, one.at_weights) for at, one in zip(weights, judged, strict=True)])


def main() -> None:
    """Print the table, or the fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", nargs="+", default=["all-MiniLM-L6-v2", "general"])
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--work", type=Path, default=Path("artifacts/find"), help="Folder of the collections.")
    parser.add_argument("--fit", action="store_true", help="Fit the choice, and judge it on collections left out.")
    options = parser.parse_args()
    judged: dict[tuple[str, str], list[Judged]] = {}
    for name, dialogues_of in CORPORA_READ.items():
        dialogues = dialogues_of(options.data)
        file = options.work / f"{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_dialogues(file, dialogues)
        for model in options.model:
            folder = options.work / f"{name}-{model}"
            add(folder, file, encoder=load_encoder(model), adapted=False)
            search = Search(CollectionFolder(folder))
            judged[model, name] = [judge(search, question) for question in questions_of(name, dialogues)]
    for model in options.model:
        ours = {name: found for (of, name), found in judged.items() if of == model}
        sys.stdout.write(f"{model}\n\n| | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}\n")
        sys.stdout.write("\n".join(table(name, found) for name, found in ours.items()) + "\n\n")
    if options.fit:
        for (model, name), found in judged.items():
            others = [one for (_, other), ones in judged.items() if other != name for one in ones]
            left_out = np.round(means(found, chosen(found, fit(others))), 1)
            sys.stdout.write(f"{model}, {name} left out: {left_out.tolist()}\n")
        factors = fit([one for ones in judged.values() for one in ones])
        sys.stdout.write(f"gap, length, about, agreement, shared, quoted, level: {np.round(-factors, 2).tolist()}\n")


if __name__ == "__main__":
    main()
