"""What training leaves for the choice: the start, the heads fitted on it, the weights of every checkpoint."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.backbone import add_token
from dial2vec.encoder.head import Head
from dial2vec.encoder.reading import Reading
from dial2vec.errors import ArtifactError
from dial2vec.files import atomic_path, read_json, write_json

INDEX = "candidates.json"
TRAINED_HEAD, BENEATH = "head.safetensors", "beneath.safetensors"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One encoder that may be chosen: the start, with these changes.

    :param name: for people: "start", "map", "checkpoint of step 30".
    :param step: optimiser steps behind it; 0 for the start and for heads fitted on it.
    :param weights: file of the weights that training changed, None where it changed none.
    :param head: file of the head, None for none.
    :param beneath: file of weights that were changed before those of `weights`, None for none.
    :param added: a token that the start lacks.
    :param reading: how it reads dialogues, None for as the start does.
    """

    name: str
    step: int
    weights: str | None = None
    head: str | None = None
    beneath: str | None = None
    added: str | None = None
    reading: Reading | None = None


START = Candidate("start", 0)


def save_weights(encoder: DialogueEncoder, path: Path) -> None:
    """Write the weights that training may change (those that are not frozen), atomically."""
    weights = {name: value.detach().cpu() for name, value in encoder.named_parameters() if value.requires_grad}
    with atomic_path(path) as temporary:
        save_file(weights, temporary)


def write_candidates(
    folder: Path,
    *,
    checkpoints: Path,
    head: Head | None = None,
    maps: Mapping[int, Mapping[str, Head]] | None = None,
    beneath: Path | None = None,
    added: str | None = None,
    reading: Reading | None = None,
) -> int:
    """Write all candidates of a training run, the start first, and return how many.

    :param checkpoints: folder with the `weights-<step>.safetensors` of the run.
    :param head: what was on the encoder while it trained, None for nothing.
    :param maps: heads fitted on the vectors of a step, by step and name, the most cautious first; those of step 0 are
        the start's.
    :param beneath: file with the weights from which the checkpoints were trained on, None where that was the start.
    :param added: a token that the encoder got before it trained, None for none.
    :param reading: how the checkpoints read dialogues, None for as the start does.
    """
    maps = maps or {}
    steps = sorted(int(path.stem.split("-")[1]) for path in checkpoints.glob("weights-*.safetensors"))
    with atomic_path(folder) as temporary:
        temporary.mkdir()
        if head is not None:
            head.save(temporary / TRAINED_HEAD)
        if beneath is not None:
            shutil.copyfile(beneath, temporary / BENEATH)
        listed = [START]
        for step in [0, *steps]:
            trained = START
            if step:
                file = f"weights-{step}.safetensors"
                shutil.copyfile(checkpoints / file, temporary / file)
                trained = Candidate(
                    f"checkpoint of step {step}",
                    step,
                    file,
                    head=None if head is None else TRAINED_HEAD,
                    beneath=None if beneath is None else BENEATH,
                    added=added,
                    reading=reading,
                )
                listed.append(trained)
            for name, fitted in maps.get(step, {}).items():
                file = f"{name.replace(' ', '-')}-{step}.safetensors"
                fitted.save(temporary / file)
                listed.append(replace(trained, name=f"{name} of step {step}" if step else name, head=file))
        write_json(temporary / INDEX, [asdict(candidate) for candidate in listed])
    return len(listed)


def read_candidates(folder: Path) -> list[Candidate]:
    """Return the candidates of a training run in order of their step, the start first."""
    entries = read_json(folder / INDEX)
    read = [Reading(**entry["reading"]) if entry.get("reading") else None for entry in entries]
    return [Candidate(**entry | {"reading": reading}) for entry, reading in zip(entries, read, strict=True)]


def become(encoder: DialogueEncoder, candidate: Candidate, folder: Path) -> DialogueEncoder:
    """Turn a freshly loaded start into one of its candidates, and return it.

    It reads as the candidate does, which without a reading is as the start. A head that the start was saved with is
    left on no weights that were trained without one.

    :raises ArtifactError: when the weights of the candidate are missing, damaged or do not fit the encoder.
    :raises ModelError: likewise for its head, or when the encoder cannot read so.
    """
    encoder.read_as(candidate.reading)
    if candidate.added is not None:
        add_token(encoder.backbone, encoder.tokens.tokenizer, candidate.added)
    for file in (candidate.beneath, candidate.weights):
        if file is None:
            continue
        path = folder / file
        try:
            unknown = encoder.load_state_dict(load_file(path), strict=False).unexpected_keys
        except (OSError, SafetensorError, RuntimeError) as error:
            # PyTorch lists what does not fit line by line.
            reason = " ".join(str(error).split())
            raise ArtifactError(f"{path} cannot be loaded ({reason}). Delete {folder} and run `make run`.") from error
        if unknown:
            raise ArtifactError(f"{path} holds weights that the encoder lacks ({unknown[0]}). Run `make run`.")
    if candidate.head is not None:
        encoder.head = Head.load(folder / candidate.head, encoder.dimension).to(encoder.device)
    elif candidate.weights is not None:
        encoder.head = None
    return encoder
