"""All tasks that have data, one after another, for one system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import get_args

from conversations.dialogue import read_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import Dial2vecError
from dial2vec.training.augmentation import PERTURBATIONS
from dial2vec_papers.tasks.action_prediction import ACTION_DRAWS, ACTION_SHOTS, predict_actions
from dial2vec_papers.tasks.actions import read_actions
from dial2vec_papers.tasks.answer_tuning import ANSWER_DRAWS, ANSWER_SHOTS, fine_tune_answers
from dial2vec_papers.tasks.encoding import Reader, remembering
from dial2vec_papers.tasks.inference import infer_sentences, read_inferences
from dial2vec_papers.tasks.intent_tuning import fine_tune_intents
from dial2vec_papers.tasks.intents import read_intents
from dial2vec_papers.tasks.kept_runs import KeptRuns
from dial2vec_papers.tasks.out_of_scope import Rule, detect_out_of_scope
from dial2vec_papers.tasks.prototypes import DRAWS, SHOTS, Prototype, classify_intents
from dial2vec_papers.tasks.records import TaskResult
from dial2vec_papers.tasks.response_selection import select_responses
from dial2vec_papers.tasks.robustness import select_responses_perturbed
from dial2vec_papers.tasks.semantic_retrieval import rank_candidate_lists, read_candidate_lists, retrieve_sentences
from dial2vec_papers.tasks.sentence_pairs import pair_relatedness, read_sentence_pairs
from dial2vec_papers.tasks.sources import CANDIDATES, PERTURBED_AMONG, SINGLE_AMONG, Sources, tasks_with_data

# The only intent set with out-of-scope sentences.
WITH_OUT_OF_SCOPE = "clinc150"
# Relevant candidates of a query in DialogueCSE's lists, at most (Liu et al. 2021, section 5.1.2).
RELEVANT = 30


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
    """Rank BM25's candidates by intent, and given lists of candidates, all of them and with at most 30 relevant."""
    for data in sources.intent_sets():
        for positives in (None, RELEVANT):
            yield retrieve_sentences(
                reader, data.test, data=data.name, positives=positives, limit=sources.limit, seed=seed
            )
    if sources.candidates:
        lists, name = read_candidate_lists(sources.candidates), sources.candidates.stem
        yield rank_candidate_lists(reader, lists, data=name)
        if lists.relevant.sum(axis=1).max() > RELEVANT:
            yield rank_candidate_lists(reader, lists, data=name, positives=RELEVANT)


def sentence_pairs(reader: Reader, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Compare cosines with human judgements of relatedness."""
    if sources.pairs:
        yield pair_relatedness(reader, read_sentence_pairs(sources.pairs), data=sources.pairs.stem)


def inference(reader: Reader, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Compare what follows from a sentence with what contradicts it."""
    if sources.inferences:
        yield infer_sentences(reader, read_inferences(sources.inferences), data=sources.inferences.stem)


def response_selection(reader: Reader, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Find each answer among 10, among 51 and among 100 turns, and among given candidates."""
    for negatives in CANDIDATES:
        for queries in sources.drawn_queries(negatives, seed=seed):
            yield select_responses(reader, queries)
    for queries in sources.given_queries(seed=seed):
        yield select_responses(reader, queries)


def single_utterances(reader: Reader, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Find each answer among 100 turns by the turn before it alone."""
    for queries in sources.drawn_queries(SINGLE_AMONG, seed=seed):
        yield select_responses(reader, queries, turns=1)


def robustness(reader: Reader, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Find each answer among 51 turns, and among given candidates, from contexts perturbed in five ways."""
    for queries in (*sources.drawn_queries(PERTURBED_AMONG, seed=seed), *sources.given_queries(seed=seed)):
        yield select_responses_perturbed(reader, queries, PERTURBATIONS, seed=seed)


def fine_tuning(reader: Reader, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Fine-tune on a few sentences of each intent, of all four sets."""
    encoder, kept = _trainable(reader, "fine_tuning"), KeptRuns(sources.runs)
    for data in sources.intent_sets():
        yield fine_tune_intents(
            encoder, data, shots=sources.shots or SHOTS, draws=sources.draws or DRAWS, kept=kept, seed=seed
        )


def answers(reader: Reader, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Fine-tune on a few hundred turns with their answers."""
    encoder, kept = _trainable(reader, "answers"), KeptRuns(sources.runs)
    for name, path in sources.dialogues:
        train, validation = sources.training[name]
        yield fine_tune_answers(
            encoder,
            read_dialogues(train),
            read_dialogues(validation),
            list(read_dialogues(path)),
            data=name,
            shots=sources.shots or ANSWER_SHOTS,
            draws=sources.draws or ANSWER_DRAWS,
            loss=sources.loss,
            negatives=SINGLE_AMONG,
            limit=sources.limit,
            kept=kept,
            seed=seed,
        )


def actions(reader: Reader, sources: Sources, seed: int) -> Iterator[TaskResult]:
    """Fine-tune on a few examples of each action, and predict those of other turns."""
    if sources.actions:
        yield predict_actions(
            _trainable(reader, "actions"),
            read_actions(sources.actions),
            shots=sources.shots or ACTION_SHOTS,
            draws=sources.draws or ACTION_DRAWS,
            limit=sources.limit,
            kept=KeptRuns(sources.runs),
            seed=seed,
        )


def untrainable(task: str) -> Dial2vecError:
    """Return the error of a task that trains when there is no encoder to train."""
    return Dial2vecError(
        f"the task {task!r} trains an encoder, but found a baseline; expected a model. Give --model, or leave the task "
        "out of --tasks."
    )


def _trainable(reader: Reader, task: str) -> DialogueEncoder:
    if reader.encoder is None:
        raise untrainable(task)
    return reader.encoder


RUNNERS: dict[str, Callable[[Reader, Sources, int], Iterator[TaskResult]]] = {
    task.__name__: task
    for task in (
        *(intents, out_of_scope, retrieval, sentence_pairs, inference, response_selection, single_utterances),
        *(robustness, fine_tuning, answers, actions),
    )
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
