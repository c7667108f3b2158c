"""Data of the tasks, checked before anything is loaded, fitted or encoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from conversations.dialogue import read_dialogues
from dial2vec.errors import Dial2vecError, did_you_mean
from dial2vec.pipeline.artifacts import require_split
from dial2vec_papers.corpora.response_queries import read_queries
from dial2vec_papers.tasks.actions import read_actions
from dial2vec_papers.tasks.inference import read_inferences
from dial2vec_papers.tasks.intents import INTENT_SETS, IntentSet, read_intents
from dial2vec_papers.tasks.response_selection import Queries, draw_queries, given_queries
from dial2vec_papers.tasks.semantic_retrieval import read_candidate_lists
from dial2vec_papers.tasks.sentence_pairs import read_sentence_pairs

AnswerLoss = Literal["simclr", "release"]
# Task -> options of the shell command that give it data, any of them.
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "intents": ("--intents",),
    "out_of_scope": ("--intents",),
    "retrieval": ("--intents", "--candidates"),
    "sentence_pairs": ("--pairs",),
    "inference": ("--inferences",),
    "response_selection": ("--corpus", "--queries"),
    "single_utterances": ("--corpus",),
    "robustness": ("--corpus", "--queries"),
    "fine_tuning": ("--intents",),
    "answers": ("--corpus",),
    "actions": ("--actions",),
}
# Readers of the data that is one file or folder.
READERS: Mapping[str, Callable[[Path], object]] = {
    "--pairs": read_sentence_pairs,
    "--candidates": read_candidate_lists,
    "--inferences": read_inferences,
    "--actions": read_actions,
}
# Numbers of negatives of an answer: with whole, with perturbed and with short contexts.
CANDIDATES, PERTURBED_AMONG, SINGLE_AMONG = (9, 50, 99), 50, 99
AMONG: Mapping[str, int] = {
    "response_selection": max(CANDIDATES),
    "robustness": PERTURBED_AMONG,
    **dict.fromkeys(("single_utterances", "answers"), SINGLE_AMONG),
}
# They train an encoder once per draw of their examples, which takes minutes to hours; run only if they are named.
TRAINING = ("fine_tuning", "answers", "actions")


@dataclass(frozen=True, slots=True)
class Sources:
    """Data of the tasks, and settings that are not the task's own; a task without data is not run.

    :param intents: folder or zip of the intent sets.
    :param dialogues: pairs of a name and a JSON Lines file of dialogues.
    :param training: name of dialogues -> JSON Lines files of dialogues to train on and to stop early by.
    :param pairs: file of `score, sentence, sentence`, separated by tabs.
    :param candidates: file in the format of DialogueCSE's select.txt.
    :param queries: file of contexts with candidate responses, as `dial2vec papers queries` writes it.
    :param inferences: file of sentences with what follows and what contradicts, as `inference.read_inferences` reads.
    :param actions: folder or zip of a corpus with actions, as `actions.read_actions` reads it.
    :param limit: largest number of queries of response selection and retrieval, and of turns whose actions are
        predicted; None means all.
    :param shots: numbers of examples of the tasks that train; empty means those of the paper.
    :param draws: number of draws of these examples; None means that of the paper.
    :param loss: loss of the task "answers", "simclr" or "release".
    :param runs: JSON Lines file of the runs of the tasks that train, read and added to; None keeps none.
    """

    intents: Path | None = None
    dialogues: tuple[tuple[str, Path], ...] = ()
    training: Mapping[str, tuple[Path, Path]] = field(default_factory=dict, hash=False)
    pairs: Path | None = None
    candidates: Path | None = None
    queries: Path | None = None
    inferences: Path | None = None
    actions: Path | None = None
    limit: int | None = 1000
    shots: tuple[int, ...] = ()
    draws: int | None = None
    loss: AnswerLoss = "simclr"
    runs: Path | None = None

    def intent_sets(self) -> Iterator[IntentSet]:
        """Read the four intent sets, if there are any."""
        if self.intents:
            for name in INTENT_SETS:
                yield read_intents(name, self.intents)

    def drawn_queries(self, negatives: int, *, seed: int) -> Iterator[Queries]:
        """Draw queries from each set of dialogues; raise a CorpusError if one has too few turns."""
        for name, path in self.dialogues:
            yield draw_queries(read_dialogues(path), negatives=negatives, limit=self.limit, seed=seed, data=name)

    def given_queries(self, *, seed: int) -> Iterator[Queries]:
        """Read the queries with candidates, if there are any."""
        if self.queries:
            yield given_queries(read_queries(self.queries), limit=self.limit, seed=seed, data=self.queries.stem)

    def given(self) -> set[str]:
        """Return the options of the shell command that give this data."""
        options = {option for some in OPTIONS.values() for option in some}
        return {option for option in options if getattr(self, _field(option))}


def _field(option: str) -> str:
    """Return the field of `Sources` that an option of the shell command fills."""
    return "dialogues" if option == "--corpus" else option.removeprefix("--")


def tasks_with_data(names: Sequence[str], sources: Sources) -> list[str]:
    """Return the tasks to run: the named tasks, or all that have data and do not train.

    :raises Dial2vecError: if a named task is unknown or has no data, or no task has data.
    """
    for name in names:
        if name not in OPTIONS:
            raise Dial2vecError(f"there is no task {name!r}.{did_you_mean(name, OPTIONS)} Valid: {', '.join(OPTIONS)}.")
    given = sources.given()
    without = [name for name in names if not given & set(OPTIONS[name])]
    if without:
        needed = " or ".join(OPTIONS[without[0]])
        raise Dial2vecError(
            f"there is no data for the task {without[0]!r}; expected {needed}. Give it, or leave the task out of "
            "--tasks."
        )
    if not given:
        options = list(dict.fromkeys(option for some in OPTIONS.values() for option in some))
        raise Dial2vecError(f"there is no data for any task. Give {', '.join(options[:-1])} or {options[-1]}.")
    tasks = [name for name in names or OPTIONS if given & set(OPTIONS[name]) and (names or name not in TRAINING)]
    if not tasks:
        raise Dial2vecError(
            f"found data for {', '.join(sorted(given))} only; the tasks with it train, and are run if they are named. "
            f"Name some of {', '.join(TRAINING)} in --tasks."
        )
    return tasks


def check_sources(names: Sequence[str], sources: Sources, *, seed: int) -> None:
    """Read all data and draw the queries, so that no task fails after hours of others.

    :param names: names of tasks, as for `tasks_with_data`.
    :raises Dial2vecError: if a task is unknown or has no data.
    :raises CorpusError: if data is missing, damaged or too small.
    """
    tasks = tasks_with_data(names, sources)
    negatives = max(AMONG.get(task, 1) for task in tasks)
    needed = sources.given() & {option for name in tasks for option in OPTIONS[name]}
    if "--intents" in needed:
        list(sources.intent_sets())
    for option, read in READERS.items():
        if option in needed:
            read(getattr(sources, _field(option)))
    if "--queries" in needed:
        list(sources.given_queries(seed=seed))
    if "--corpus" in needed:
        for name, path in sources.dialogues:
            for part in (path, *(sources.training[name] if "answers" in tasks else ())):
                require_split(name, part)
        list(sources.drawn_queries(negatives, seed=seed))
