"""`dial2vec papers evaluate`: run a model or a baseline on the tasks; results go to the terminal and to a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import read_dialogues
from conversations.files import write_errors, write_json_lines
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.advice import unknown_advice
from dial2vec.pipeline.artifacts import require_split
from dial2vec_papers.baselines import check_baseline, fit_baseline
from dial2vec_papers.tasks.encoding import (
    Context,
    Reader,
    Similarity,
    reader_of_baseline,
    reader_of_encoder,
    remembering,
)
from dial2vec_papers.tasks.maps import draw_maps
from dial2vec_papers.tasks.records import TaskResult, kind_of
from dial2vec_papers.tasks.run import run_tasks, untrainable
from dial2vec_papers.tasks.sources import TRAINING, Sources, check_sources

PER_LINE = 4


class ToFit(NamedTuple):
    """A baseline, and what it is fitted to.

    :param name: key of `dial2vec_papers.baselines.BASELINES`.
    :param train: JSON Lines file of the training dialogues.
    :param start: encoder of the baselines that start from one.
    """

    name: str
    corpus: str
    train: Path
    start: str


def evaluate_system(
    system: str | ToFit,
    names: Sequence[str],
    sources: Sources,
    *,
    similarity: Similarity,
    seed: int,
    output: Path | None,
    pictures: Path | None,
    say: Callable[[str], None],
) -> list[TaskResult]:
    """Run the tasks with a model or a baseline; show and write each result at once.

    :param system: name or address of a model, as for `DialogueEncoder.from_pretrained`, or a baseline.
    :param output: JSON Lines file, a result per line; None writes no file.
    :param pictures: folder for maps of intents and of answers (`maps.draw_maps`); None draws none.
    :raises Dial2vecError: if names or data are wrong, before anything is loaded or fitted.
    :raises ModelError: if a library or a model is missing.
    """
    if isinstance(system, ToFit):
        check_baseline(system.name)
        if trained := [name for name in names if name in TRAINING]:
            raise untrainable(trained[0])
        require_split(system.corpus, system.train)
    check_sources(names, sources, seed=seed)
    if output is not None:
        with write_errors(output):
            output.parent.mkdir(parents=True, exist_ok=True)
    results: list[TaskResult] = []
    with _reader(system, similarity, seed) as plain:
        reader = _telling(plain, say)
        # The maps show utterances that the tasks encode.
        reader = reader if pictures is None else remembering(reader)
        for result in run_tasks(reader, names, sources, seed=seed):
            say(in_words(result))
            results.append(result)
            # The whole file each time, so that results stay if a later task fails.
            if output is not None:
                write_json_lines(output, (done.to_record() for done in results))
        if output is not None:
            say(f"wrote {output}")
        for path in draw_maps(reader, sources, pictures, seed=seed) if pictures is not None else ():
            say(f"wrote {path}")
    return results


def _telling(reader: Reader, say: Callable[[str], None]) -> Reader:
    """Return a reader that says once if its encoder does not know many tokens of what it reads."""
    if (encoder := reader.encoder) is None:
        return reader
    advised: list[str] = []

    def advise(texts: Sequence[str]) -> None:
        if not advised and (advice := unknown_advice(texts, encoder)):
            advised.append(advice)
            say(advice)

    def utterances(texts: Sequence[str]) -> NDArray[np.float32]:
        advise(texts)
        return reader.utterances(texts)

    def contexts(read: Sequence[Context]) -> NDArray[np.float32]:
        advise([context[-1].text for context in read])
        return reader.contexts(read)

    return replace(reader, utterances=utterances, contexts=contexts)


@contextmanager
def _reader(system: str | ToFit, similarity: Similarity, seed: int) -> Iterator[Reader]:
    if isinstance(system, ToFit):
        train = read_dialogues(system.train)
        fitted = fit_baseline(system.name, train, seed=seed, start=system.start, on_tasks=True)
        yield reader_of_baseline(fitted, similarity=similarity)
        return
    encoder = DialogueEncoder.from_pretrained(system)
    with encoder.autocast("auto"):
        yield reader_of_encoder(encoder, similarity=similarity)


def in_words(result: TaskResult) -> str:
    """Return a result as a line; with many figures, as a head with lines below it."""
    figures = [
        f"{name.replace('_', ' ')} {figure:.2f}" + (f" ± {result.spread[name]:.2f}" if name in result.spread else "")
        for name, figure in result.figures.items()
    ]
    cut = f", {result.cut} contexts cut" if result.cut else ""
    name = ", ".join(filter(None, (result.task.replace("_", " "), result.data, kind_of(result.settings))))
    head = f"{name} ({result.n}, {result.seconds:.0f} s{cut}):"
    if len(figures) <= PER_LINE:
        return f"{head} {', '.join(figures)}"
    lines = (", ".join(figures[first : first + PER_LINE]) for first in range(0, len(figures), PER_LINE))
    return "\n  ".join([head, *lines])
