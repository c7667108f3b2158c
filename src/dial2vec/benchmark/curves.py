"""A training run, checkpoint by checkpoint: figure 3 of Liu et al. 2022, and the fall behind the best point."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dial2vec.artifacts import Artifacts
from dial2vec.benchmark.cells import labelled_test, made_by
from dial2vec.benchmark.systems import SYSTEMS, trained_encoder
from dial2vec.config import Settings
from dial2vec.errors import ArtifactError
from dial2vec.evaluation.scores import score
from dial2vec.files import read_json, write_json


@dataclass(frozen=True, slots=True)
class Curve:
    """What became of the test split while an encoder was trained.

    :param name: what differs from the paper's recipe, in words; empty for nothing.
    :param points: one for each checkpoint, the start first: "step", and the figures of `evaluation.scores.score`.
    :param by_labels: step that the best purity on dev chooses, as in the paper.
    :param label_free: step that the criteria without labels choose.
    """

    corpus: str
    name: str
    seed: int
    made_by: str
    points: list[dict[str, float]]
    by_labels: int
    label_free: int


def curve(
    root: Path,
    corpus: str,
    settings: Settings,
    *,
    name: str = "",
    changes: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int,
    say: Callable[[str], None],
) -> Curve:
    """Train by the paper's recipe and score every checkpoint; one that is there already is only read.

    :param changes: block -> setting -> value, what differs from the recipe.
    """
    artifacts = Artifacts(root, corpus)
    ours = SYSTEMS["paper"].settings(settings, seed=seed)
    for block, values in (changes or {}).items():
        ours = replace(ours, **{block: replace(getattr(ours, block), **values)})
    ours = replace(ours, select=replace(ours.select, selection="label_free"))
    digest = made_by(artifacts, ours)
    folder = root / "artifacts" / "benchmark" / corpus
    path = folder / f"curve-{hashlib.sha256(json.dumps([name, seed]).encode()).hexdigest()[:8]}.json"
    known = _known(path, digest)
    if known is not None:
        say(f"{corpus}, {name or 'as it is'}, seed {seed}: there already")
        return known
    say(f"{corpus}, {name or 'as it is'}, seed {seed} ...")
    found = _computed(artifacts, ours, path.with_suffix(".work"), name, digest)
    write_json(path, asdict(found))
    return found


def known_curves(root: Path) -> list[Curve]:
    """Return all curves that were computed, by corpus and in the order in which they were made."""
    paths = sorted((root / "artifacts" / "benchmark").glob("*/curve-*.json"), key=lambda path: path.stat().st_mtime)
    return sorted((Curve(**read_json(path)) for path in paths), key=lambda one: one.corpus)


def _known(path: Path, digest: str) -> Curve | None:
    if not path.is_file():
        return None
    try:
        found = Curve(**read_json(path))
    except (ArtifactError, TypeError):
        return None
    return found if found.made_by == digest else None


def _computed(artifacts: Artifacts, settings: Settings, work: Path, name: str, digest: str) -> Curve:
    from dial2vec.candidates import become, read_candidates
    from dial2vec.encoder import DialogueEncoder

    trained_encoder(artifacts, settings, work)
    scratch = Artifacts(work, artifacts.corpus)
    judged = labelled_test(artifacts)
    labels = [str(dialogue.label) for dialogue in judged]
    points = []
    for candidate in read_candidates(scratch.candidates):
        encoder = become(DialogueEncoder.start(settings.encoder), candidate, scratch.candidates)
        with encoder.autocast("auto"):
            vectors = encoder.encode(judged, batch_size=settings.evaluate.batch_size)
        scores = score(vectors, labels, runs=settings.evaluate.kmeans_runs, seed=settings.seed)
        points.append({"step": float(candidate.step)} | scores)
    selection = read_json(scratch.selection)
    steps = {one["name"]: int(one["step"]) for one in selection["candidates"]}
    measured = [one for one in selection["candidates"] if one["dev"]]
    best = max(measured, key=lambda one: one["dev"]["purity"]) if measured else selection["candidates"][0]
    return Curve(artifacts.corpus, name, settings.seed, digest, points, int(best["step"]), steps[selection["chosen"]])
