"""Promotion: the candidate of a corpus against its start and the present champion, on today's dev split."""

from __future__ import annotations

from pathlib import Path

from dial2vec.config import Settings
from dial2vec.dialogue import read_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.saving import folder_hash
from dial2vec.evaluation.kept import keep, kept
from dial2vec.evaluation.measure import measure, measurement_hash
from dial2vec.evaluation.selection.choice import Candidate, choose_label_free
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.select import some, views
from dial2vec.registry.champions import promote
from dial2vec.registry.promotion import Verdict
from dial2vec.registry.records import Figures


def promote_candidate(root: Path, corpus: str, settings: Settings) -> Verdict:
    """Judge the candidate and move the alias `champion` if it wins; otherwise note what fell short.

    Every contender is measured on today's dev split, unless that was done before. Where dev has no labels, the
    label-free criteria of stage `select` judge the candidate against the start and the champion.
    """
    artifacts = Artifacts(root, corpus)
    path = artifacts.split("dev")
    dev = list(read_dialogues(path, may_be_empty=True)) if path.is_file() else []
    options = settings.evaluate
    today = measurement_hash(dev, runs=options.kmeans_runs, seed=settings.seed)

    def rescore(model: Path) -> Figures:
        digest = folder_hash(model)
        if known := kept(artifacts.on_dev, digest, today):
            return Figures(*known)
        encoder = DialogueEncoder.from_pretrained(model)
        found = measure(encoder, dev, runs=options.kmeans_runs, seed=settings.seed, batch_size=options.batch_size)
        keep(artifacts.on_dev, digest, today, found)
        return Figures(found.scores, found.contributions)

    def compare(rival: Path, model: Path) -> str | None:
        rivals = [DialogueEncoder.from_pretrained(folder) for folder in (rival, model)]
        lot = some(dev, settings)
        judged = [Candidate(name, 0, views(one, lot)) for name, one in zip(("rival", "candidate"), rivals, strict=True)]
        choice = choose_label_free(judged, bootstraps=settings.select.bootstraps, seed=settings.seed)
        return None if choice.chosen == 1 else choice.judged[1].verdict.replace("the start", "it")

    if not dev:
        return promote(root, corpus, settings.promote, seed=settings.seed)
    return promote(
        root,
        corpus,
        settings.promote,
        rescore=rescore,
        compare=compare,
        dev_hash=today,
        seed=settings.seed,
    )
