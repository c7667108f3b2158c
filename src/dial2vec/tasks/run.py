"""All tasks that the data at hand allows, one after another, for one encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dial2vec.augmentation import PERTURBATIONS
from dial2vec.dialogue import read_dialogues
from dial2vec.errors import Dial2vecError, did_you_mean
from dial2vec.tasks.encoding import Encode, remembering
from dial2vec.tasks.intents import INTENT_SETS, IntentSet, read_intents
from dial2vec.tasks.out_of_scope import detect_out_of_scope
from dial2vec.tasks.prototypes import classify_intents
from dial2vec.tasks.records import TaskResult
from dial2vec.tasks.response_selection import select_responses
from dial2vec.tasks.robustness import select_responses_perturbed
from dial2vec.tasks.semantic_retrieval import rank_candidate_lists, read_candidate_lists, retrieve_sentences
from dial2vec.tasks.sentence_pairs import pair_relatedness, read_sentence_pairs

# The only one of the intent sets with sentences that belong to no intent.
WITH_OUT_OF_SCOPE = "clinc150"
# Foreign turns among which an answer is sought, clean and with a perturbed context.
CANDIDATES = (50, 99)
PERTURBED_AMONG = 50


@dataclass(frozen=True, slots=True)
class Sources:
    """The data that tasks are run on; what is not given is not run.

    :param intents: folder or zip of the intent sets.
    :param dialogues: JSON Lines of dialogues by name.
    :param pairs: a file of `score, sentence, sentence`, parted by tabs.
    :param candidates: a file in the format of DialogueCSE's select.txt.
    :param limit: queries of response selection and retrieval at most; None is all.
    :param separator: stands between the turns of a context.
    """

    intents: Path | None = None
    dialogues: tuple[tuple[str, Path], ...] = ()
    pairs: Path | None = None
    candidates: Path | None = None
    limit: int | None = 1000
    separator: str = " "


def intents(encode: Encode, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Classify intents of all four sets by prototypes."""
    for data in _intent_sets(sources):
        yield classify_intents(encode, data, seed=seed)


def out_of_scope(encode: Encode, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Tell sentences of no intent apart, by both rules."""
    if sources.intents:
        data = read_intents(WITH_OUT_OF_SCOPE, sources.intents)
        yield detect_out_of_scope(encode, data, seed=seed)
        yield detect_out_of_scope(encode, data, seed=seed, rule="release")


def retrieval(encode: Encode, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Rank BM25's candidates by intent, and lists of candidates that are given."""
    for data in _intent_sets(sources):
        yield retrieve_sentences(encode, data.test, data=data.name, limit=sources.limit, seed=seed)
    if sources.candidates:
        yield rank_candidate_lists(encode, read_candidate_lists(sources.candidates), data=sources.candidates.stem)


def sentence_pairs(encode: Encode, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Compare cosines with the relatedness that people gave."""
    if sources.pairs:
        yield pair_relatedness(encode, read_sentence_pairs(sources.pairs), data=sources.pairs.stem)


def response_selection(encode: Encode, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Find each answer among 51 and among 100 turns."""
    for name, path in sources.dialogues:
        for negatives in CANDIDATES:
            yield select_responses(
                encode,
                list(read_dialogues(path)),
                data=name,
                negatives=negatives,
                separator=sources.separator,
                limit=sources.limit,
                seed=seed,
            )


def robustness(encode: Encode, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Find each answer among 51 turns from contexts that were damaged in five ways."""
    for name, path in sources.dialogues:
        yield select_responses_perturbed(
            encode,
            list(read_dialogues(path)),
            PERTURBATIONS,
            data=name,
            negatives=PERTURBED_AMONG,
            separator=sources.separator,
            limit=sources.limit,
            seed=seed,
        )


TASKS: dict[str, Callable[[Encode, Sources, int], Iterator[TaskResult]]] = {
    "intents": intents,
    "out_of_scope": out_of_scope,
    "retrieval": retrieval,
    "sentence_pairs": sentence_pairs,
    "response_selection": response_selection,
    "robustness": robustness,
}


def run_tasks(encode: Encode, names: Sequence[str], sources: Sources, *, seed: int) -> Iterator[TaskResult]:
    """Yield the results of the named tasks, in their order.

    :param encode: texts to vectors [n, d]; asked once for each text, since tasks share most of theirs.
    :param names: of `TASKS`; all of them where none is named.
    :raises Dial2vecError: for an unknown task, and where there is data for none of them.
    """
    check_names(names)
    encode, found = remembering(encode), 0
    for name in names or TASKS:
        for result in TASKS[name](encode, sources, seed):
            found += 1
            yield result
    if not found:
        raise Dial2vecError(
            f"there is no data for {', '.join(names or TASKS)}. Give --intents, --corpus, --pairs or --candidates."
        )


def check_names(names: Sequence[str]) -> None:
    """Complain about a task that there is not.

    :raises Dial2vecError: naming it.
    """
    for name in names:
        if name not in TASKS:
            raise Dial2vecError(f"there is no task {name!r}.{did_you_mean(name, TASKS)} Valid: {', '.join(TASKS)}.")


def _intent_sets(sources: Sources) -> Iterator[IntentSet]:
    if sources.intents:
        for name in INTENT_SETS:
            yield read_intents(name, sources.intents)
