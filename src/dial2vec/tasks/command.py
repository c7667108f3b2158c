"""`dial2vec evaluate`: a model or a baseline on the tasks, line by line to the terminal and to a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from dial2vec.baselines import fit_baseline
from dial2vec.dialogue import read_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.files import atomic_path, write_errors
from dial2vec.tasks.encoding import Encode, encode_alone, encode_as_dialogues
from dial2vec.tasks.records import TaskResult
from dial2vec.tasks.run import Sources, check_names, run_tasks

PER_LINE = 4


def evaluate_model(
    model: str,
    names: Sequence[str],
    sources: Sources,
    *,
    seed: int,
    output: Path | None,
    say: Callable[[str], None],
) -> list[TaskResult]:
    """Run the tasks with a model, say each result as it comes, and write them all.

    :param model: as `DialogueEncoder.from_pretrained` takes it.
    :param output: JSON Lines, a result per line; None writes none.
    """
    _prepare(names, output)
    encoder = DialogueEncoder.from_pretrained(model)
    encode, separator = encode_alone(encoder)
    sources = replace(sources, separator=separator)
    with encoder.autocast("auto"):
        return _evaluate(encode, names, sources, seed=seed, output=output, say=say)


def evaluate_baseline(
    baseline: str,
    names: Sequence[str],
    sources: Sources,
    *,
    train: Path,
    start: str,
    seed: int,
    output: Path | None,
    say: Callable[[str], None],
) -> list[TaskResult]:
    """Fit a baseline once, run the tasks with it, say each result as it comes, and write them all.

    It reads an utterance, or the turns of a context in one, as a dialogue of one turn. A blank stands between the
    turns of a context: to those that count words a separator would be a word.

    :param baseline: key of `dial2vec.baselines.BASELINES`.
    :param train: JSON Lines of the dialogues that it is fitted to.
    :param start: the encoder of those that begin with one.
    :param seed: of the fit and of the tasks.
    :param output: JSON Lines, a result per line; None writes none.
    :raises ModelError: when its library or its model is not at hand.
    """
    _prepare(names, output)
    fitted = fit_baseline(baseline, read_dialogues(train), seed=seed, start=start)
    return _evaluate(partial(encode_as_dialogues, fitted), names, sources, seed=seed, output=output, say=say)


def _prepare(names: Sequence[str], output: Path | None) -> None:
    """Find a wrong name, and a folder that cannot be written to, before anything is loaded, fitted or encoded."""
    check_names(names)
    if output is not None:
        with write_errors(output):
            output.parent.mkdir(parents=True, exist_ok=True)


def _evaluate(
    encode: Encode,
    names: Sequence[str],
    sources: Sources,
    *,
    seed: int,
    output: Path | None,
    say: Callable[[str], None],
) -> list[TaskResult]:
    results = []
    for result in run_tasks(encode, names, sources, seed=seed):
        say(in_words(result))
        results.append(result)
    if output is not None:
        with atomic_path(output) as temporary:
            temporary.write_text("".join(json.dumps(result.to_record()) + "\n" for result in results))
        say(f"wrote {output}")
    return results


def in_words(result: TaskResult) -> str:
    """Return a result as a line, or as a head with lines below it where there are many figures."""
    figures = [
        f"{name.replace('_', ' ')} {figure:.2f}" + (f" ± {result.spread[name]:.2f}" if name in result.spread else "")
        for name, figure in result.figures.items()
    ]
    head = f"{result.task.replace('_', ' ')}, {result.data} ({result.n}, {result.seconds:.0f} s):"
    if len(figures) <= PER_LINE:
        return f"{head} {', '.join(figures)}"
    lines = (", ".join(figures[first : first + PER_LINE]) for first in range(0, len(figures), PER_LINE))
    return "\n  ".join([head, *lines])
