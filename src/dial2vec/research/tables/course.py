"""Training of a cell, and its course: the test split at every checkpoint (Liu et al. 2022, figure 3)."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dial2vec.config import Settings
from dial2vec.dialogue import Dialogue
from dial2vec.evaluation.scores import score
from dial2vec.files import atomic_path, code_hash, read_json, write_json
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.training.candidates import become, read_candidates

if TYPE_CHECKING:
    from dial2vec.encoder import DialogueEncoder


@dataclass(frozen=True, slots=True)
class Training:
    """What the training of a cell read, and the steps at which it could have ended.

    :param chosen: name of the candidate that the cell is scored with; empty where nothing was trained.
    :param by_labels: step with the best purity on dev, which is how the paper chooses; None where dev has no labels.
    :param label_free: step that the criteria without labels choose; None where they were not asked.
    :param label_free_name: the name of that candidate; empty where they were not asked.
    :param steps: of the whole training.
    :param tokens: that the encoder was trained on, over all steps, padding left out.
    """

    chosen: str = ""
    by_labels: int | None = None
    label_free: int | None = None
    label_free_name: str = ""
    steps: int = 0
    tokens: int = 0


def trained_encoder(
    artifacts: Artifacts, settings: Settings, work: Path, *, mark: str, with_choices: bool
) -> tuple[DialogueEncoder, Training]:
    """Run the stages sample, train and select in a folder of the cell's own, and return the encoder and the choices.

    A killed run goes on in that folder, where it has the same mark and code; whoever has the scores may remove it.

    :param settings: `select.selection` is "label_free" or "last".
    :param with_choices: whether labels and criteria are asked for their choice even where the last candidate is taken.
    """
    from dial2vec.encoder import DialogueEncoder
    from dial2vec.pipeline.sample import sample
    from dial2vec.pipeline.select import select
    from dial2vec.pipeline.train import train_encoder

    scratch = _prepared(artifacts, work, mark=mark + code_hash())
    last = settings.select.selection == "last"
    ours = replace(settings, select=replace(settings.select, selection="label_free"))
    stages = [(sample, scratch.samples), (train_encoder, scratch.training), (select, scratch.selection)]
    for stage, written_last in stages if with_choices or not last else stages[:2]:
        if not written_last.is_file():
            stage(scratch, ours)
    report = read_json(scratch.training)
    tokens = round(sum(part["tokens"] * part["steps"] for part in (report, report["before"])))
    training = Training(tokens=tokens, steps=report["steps"])
    if with_choices or not last:
        training = _with_choices(training, scratch)
    if not last:
        return DialogueEncoder.from_pretrained(scratch.model), training
    candidate = read_candidates(scratch.candidates)[-1]
    encoder = become(DialogueEncoder.start(settings.encoder), candidate, scratch.candidates)
    return encoder, replace(training, chosen=candidate.name)


def _with_choices(training: Training, scratch: Artifacts) -> Training:
    selection = read_json(scratch.selection)
    steps = {one["name"]: one["step"] for one in selection["candidates"]}
    labelled = [one for one in selection["candidates"] if one["dev"]]
    best = max(labelled, key=lambda one: one["dev"]["purity"], default={"step": None})
    chosen = selection["chosen"]
    return replace(training, chosen=chosen, by_labels=best["step"], label_free=steps[chosen], label_free_name=chosen)


def _prepared(artifacts: Artifacts, work: Path, *, mark: str) -> Artifacts:
    """Return a folder with the splits; what it holds of other settings, splits or code is thrown away."""
    scratch, marked = Artifacts(work, artifacts.corpus), work / "mark"
    if not marked.is_file() or marked.read_text() != mark:
        shutil.rmtree(work, ignore_errors=True)
        scratch.splits.mkdir(parents=True)
        for name in ("train", "dev"):
            shutil.copyfile(artifacts.split(name), scratch.split(name))
        shutil.copyfile(artifacts.split_report, scratch.split_report)
        with atomic_path(marked) as temporary:
            temporary.write_text(mark)
    return scratch


def course(
    artifacts: Artifacts, settings: Settings, work: Path, judged: Sequence[Dialogue], *, seed: int
) -> list[dict[str, float]]:
    """Score the start and every checkpoint that `trained_encoder` left in a folder on the judged dialogues.

    :param judged: dialogues with one label each.
    :param seed: of k-means.
    :return: one point per checkpoint, the start first: "step", and the figures of `evaluation.scores.score`.
    """
    from dial2vec.encoder import DialogueEncoder

    folder = Artifacts(work, artifacts.corpus).candidates
    labels = [str(dialogue.label) for dialogue in judged]
    kept = work / "course.json"
    points: list[dict[str, float]] = read_json(kept) if kept.is_file() else []
    for candidate in read_candidates(folder)[len(points) :]:
        encoder = become(DialogueEncoder.start(settings.encoder), candidate, folder)
        with encoder.autocast("auto"):
            vectors = encoder.encode(judged, batch_size=settings.evaluate.batch_size)
        scores = score(vectors, labels, runs=settings.evaluate.kmeans_runs, seed=seed)
        points.append({"step": float(candidate.step)} | scores)
        write_json(kept, points)
    return points
