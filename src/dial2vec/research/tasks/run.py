"""All tasks that have data, one after another, for one system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import get_args

from dial2vec.dialogue import read_dialogues
from dial2vec.research.tasks.encoding import Reader, remembering
from dial2vec.research.tasks.intents import read_intents
from dial2vec.research.tasks.out_of_scope import Rule, detect_out_of_scope
from dial2vec.research.tasks.prototypes import Prototype, classify_intents
from dial2vec.research.tasks.records import TaskResult
from dial2vec.research.tasks.response_selection import TOP, select_responses
from dial2vec.research.tasks.robustness import select_responses_perturbed
from dial2vec.research.tasks.semantic_retrieval import rank_candidate_lists, read_candidate_lists, retrieve_sentences
from dial2vec.research.tasks.sentence_pairs import pair_relatedness, read_sentence_pairs
from dial2vec.research.tasks.sources import Sources, check_sources, tasks_with_data
from dial2vec.training.augmentation import PERTURBATIONS

# The only intent set with out-of-scope sentences.
WITH_OUT_OF_SCOPE = "clinc150"
# Numbers of negatives of an answer, with clean and with perturbed contexts.
CANDIDATES = (9, 50, 99)
PERTURBED_AMONG = 50


def intents(reader: Reader, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Classify intents of all four sets by each kind of prototypes."""
    for data in sources.intent_sets():
        for prototype in get_args(Prototype):
            yield classify_intents(reader, data, seed=seed, prototype=prototype)


def out_of_scope(reader: Reader, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Detect out-of-scope sentences, by each rule."""
    if sources.intents:
        data = read_intents(WITH_OUT_OF_SCOPE, sources.intents)
        for rule in get_args(Rule):
            yield detect_out_of_scope(reader, data, seed=seed, rule=rule)


def retrieval(reader: Reader, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Rank BM25's candidates by intent, and given lists of candidates."""
    for data in sources.intent_sets():
        yield retrieve_sentences(reader, data.test, data=data.name, limit=sources.limit, seed=seed)
    if sources.candidates:
        yield rank_candidate_lists(reader, read_candidate_lists(sources.candidates), data=sources.candidates.stem)


def sentence_pairs(reader: Reader, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Compare cosines with human judgements of relatedness."""
    if sources.pairs:
        yield pair_relatedness(reader, read_sentence_pairs(sources.pairs), data=sources.pairs.stem)


def response_selection(reader: Reader, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Find each answer among 10, among 51 and among 100 turns."""
    for name, path in sources.dialogues:
        for negatives in CANDIDATES:
            yield select_responses(
                reader,
                list(read_dialogues(path)),
                data=name,
                negatives=negatives,
                # A rank above the number of negatives is always reached.
                top=[rank for rank in TOP if rank <= negatives],
                limit=sources.limit,
                seed=seed,
            )


def robustness(reader: Reader, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Find each answer among 51 turns, from contexts perturbed in five ways."""
    for name, path in sources.dialogues:
        yield select_responses_perturbed(
            reader,
            list(read_dialogues(path)),
            PERTURBATIONS,
            data=name,
            negatives=PERTURBED_AMONG,
            limit=sources.limit,
            seed=seed,
        )


RUNNERS: dict[str, Callable[[Reader, Sources, int], Iterator[TaskResult]]] = {
    "intents": intents,
    "out_of_scope": out_of_scope,
    "retrieval": retrieval,
    "sentence_pairs": sentence_pairs,
    "response_selection": response_selection,
    "robustness": robustness,
}


def run_tasks(reader: Reader, names: Sequence[str], sources: Sources, *, seed: int) -> Iterator[TaskResult]:
    """Yield the results of the named tasks, in their order.

    :param reader: system under test; it encodes each text and context once.
    :param names: keys of `RUNNERS`; empty means all tasks that have data.
    :raises Dial2vecError: if a named task is unknown or has no data, or no task has data.
    """
    reader = remembering(reader)
    for name in tasks_with_data(names, sources):
        yield from RUNNERS[name](reader, sources, seed)


def check_tasks(names: Sequence[str], sources: Sources, *, seed: int) -> None:
    """Read all data, and raise if a named task cannot be run on it.

    :raises Dial2vecError: if so; see `sources.check_sources`.
    """
    check_sources(names, sources, negatives=max(*CANDIDATES, PERTURBED_AMONG), seed=seed)
