"""`dial2vec evaluate`: a model on the tasks, line by line to the terminal and to a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from dial2vec.encoder import DialogueEncoder
from dial2vec.files import atomic_path, write_errors
from dial2vec.tasks.encoding import Encode, remembering
from dial2vec.tasks.records import TaskResult
from dial2vec.tasks.run import Sources, run_tasks

PER_LINE = 4


def evaluate_tasks(
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
    if output is not None:
        # Before anything is encoded: a folder that cannot be written to is found at once.
        with write_errors(output):
            output.parent.mkdir(parents=True, exist_ok=True)
    encoder = DialogueEncoder.from_pretrained(model)
    encode, separator = encode_alone(encoder)
    sources = replace(sources, separator=separator)
    results = []
    with encoder.autocast("auto"):
        for result in run_tasks(encode, names, sources, seed=seed):
            say(in_words(result))
            results.append(result)
    if output is not None:
        with atomic_path(output) as temporary:
            temporary.write_text("".join(json.dumps(result.to_record()) + "\n" for result in results))
        say(f"wrote {output}")
    return results


def encode_alone(encoder: DialogueEncoder) -> tuple[Encode, str]:
    """Return how an encoder encodes utterances, and what stands between the turns of a context, as in training."""
    separator = encoder.tokens.tokenizer.sep_token
    return remembering(partial(encoder.encode_utterances, batch_size=64)), f" {separator} " if separator else " "


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
