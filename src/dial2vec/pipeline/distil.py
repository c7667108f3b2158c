"""Stage distil: a student that imitates the chosen encoder, chosen on dev without labels; or none."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from conversations.dialogue import Dialogue, read_dialogues
from conversations.files import sha256_of, write_json
from dial2vec.config import Settings
from dial2vec.data.dialogue_file import DialogueFile
from dial2vec.draws import drawn
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.protocol import Encoder
from dial2vec.encoder.student import StudentEncoder, TokenTable
from dial2vec.evaluation import MIN_DIALOGUES
from dial2vec.evaluation.selection.choice import STUDENT_ALLOWANCE, EncodedCandidate
from dial2vec.files import code_hash
from dial2vec.pipeline import run_stage as stage
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.select import choice_record, choose, draw_dialogues, figures_of, views
from dial2vec.training.distillation.fitting import fit
from dial2vec.training.distillation.lesson import lesson_of, student_tokenizer
from dial2vec.training.distillation.teachers import EncoderTeacher, FileTeacher, Teacher

# A student of fewer dialogues would know few words.
LEAST_DIALOGUES = 100
KEPT = "The base encoder was kept"


def distil(artifacts: Artifacts, settings: Settings) -> str:
    """Train a table of token vectors to give the teacher's vectors; keep the best epoch that beats the base."""
    options = settings.distil
    if not options.epochs:
        return _keep_none(artifacts, "No student was asked for: distil.epochs is 0.")
    own = DialogueEncoder.from_pretrained(artifacts.model)
    if getattr(own.tokens.tokenizer, "backend_tokenizer", None) is None:
        kind = type(own.tokens.tokenizer).__name__
        return _keep_none(
            artifacts, f"No student is kept: it needs the tokenizer of a file, and {kind} is Python code."
        )
    teacher = teacher_of(options.teacher, own, artifacts.root)
    known = teacher.known(DialogueFile(artifacts.split("train")))
    dialogues = [known[place] for place in drawn(len(known), options.max_dialogues, seed=[settings.seed, 5])]
    if len(dialogues) < LEAST_DIALOGUES:
        note = f"No student is kept: it needs at least {LEAST_DIALOGUES} training dialogues"
        where = " whose ids are in the teacher's file" if isinstance(teacher, FileTeacher) else ""
        return _keep_none(artifacts, f"{note}{where}, and there are {len(dialogues)}.")
    dev = draw_dialogues(list(read_dialogues(artifacts.split("dev"), may_be_empty=True)), settings)
    if settings.select.selection == "label_free" and len(dev) < MIN_DIALOGUES:
        needed = f"choosing without labels needs at least {MIN_DIALOGUES} dev dialogues with two speakers"
        return _keep_none(artifacts, f"No student is kept: {needed}, and there are {len(dev)}.")
    lesson = lesson_of(teacher, own, dialogues, targets=options.targets, folder=artifacts.teacher_vectors)
    tables = fit(
        lesson,
        options=options,
        seed=settings.seed,
        folder=artifacts.distilling,
        fingerprint=_fingerprint(artifacts, settings, teacher, own),
    )

    def student(path: Path) -> StudentEncoder:
        table, tokenizer = TokenTable.load(path), student_tokenizer(own)
        return StudentEncoder(table, tokenizer, name=settings.encoder.name, teacher=teacher.name)

    summary = _choose(artifacts, settings, [partial(student, path) for path in tables], teacher, dev, n=len(dialogues))
    shutil.rmtree(artifacts.distilling, ignore_errors=True)
    return summary


def teacher_of(name: str, own: DialogueEncoder, root: Path) -> Teacher:
    """Return the teacher that `distil.teacher` names: "run", a Parquet file of vectors, or an encoder."""
    if name == "run":
        return EncoderTeacher(own, "trained")
    if name.endswith(".parquet"):
        return FileTeacher(root / name)
    return EncoderTeacher(load_encoder(name), name)


def _choose(
    artifacts: Artifacts,
    settings: Settings,
    students: list[Callable[[], StudentEncoder]],
    teacher: Teacher,
    dev: list[Dialogue],
    *,
    n: int,
) -> str:
    """Choose among the base encoder and the students like stage select, and write the folder and the record."""
    candidates = []
    # One at a time: with large vocabularies a table takes hundreds of megabytes.
    loads: list[Callable[[], Encoder]] = [partial(DialogueEncoder.start, settings.encoder), *students]
    for epoch, load in enumerate(loads):
        encoder, name = load(), f"student of epoch {epoch}" if epoch else "start"
        candidates.append(EncodedCandidate(name, epoch * n, views(encoder, dev)))
    figures = [figures_of(candidate.views, dev, settings) for candidate in candidates]
    agreements = _agreements(candidates, teacher, dev, artifacts)
    choice = choose(candidates, figures, settings, allowance=STUDENT_ALLOWANCE, agreements=agreements)
    sentence = choice.sentence
    if sentence.startswith(KEPT):
        sentence = f"No student is kept{sentence.removeprefix(KEPT)}".replace(
            "ahead of it", "ahead of the base encoder", 1
        )
    record = choice_record(choice, sentence, candidates, figures, settings)
    for entry, agreement in zip(record["candidates"], agreements or [None] * len(candidates), strict=True):
        entry["agreement"] = agreement
    _empty(artifacts.student)
    if choice.chosen:
        students[choice.chosen - 1]().save_pretrained(artifacts.student, rows=settings.distil.rows)
    about = {"kept": bool(choice.chosen), "teacher": teacher.name, "dialogues": n}
    write_json(artifacts.distillation, about | record)
    return sentence


def _agreements(
    candidates: list[EncodedCandidate], teacher: Teacher, dev: list[Dialogue], artifacts: Artifacts
) -> list[float | None] | None:
    """Return each candidate's mean cosine with the teacher's vectors of dev, None for one of another length.

    None in place of the list if the teacher knows no dialogue of dev.
    """
    known = teacher.known(dev)
    if not known:
        return None
    theirs = teacher.vectors(known, artifacts.teacher_vectors_of_dev)
    ids = {dialogue.dialogue_id for dialogue in known}
    rows = [place for place, dialogue in enumerate(dev) if dialogue.dialogue_id in ids]
    wholes = [candidate.views.whole[rows] for candidate in candidates]
    return [
        float((unit_rows(whole) * theirs).sum(1).mean()) if whole.shape == theirs.shape else None for whole in wholes
    ]


def _keep_none(artifacts: Artifacts, sentence: str) -> str:
    _empty(artifacts.student)
    shutil.rmtree(artifacts.distilling, ignore_errors=True)
    nothing = {"kept": False, "sentence": sentence, "chosen": "start", "candidates": []}
    write_json(artifacts.distillation, nothing)
    return sentence


def _empty(folder: Path) -> None:
    """Make a folder, empty: what stands for "no student" to DVC."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _fingerprint(artifacts: Artifacts, settings: Settings, teacher: Teacher, own: DialogueEncoder) -> str:
    """Identify settings, code, data, teacher and encoder: epochs with another value must not be resumed."""
    code = code_hash("encoder", "training")
    made_by = (asdict(settings.distil), settings.seed, teacher.fingerprint, own.fingerprint(), code)
    digest = hashlib.sha256(json.dumps(made_by).encode())
    digest.update(sha256_of(artifacts.split("train")))
    return digest.hexdigest()


if __name__ == "__main__":
    stage.main(distil)
