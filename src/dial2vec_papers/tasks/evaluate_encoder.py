"""`dial2vec papers evaluate`: run a model or a baseline on the tasks; results go to the terminal and to a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from conversations.dialogue import read_dialogues
from conversations.files import atomic_path, write_errors
from dial2vec.encoder import DialogueEncoder
from dial2vec.pipeline.artifacts import require_split
from dial2vec_papers.baselines import check_baseline, fit_baseline
from dial2vec_papers.tasks.encoding import (
    Reader,
    Similarity,
    reader_of_baseline,
    reader_of_encoder,
    remembering,
)
from dial2vec_papers.tasks.maps import draw_maps
from dial2vec_papers.tasks.records import TaskResult, kind_of
from dial2vec_papers.tasks.run import check_tasks, run_tasks, untrainable
from dial2vec_papers.tasks.sources import TRAINING, Sources

PER_LINE = 4


def evaluate_model(
    model: str,
    names: Sequence[str],
    sources: Sources,
    *,
    similarity: Similarity = "cosine",
    seed: int,
    output: Path | None,
    pictures: Path | None = None,
    say: Callable[[str], None],
) -> list[TaskResult]:
    """Run the tasks with a model; show and write each result at once.

    :param model: name or address of the model, as for `DialogueEncoder.from_pretrained`.
    :param similarity: similarity of contexts and answers.
    :param output: JSON Lines file, a result per line; None writes no file.
    :param pictures: folder for maps of intents and of answers (`maps.draw_maps`); None draws none.
    :raises Dial2vecError: if names or data are wrong, before the model is loaded.
    """
    _prepare(names, sources, output, seed=seed)
    encoder = DialogueEncoder.from_pretrained(model)
    with encoder.autocast("auto"):
        reader = reader_of_encoder(encoder, similarity=similarity)
        return _evaluate(reader, names, sources, seed=seed, output=output, pictures=pictures, say=say)


def evaluate_baseline(
    baseline: str,
    names: Sequence[str],
    sources: Sources,
    *,
    corpus: str,
    train: Path,
    start: str,
    similarity: Similarity = "cosine",
    seed: int,
    output: Path | None,
    pictures: Path | None = None,
    say: Callable[[str], None],
) -> list[TaskResult]:
    """Fit a baseline, and run the tasks with it; show and write each result at once.

    :param baseline: key of `dial2vec_papers.baselines.BASELINES`.
    :param corpus: name of the corpus, for errors.
    :param train: JSON Lines file of the training dialogues.
    :param start: encoder of the baselines that start from one.
    :param similarity: similarity of contexts and answers.
    :param seed: random seed of fit and tasks.
    :param output: JSON Lines file, a result per line; None writes no file.
    :param pictures: folder for maps of intents and of answers (`maps.draw_maps`); None draws none.
    :raises Dial2vecError: if names or data are wrong, before anything is fitted.
    :raises ModelError: if its library or its model is missing.
    """
    check_baseline(baseline)
    if trained := [name for name in names if name in TRAINING]:
        raise untrainable(trained[0])
    require_split(corpus, train)
    _prepare(names, sources, output, seed=seed)
    fitted = fit_baseline(baseline, read_dialogues(train), seed=seed, start=start, on_tasks=True)
    reader = reader_of_baseline(fitted, similarity=similarity)
    return _evaluate(reader, names, sources, seed=seed, output=output, pictures=pictures, say=say)


def _prepare(names: Sequence[str], sources: Sources, output: Path | None, *, seed: int) -> None:
    """Check names, data and the output folder before anything is loaded or encoded."""
    check_tasks(names, sources, seed=seed)
    if output is not None:
        with write_errors(output):
            output.parent.mkdir(parents=True, exist_ok=True)


def _evaluate(
    reader: Reader,
    names: Sequence[str],
    sources: Sources,
    *,
    seed: int,
    output: Path | None,
    pictures: Path | None,
    say: Callable[[str], None],
) -> list[TaskResult]:
    results: list[TaskResult] = []
    # The maps show utterances that the tasks encode.
    reader = reader if pictures is None else remembering(reader)
    for result in run_tasks(reader, names, sources, seed=seed):
        say(in_words(result))
        results.append(result)
        # The whole file each time, so that results stay if a later task fails.
        if output is not None:
            with atomic_path(output) as temporary:
                temporary.write_text("".join(json.dumps(done.to_record()) + "\n" for done in results))
    if output is not None:
        say(f"wrote {output}")
    for path in draw_maps(reader, sources, pictures, seed=seed) if pictures is not None else ():
        say(f"wrote {path}")
    return results


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
