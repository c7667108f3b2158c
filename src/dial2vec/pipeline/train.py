"""Stage train: dialogues to candidates, from which stage `select` chooses."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

from conversations.files import atomic_path, sha256_of, write_json
from dial2vec.config import Settings
from dial2vec.data.dialogue_file import DialogueFile
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.advice import encoder_advice
from dial2vec.extension import methods
from dial2vec.files import code_hash
from dial2vec.pipeline import run_stage as stage
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.training.candidates import START, write_candidates
from dial2vec.training.loop import Trained
from dial2vec.training.methods import method_of
from dial2vec.training.methods.neighbours import fit_maps
from dial2vec.training.negatives import Samples
from dial2vec.training.plan import Given, Plan
from dial2vec.training.processes import barrier, main_process_first, rank

# Blocks of params.yaml on which training depends.
TRAINING = ("train", "encoder", "dse", "dialoguecse", "dialaug", "intent_augmentation")


def train_encoder(artifacts: Artifacts, settings: Settings) -> str:
    """Train the base encoder by `train.method`; a killed run with the same data and settings is resumed."""
    barrier()
    dialogues, samples = DialogueFile(artifacts.split("train")), Samples.load(artifacts.samples)
    encoder = DialogueEncoder.start(settings.encoder)
    fingerprint = _fingerprint(artifacts, settings, encoder)
    advice = encoder_advice(dialogues, encoder, trained=True)
    with main_process_first():
        plan = method_of(settings.train.method)(Given(encoder, dialogues, samples, settings, artifacts.vectors))
    before, result = plan.run(
        encoder,
        seed=settings.seed,
        checkpoints=artifacts.checkpoints,
        adaptation=artifacts.adaptation,
        fingerprint=fingerprint,
    )
    if rank():
        return "its share"
    done = _write(artifacts, settings, encoder, plan, before, result)
    return f"{done}; {advice}" if advice else done


def _write(
    artifacts: Artifacts, settings: Settings, encoder: DialogueEncoder, plan: Plan, before: Trained, result: Trained
) -> str:
    maps = {0: plan.maps}
    if plan.neighbourhood and result.steps:
        # Training changed the vectors, so the last checkpoint has its own neighbourhoods and maps.
        folder = artifacts.vectors / "trained"
        maps[result.steps] = fit_maps(encoder, plan.neighbourhood, settings=settings.train, vectors=folder).maps
    count = write_candidates(
        artifacts.candidates,
        checkpoints=artifacts.checkpoints,
        head=plan.head,
        maps=maps,
        base=artifacts.adaptation / f"weights-{before.steps}.safetensors" if before.steps else None,
        like=replace(START, added=plan.added, reading=plan.reading, codes=0 if plan.codes is None else len(plan.codes)),
    )
    _write_curve(artifacts, result)
    write_json(artifacts.training, asdict(result) | {"note": plan.note, "before": asdict(before)})
    for folder in (artifacts.checkpoints, artifacts.adaptation):
        shutil.rmtree(folder, ignore_errors=True)
    again = f" (resumed from step {result.resumed_from})" if result.resumed_from else ""
    cut = f", {result.cut} of them cut" if result.cut else ""
    after = f", after {before.steps} steps on masked words" if before.steps else ""
    trained = f"{result.steps} steps over {result.items} {result.items_are}{cut}{again}{after}"
    return plan.note or f"{count} candidates; {trained}"


def _fingerprint(artifacts: Artifacts, settings: Settings, encoder: DialogueEncoder) -> str:
    """Identify settings, code, data and starting weights: a checkpoint with another value must not be resumed."""
    blocks = [asdict(getattr(settings, name)) for name in TRAINING]
    digest = hashlib.sha256(json.dumps([*blocks, settings.seed]).encode())
    for weights in encoder.state_dict().values():
        digest.update(weights.cpu().numpy().tobytes())
    added = methods().get(settings.train.method)
    version = added.dist.version if added and added.dist else ""
    digest.update(code_hash("encoder", "training").encode() + version.encode())
    pairs = Path(settings.dse.pairs_file or "")
    for path in (artifacts.split("train"), artifacts.samples, *([pairs] if pairs.is_file() else [])):
        digest.update(sha256_of(path))
    return digest.hexdigest()


def _write_curve(artifacts: Artifacts, result: Trained) -> None:
    with atomic_path(artifacts.loss_curve) as temporary, temporary.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, ["step", "loss", "learning_rate", "grad_norm"])
        writer.writeheader()
        writer.writerows(result.history)


if __name__ == "__main__":
    stage.main(train_encoder, by_processes=True)
