"""Candidates for the choice: the base encoder, the heads fitted on it, and the weights of every checkpoint."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from conversations.files import atomic_path, read_json, write_json
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.backbone import add_token
from dial2vec.encoder.head import Head
from dial2vec.encoder.papers.codes import give_codes
from dial2vec.encoder.reading import Reading
from dial2vec.errors import ArtifactError

INDEX = "candidates.json"
FILES = ("weights", "head", "base")
TRAINED_HEAD, BASE = "head.safetensors", "base.safetensors"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One encoder that may be chosen: the base encoder with these changes.

    :param name: Name for people: "start", "head", "checkpoint of step 30".
    :param step: Optimiser steps so far; 0 for the base encoder and for heads fitted on it.
    :param weights: File of the weights that training changed; None if it changed none.
    :param head: File of the head; None for no head.
    :param base: File of weights to load before those of `weights`; None if there are none.
    :param added: Tokens that the base encoder lacks.
    :param reading: Way of reading dialogues; None is the base encoder's.
    :param codes: Number of its codes, if it is a Poly-encoder; else 0.
    """

    name: str
    step: int
    weights: str | None = None
    head: str | None = None
    base: str | None = None
    added: tuple[str, ...] = ()
    reading: Reading | None = None
    codes: int = 0


START = Candidate("start", 0)


def save_weights(encoder: DialogueEncoder, path: Path) -> None:
    """Write the weights that training may change (the unfrozen ones), atomically."""
    weights = {name: value.detach().cpu() for name, value in encoder.network.named_parameters() if value.requires_grad}
    with atomic_path(path) as temporary:
        save_file(weights, temporary)


def write_candidates(
    folder: Path,
    *,
    checkpoints: Path,
    head: Head | None = None,
    maps: Mapping[int, Mapping[str, Head]] | None = None,
    base: Path | None = None,
    like: Candidate = START,
) -> int:
    """Write all candidates of a training run, the base encoder first, and return their number.

    :param checkpoints: Folder with the `weights-<step>.safetensors` of the run.
    :param head: Head on the encoder during training; None for no head.
    :param maps: Heads fitted on the vectors of a step, by step and name, the most cautious first; step 0 is the base.
    :param base: File with the weights that the run started from; None if it started from the base encoder.
    :param like: Tokens, way of reading and codes of the checkpoints.
    """
    maps = maps or {}
    steps = sorted(int(path.stem.split("-")[1]) for path in checkpoints.glob("weights-*.safetensors"))
    with atomic_path(folder) as temporary:
        temporary.mkdir()
        if head is not None:
            head.save(temporary / TRAINED_HEAD)
        if base is not None:
            shutil.copyfile(base, temporary / BASE)
        candidates = [START]
        for step in [0, *steps]:
            trained = START
            if step:
                file = f"weights-{step}.safetensors"
                shutil.copyfile(checkpoints / file, temporary / file)
                trained = replace(
                    like,
                    name=f"checkpoint of step {step}",
                    step=step,
                    weights=file,
                    head=None if head is None else TRAINED_HEAD,
                    base=None if base is None else BASE,
                )
                candidates.append(trained)
            for name, fitted in maps.get(step, {}).items():
                file = f"{name.replace(' ', '-')}-{step}.safetensors"
                fitted.save(temporary / file)
                candidates.append(replace(trained, name=f"{name} of step {step}" if step else name, head=file))
        write_json(temporary / INDEX, [asdict(candidate) for candidate in candidates])
    return len(candidates)


def join_candidates(folder: Path, parts: Mapping[str, Path]) -> None:
    """Write the candidates of several methods in one folder; each name begins with its method."""
    joined = [START]
    with atomic_path(folder) as temporary:
        for method, part in parts.items():
            shutil.copytree(part, temporary / method)
            for candidate in read_candidates(part)[1:]:
                files: dict[str, Any] = {
                    field: f"{method}/{file}" for field in FILES if (file := getattr(candidate, field))
                }
                joined.append(replace(candidate, name=f"{method} {candidate.name}", **files))
        write_json(temporary / INDEX, [asdict(candidate) for candidate in joined])


def read_candidates(folder: Path) -> list[Candidate]:
    """Return the candidates of a training run in order of their step, the base encoder first."""
    entries = read_json(folder / INDEX)
    readings = [Reading(**entry["reading"]) if entry.get("reading") else None for entry in entries]
    return [
        Candidate(**entry | {"reading": reading, "added": tuple(entry.get("added") or ())})
        for entry, reading in zip(entries, readings, strict=True)
    ]


def apply_candidate(encoder: DialogueEncoder, candidate: Candidate, folder: Path) -> DialogueEncoder:
    """Turn a freshly loaded start into one of its candidates, and return it.

    A head that the base encoder was saved with is removed if the candidate's weights were trained without one.

    :raises ArtifactError: if the weights of the candidate are missing, damaged or do not fit the encoder.
    :raises ModelError: if its head is missing or damaged, or the encoder cannot read dialogues in its way.
    """
    for token in candidate.added:
        add_token(encoder.backbone, encoder.tokens.tokenizer, token)
    encoder.read_as(candidate.reading)
    if candidate.codes:
        give_codes(encoder.network, torch.zeros(candidate.codes, encoder.dimension))
    for file in (candidate.base, candidate.weights):
        if file is None:
            continue
        path = folder / file
        try:
            unknown = encoder.network.load_state_dict(load_file(path), strict=False).unexpected_keys
        except (OSError, SafetensorError, RuntimeError) as error:
            # PyTorch lists mismatches line by line.
            reason = " ".join(str(error).split())
            raise ArtifactError(
                f"{path} cannot be loaded ({reason}). Delete {folder} and run `dial2vec run`."
            ) from error
        if unknown:
            raise ArtifactError(f"{path} holds weights that the encoder lacks ({unknown[0]}). Run `dial2vec run`.")
    if candidate.head is not None:
        encoder.head = Head.load(folder / candidate.head, encoder.dimension).to(encoder.device)
    elif candidate.weights is not None:
        encoder.head = None
    return encoder
