"""Training of a cell, and its course: the test split at every checkpoint (Liu et al. 2022, figure 3)."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conversations.dialogue import Dialogue
from conversations.files import read_json, write_json, write_text
from dial2vec.config import Settings
from dial2vec.errors import ModelError
from dial2vec.evaluation.scores import score
from dial2vec.files import code_hash
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.scoring import scoring
from dial2vec.training.candidates import apply_candidate, read_candidates

if TYPE_CHECKING:
    from dial2vec.encoder import DialogueEncoder
    from dial2vec.encoder.student import StudentEncoder


@dataclass(frozen=True, slots=True)
class Training:
    """The training of a cell: its size, and the steps that the choices take.

    :param chosen: name of the candidate that is scored; "" if nothing was trained.
    :param by_labels: step with the best purity on dev, the release's choice; None if dev has no labels.
    :param label_free: step that the criteria without labels choose; None if they were not asked.
    :param label_free_name: name of that candidate; "" if the criteria were not asked.
    :param tokens: number of tokens trained on, over all steps, without padding. Tokens that were only encoded, to fit
        maps or to make variants, are not counted.
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
    """Run the stages sample, train and select in a work folder, and return the encoder and the choices.

    A killed run continues in that folder if mark and code are the same. The caller may remove the folder after scoring.

    :param mark: hash of what the training depends on.
    :param with_choices: True to compute the choices of labels and criteria even if the last candidate is taken.
    """
    from dial2vec.encoder import DialogueEncoder
    from dial2vec.pipeline.sample import sample
    from dial2vec.pipeline.select import select
    from dial2vec.pipeline.train import train_encoder

    scratch = _prepared(artifacts, work, mark=mark + code_hash("encoder", "training", "evaluation", "pipeline"))
    rule = settings.select.selection
    ours = replace(settings, select=replace(settings.select, selection="label_free"))
    stages = [(sample, scratch.samples), (train_encoder, scratch.training), (select, scratch.selection)]
    for stage, written_last in stages if with_choices or rule != "last" else stages[:2]:
        if not written_last.is_file():
            stage(scratch, ours)
    report = read_json(scratch.training)
    tokens = round(sum(part["tokens"] * part["steps"] for part in (report, report["before"])))
    training = Training(tokens=tokens, steps=report["steps"])
    if with_choices or rule != "last":
        training = _with_choices(training, scratch)
    if rule == "label_free":
        return DialogueEncoder.from_pretrained(scratch.model), training
    candidates = read_candidates(scratch.candidates)
    candidate = candidates[-1]
    if rule == "dev_purity" and training.by_labels is not None:
        best = _best_on_dev(scratch)["name"]
        candidate = next(entry for entry in candidates if entry.name == best)
    encoder = apply_candidate(DialogueEncoder.start(settings.encoder), candidate, scratch.candidates)
    return encoder, replace(training, chosen=candidate.name)


def trained_student(
    artifacts: Artifacts, settings: Settings, work: Path, *, marks: tuple[str, str]
) -> tuple[StudentEncoder, Training]:
    """Train and choose as `trained_encoder` does, run stage distil too, and return the student.

    :param marks: hashes of what the training and the student depend on.
    :raises ModelError: if no student is kept, with the reason.
    """
    from dial2vec.encoder.student import StudentEncoder
    from dial2vec.pipeline.distil import distil

    training = trained_encoder(artifacts, settings, work, mark=marks[0], with_choices=False)[1]
    scratch, marked = Artifacts(work, artifacts.corpus), work / "student_mark"
    # A killed run may have left a student of other settings beside a training of these.
    if not (scratch.distillation.is_file() and marked.is_file() and marked.read_text() == marks[1]):
        distil(scratch, settings)
        write_text(marked, marks[1])
    if scratch.kept_student is None:
        raise ModelError(str(read_json(scratch.distillation)["sentence"]))
    return StudentEncoder.from_pretrained(scratch.student), training


def _with_choices(training: Training, scratch: Artifacts) -> Training:
    selection = read_json(scratch.selection)
    steps = {candidate["name"]: candidate["step"] for candidate in selection["candidates"]}
    best, chosen = _best_on_dev(scratch), selection["chosen"]
    return replace(training, chosen=chosen, by_labels=best["step"], label_free=steps[chosen], label_free_name=chosen)


def _best_on_dev(scratch: Artifacts) -> dict[str, Any]:
    """Return the candidate with the best purity on dev; its step is None if dev has no labels."""
    labelled = [candidate for candidate in read_json(scratch.selection)["candidates"] if candidate["dev"]]
    best: dict[str, Any] = max(labelled, key=lambda candidate: candidate["dev"]["purity"], default={"step": None})
    return best


def _prepared(artifacts: Artifacts, work: Path, *, mark: str) -> Artifacts:
    """Return the work folder with the splits; files of other settings, splits or code are removed."""
    scratch, marked = Artifacts(work, artifacts.corpus), work / "mark"
    if not marked.is_file() or marked.read_text() != mark:
        shutil.rmtree(work, ignore_errors=True)
        scratch.splits.mkdir(parents=True)
        for name in ("train", "dev"):
            shutil.copyfile(artifacts.split(name), scratch.split(name))
        shutil.copyfile(artifacts.split_report, scratch.split_report)
        write_text(marked, mark)
    return scratch


def course(
    artifacts: Artifacts, settings: Settings, work: Path, judged: Sequence[Dialogue], *, seed: int
) -> list[dict[str, float]]:
    """Score the base encoder and every checkpoint of `trained_encoder` on the judged dialogues.

    :param work: work folder of `trained_encoder`.
    :return: one point per checkpoint, the base encoder first: "step", and the figures of `evaluation.scores.score`.
    """
    from dial2vec.encoder import DialogueEncoder

    folder = Artifacts(work, artifacts.corpus).candidates
    labels = [str(dialogue.label) for dialogue in judged]
    kept = work / "course.json"
    points: list[dict[str, float]] = read_json(kept) if kept.is_file() else []
    for candidate in read_candidates(folder)[len(points) :]:
        encoder = apply_candidate(DialogueEncoder.start(settings.encoder), candidate, folder)
        with encoder.autocast("auto"):
            vectors = encoder.encode(judged, batch_size=settings.evaluate.batch_size)
        scores = score(vectors, labels, **scoring(artifacts, replace(settings, seed=seed)))
        points.append({"step": float(candidate.step)} | scores)
        write_json(kept, points)
    return points
