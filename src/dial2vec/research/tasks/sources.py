"""Data of the tasks, checked before anything is loaded, fitted or encoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dial2vec.dialogue import read_dialogues
from dial2vec.errors import Dial2vecError, did_you_mean
from dial2vec.pipeline.artifacts import require_split
from dial2vec.research.tasks.intents import INTENT_SETS, IntentSet, read_intents
from dial2vec.research.tasks.response_selection import draw_queries
from dial2vec.research.tasks.semantic_retrieval import read_candidate_lists
from dial2vec.research.tasks.sentence_pairs import read_sentence_pairs

# Task -> options of the shell command that give it data, any of them.
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "intents": ("--intents",),
    "out_of_scope": ("--intents",),
    "retrieval": ("--intents", "--candidates"),
    "sentence_pairs": ("--pairs",),
    "response_selection": ("--corpus",),
    "robustness": ("--corpus",),
}


@dataclass(frozen=True, slots=True)
class Sources:
    """Data of the tasks; a task without data is not run.

    :param intents: folder or zip of the intent sets.
    :param dialogues: pairs of a name and a JSON Lines file of dialogues.
    :param pairs: file of `score, sentence, sentence`, separated by tabs.
    :param candidates: file in the format of DialogueCSE's select.txt.
    :param limit: largest number of queries of response selection and retrieval; None means all.
    """

    intents: Path | None = None
    dialogues: tuple[tuple[str, Path], ...] = ()
    pairs: Path | None = None
    candidates: Path | None = None
    limit: int | None = 1000

    def intent_sets(self) -> Iterator[IntentSet]:
        """Read the four intent sets, if there are any."""
        if self.intents:
            for name in INTENT_SETS:
                yield read_intents(name, self.intents)

    def given(self) -> set[str]:
        """Return the options of the shell command that give this data."""
        by_option = {
            "--intents": self.intents,
            "--corpus": self.dialogues,
            "--pairs": self.pairs,
            "--candidates": self.candidates,
        }
        return {option for option, value in by_option.items() if value}


def check_names(names: Sequence[str]) -> None:
    """Raise if a task name is unknown.

    :raises Dial2vecError: if so.
    """
    for name in names:
        if name not in OPTIONS:
            raise Dial2vecError(f"there is no task {name!r}.{did_you_mean(name, OPTIONS)} Valid: {', '.join(OPTIONS)}.")


def tasks_with_data(names: Sequence[str], sources: Sources) -> list[str]:
    """Return the tasks to run: the named tasks, or all that have data.

    :raises Dial2vecError: if a named task is unknown or has no data, or no task has data.
    """
    check_names(names)
    given = sources.given()
    without = [name for name in names if not given & set(OPTIONS[name])]
    if without:
        options = " or ".join(OPTIONS[without[0]])
        raise Dial2vecError(
            f"there is no data for the task {without[0]!r}; expected {options}. Give it, or leave the task out of "
            "--tasks."
        )
    if not given:
        raise Dial2vecError("there is no data for any task. Give --intents, --corpus, --pairs or --candidates.")
    return [name for name in names or OPTIONS if given & set(OPTIONS[name])]


def check_sources(names: Sequence[str], sources: Sources, *, negatives: int, seed: int) -> None:
    """Read all data and draw the queries, so that no task fails after hours of other tasks.

    :param names: names of tasks, as for `tasks_with_data`.
    :param negatives: largest number of negatives of an answer.
    :raises Dial2vecError: if a task is unknown or has no data.
    :raises CorpusError: if data is missing, damaged or too small.
    """
    needed = sources.given() & {option for name in tasks_with_data(names, sources) for option in OPTIONS[name]}
    if "--intents" in needed:
        check_intents(sources)
    if sources.pairs and "--pairs" in needed:
        read_sentence_pairs(sources.pairs)
    if sources.candidates and "--candidates" in needed:
        read_candidate_lists(sources.candidates)
    for name, path in sources.dialogues if "--corpus" in needed else ():
        require_split(name, path)
        draw_queries(read_dialogues(path), negatives=negatives, limit=sources.limit, seed=seed, data=name)


def check_intents(sources: Sources) -> None:
    """Read the intent sets.

    :raises CorpusError: if a set cannot be read.
    """
    for _ in sources.intent_sets():
        pass
