"""Search for one dialogue and for a topic: each signal alone, rank fusion, and what `dial2vec search` finds.

    .venv/bin/dial2vec run            # with corpora: [self_dialogue, sgd] in params.yaml
    .venv/bin/python benchmarks/find.py self_dialogue sgd

Up to 2,000 dialogues of test and dev are indexed as `dial2vec index` does, after one turn of 250 of them was taken out.
A paraphrase is a turn with 30 % of its words deleted and the others replaced by synonyms where there are any
(`dial2vec.training.augmentation.perturbations`). Finding one dialogue is judged by recall at 10, topical questions by
the share of the 10 first hits with the label that was asked for (the domain, for sgd).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from groups import dialogues_of
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.collection import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search import Search
from dial2vec.collection.search.words import bm25_words
from dial2vec.encoder.loading import Encoder, load_encoder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.training.augmentation.perturbations import delete_words, use_synonyms

HITS, RANK = 10, 60
# Turns that are asked for have at least so many words, and their dialogues so many turns.
WORDS, TURNS = 6, 4
ROWS = ("a turn, paraphrased", "the same, turn taken out", "three rare words of a turn", "a topic")
COLUMNS = ("BM25", "start", "best turn", "rank fusion", "themes (trained)", "moments", "auto")
ASKED = (
    "{}",
    "all calls where {} is discussed",
    "I want to see chats on {}",
    "who talks about {}",
    "everything about {}",
    "when {} comes up",
    "opinions on {}",
    "people arguing over {}",
    "a long talk on {}",
    "do they ever speak of {}",
    "any mention of {}",
    "{} as a subject",
    "trouble with {}",
    "help with {}",
    "which dialogues have to do with {}?",
)

# On what nobody in either corpus talks about.
ELSEWHERE = (
    "how do I prune apple trees in winter",
    "the tax on imported timber",
    "entanglement of photons",
    "my kidney operation last year",
    "a recipe for sourdough bread",
    "wars of the eighteenth century",
    "soldering a circuit board",
    "a contract for mineral rights",
    "the roof leaks after the storm",
    "feeding a newborn at night",
    "proofs by induction",
    "lice of salmon in the fjord",
    "the printer shows a paper jam",
    "inheritance without a will",
    "asbestos in the ceiling of the school",
    "our dog limps on the left hind leg",
    "the vote on the new constitution",
    "grammar of ancient Greek",
    "concrete that does not harden in frost",
    "an invoice was booked twice",
    "physiotherapy for the shoulder",
    "the password of my router",
    "bees swarm in the chimney",
    "a refund for a broken kettle",
    "the glacier has shrunk by half",
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the rows of the collection that answer it, int64 [m]."""

    row: str
    text: str
    answers: NDArray[np.int64]


def domain_of(label: str) -> str:
    """Return a label in words, without sgd's number of a service: "RentalCars_1" is "rental cars"."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", re.sub(r"_\d+$", "", label))
    return spaced.replace("_", " ").lower()


def prepare(dialogues: Sequence[Dialogue], n: int, seed: int) -> tuple[list[Dialogue], list[Question]]:
    """Return the dialogues, n of them without the turn that is asked for, and the questions."""
    rng = np.random.default_rng(seed)
    frequency = Counter(word for one in dialogues for turn in one.turns for word in set(bm25_words(turn.text)))
    kept, questions = list(dialogues), []
    long = [row for row, one in enumerate(dialogues) if _turns(one)]
    chosen = rng.permutation(long)[: 3 * n].tolist()
    for which, row in enumerate(chosen):
        turn = int(rng.choice(_turns(dialogues[row])))
        text, name = dialogues[row].turns[turn].text, ROWS[which % 3]
        if name == ROWS[2]:
            words = bm25_words(text)
            rare = sorted(sorted(range(len(words)), key=lambda at: frequency[words[at]])[:3])
            asked = " ".join(words[at] for at in rare)
        else:
            asked = use_synonyms(delete_words([text], rng, share=0.3), rng, share=1.0)[0]
        if name == ROWS[1]:
            turns = dialogues[row].turns
            kept[row] = replace(dialogues[row], turns=turns[:turn] + turns[turn + 1 :])
        questions.append(Question(name, asked, np.array([row])))
    return kept, questions + topical(dialogues)


def topical(dialogues: Sequence[Dialogue]) -> list[Question]:
    """Return questions for each label that at least ten dialogues have."""
    domains = np.array([domain_of(one.labels[0]) for one in dialogues])
    counts = Counter(domains.tolist())
    return [
        Question(ROWS[3], template.format(domain), np.flatnonzero(domains == domain))
        for domain in sorted(counts)
        if counts[domain] >= HITS
        for template in ASKED
    ]


def _turns(dialogue: Dialogue) -> list[int]:
    long = [at for at, turn in enumerate(dialogue.turns) if len(turn.text.split()) >= WORDS]
    return long if len(dialogue.turns) >= TURNS else []


def indexed(folder: Path, dialogues: Iterable[Dialogue], encoder: Encoder) -> Search:
    """Return a search in a collection, which is made as `dial2vec index` makes it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_dialogues(folder / "dialogues.jsonl", dialogues)
    add(folder / "collection", folder / "dialogues.jsonl", encoder=encoder)
    return Search(CollectionFolder(folder / "collection"))


