"""The data that tasks are run on, and whether it is there: looked at before anything is loaded, fitted or encoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dial2vec.dialogue import read_dialogues
from dial2vec.errors import CorpusError, Dial2vecError, did_you_mean
from dial2vec.research.tasks.bm25 import require_bm25
from dial2vec.research.tasks.intents import INTENT_SETS, IntentSet, read_intents
from dial2vec.research.tasks.response_selection import draw_queries
from dial2vec.research.tasks.semantic_retrieval import read_candidate_lists
from dial2vec.research.tasks.sentence_pairs import read_sentence_pairs

# The options of the shell command that bring the data of a task, any of them.
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
    """The data that tasks are run on; what is not given is not run.

    :param intents: folder or zip of the intent sets.
    :param dialogues: JSON Lines of dialogues by name.
    :param pairs: a file of `score, sentence, sentence`, parted by tabs.
    :param candidates: a file in the format of DialogueCSE's select.txt.
    :param limit: queries of response selection and retrieval at most; None is all.
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
        """Return the options of the shell command that would bring this data."""
        found = {
            "--intents": self.intents,
            "--corpus": self.dialogues,
            "--pairs": self.pairs,
            "--candidates": self.candidates,
        }
        return {option for option, value in found.items() if value}


def check_names(names: Sequence[str]) -> None:
    """Complain about a task that there is not.

    :raises Dial2vecError: naming it.
    """
    for name in names:
        if name not in OPTIONS:
            raise Dial2vecError(f"there is no task {name!r}.{did_you_mean(name, OPTIONS)} Valid: {', '.join(OPTIONS)}.")


def tasks_with_data(names: Sequence[str], sources: Sources) -> list[str]:
    """Return the tasks to run: those that are named, or all that there is data for.

    :raises Dial2vecError: for an unknown task, one that is named and has no data, and where there is data for none.
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
    """Read everything once, and draw the queries, so that no task finds a fault after hours of others.

    :param names: as `tasks_with_data` takes them.
    :param negatives: the most foreign turns that an answer stands against.
    :raises Dial2vecError: as `tasks_with_data`, and when a library is not installed.
    :raises CorpusError: for data that is missing, damaged or too little.
    """
    wanted = tasks_with_data(names, sources)
    needed = sources.given() & {option for name in wanted for option in OPTIONS[name]}
    if "--intents" in needed:
        check_intents(sources, retrieval="retrieval" in wanted)
    if sources.pairs and "--pairs" in needed:
        read_sentence_pairs(sources.pairs)
    if sources.candidates and "--candidates" in needed:
        read_candidate_lists(sources.candidates)
    for name, path in sources.dialogues if "--corpus" in needed else ():
        require_split(name, path)
        draw_queries(read_dialogues(path), negatives=negatives, limit=sources.limit, seed=seed, data=name)


def check_intents(sources: Sources, *, retrieval: bool = True) -> None:
    """Make sure that the intent sets can be read, and that there is what their retrieval needs.

    :raises CorpusError: when they cannot.
    :raises Dial2vecError: when bm25s is not installed.
    """
    if retrieval:
        require_bm25()
    for _ in sources.intent_sets():
        pass


def require_split(corpus: str, path: Path) -> None:
    """Make sure that a split of a corpus has been cut.

    :raises CorpusError: naming the way to it.
    """
    if not path.is_file():
        raise CorpusError(
            f"the corpus {corpus!r} has no splits yet: {path} does not exist. Run `make run` (or `dial2vec run`) with "
            "it in `corpora` of params.yaml first."
        )