def fused(*signals: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return reciprocal rank fusion (Cormack et al. 2009), k = 60."""
    ranks = [np.argsort(np.argsort(-signal, kind="stable")) for signal in signals]
    return np.asarray(np.sum([1 / (RANK + rank) for rank in ranks], axis=0), dtype=np.float32)


def hits_of(search: Search, start: Encoder, starts: NDArray[np.float32], text: str) -> dict[str, NDArray[np.int64]]:
    """Return the ten first rows by each column."""
    assert search.moments is not None
    query = unit_rows(start.encode([Dialogue("", (Turn("query", text),))]))[0]
    rows = np.arange(len(search.collection))
    signals = {
        "BM25": search.moments.words.of_dialogues(text),
        "start": starts @ query,
        "best turn": search.moments.cosines(search.moments.vector(text), rows),
    }
    signals["rank fusion"] = fused(*signals.values())
    found = {name: np.argsort(-signal, kind="stable")[:HITS] for name, signal in signals.items()}
    for name in ("themes", "moments", "auto"):
        hits = search.find(text, HITS, n_turns=0, way=name)
        column = "themes (trained)" if name == "themes" else name
        found[column] = np.array([search.collection.row(hit.dialogue_id) for hit in hits])
    return found


def share(found: NDArray[np.int64], answers: NDArray[np.int64]) -> float:
    """Return recall if there is one answer, else precision, in percent."""
    right = np.isin(found, answers).sum()
    return 100 * float(right if len(answers) == 1 else right / HITS)


def table(corpus: str, search: Search, start: Encoder, questions: Sequence[Question]) -> list[str]:
    """Return the rows of a corpus, in which the best figure is bold."""
    starts = unit_rows(start.encode(list(search.collection.dialogues())))
    lines = []
    for row in ROWS:
        asked = [question for question in questions if question.row == row]
        found = [hits_of(search, start, starts, question.text) for question in asked]
        means = [
            np.mean([share(hits[column], question.answers) for hits, question in zip(found, asked, strict=True)])
            for column in COLUMNS
        ]
        best = round(max(means), 1)
        cells = [f"**{mean:.1f}**" if round(mean, 1) == best else f"{mean:.1f}" for mean in means]
        lines.append(f"| {corpus}, {row} ({len(asked)}) | " + " | ".join(cells) + " |")
    return lines


def closeness(search: Search, questions: Iterable[Question]) -> str:
    """Return the shares of questions that are told that nothing is close, by row, and of questions on other matters."""
    by_row: dict[str, list[str]] = {row: [] for row in ROWS} | {"something else": list(ELSEWHERE)}
    for question in questions:
        by_row[question.row].append(question.text)
    shares = []
    for row, texts in by_row.items():
        far = [not search.answer(text, 1, n_turns=0).close for text in texts]
        shares.append(f"{row} {100 * np.mean(far):.1f} %")
    return "Told that nothing is close: " + "; ".join(shares)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--artifacts", type=Path, default=Path("artifacts"))
    parser.add_argument("--work", type=Path, default=Path("artifacts/find"), help="Folder of the collections.")
    parser.add_argument("--start", default="all-MiniLM-L6-v2")
    parser.add_argument("--questions", type=int, default=250, help="Questions per row for one dialogue.")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start = load_encoder(options.start)
    searches: dict[str, tuple[Search, list[Question]]] = {}
    for corpus in options.corpora:
        dialogues, questions = prepare(dialogues_of(corpus, options.artifacts), options.questions, options.seed)
        encoder = load_encoder(str(options.artifacts / corpus / "model"))
        searches[corpus] = indexed(options.work / f"{corpus}-{options.seed}", dialogues, encoder), questions
    sys.stdout.write(f"| recall or precision at 10 | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}\n")
    for corpus, (search, questions) in searches.items():
        sys.stdout.write("\n".join(table(corpus, search, start, questions)) + "\n")
        sys.stdout.flush()
    for corpus, (search, questions) in searches.items():
        sys.stdout.write(f"{corpus}. {closeness(search, questions)}\n")


if __name__ == "__main__":
    main()
