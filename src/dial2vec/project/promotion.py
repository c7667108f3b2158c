"""Promotion: compare a corpus's candidate with its base encoder and the champion, on today's dev split."""

from __future__ import annotations

from pathlib import Path

from dial2vec.config import Settings
from dial2vec.encoder.folder import folder_hash, is_student
from dial2vec.encoder.loading import load_encoder
from dial2vec.evaluation.score_cache import cache_scores, cached_scores, measurement_hash
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.scoring import measured_dialogues, scoring
from dial2vec.registry import corpus_of
from dial2vec.registry.champions import promote
from dial2vec.registry.promotion import Verdict
from dial2vec.registry.records import Figures


def promote_candidate(root: Path, corpus: str, settings: Settings) -> Verdict:
    """Judge the candidate and move the alias `champion` if it wins; otherwise note why it lost.

    Every contender is measured on today's dev split, unless its figures are known. If dev has no labels, the label-free
    criteria of stage `select` compare the candidate with the base encoder and the champion.

    :param corpus: name of a corpus; with `-small` at its end for its student.
    """
    artifacts = Artifacts(root, corpus_of(corpus))
    path = artifacts.split("dev")
    dev = measured_dialogues(path, settings) if path.is_file() else []
    options = scoring(artifacts, settings)
    today = measurement_hash(dev, **options)

    def rescore(model: Path) -> Figures:
        digest = folder_hash(model)
        if known := cached_scores(artifacts.on_dev, digest, today):
            return Figures(*known)
        # Loaded here: with torch it takes seconds, and stage evaluate has stored most figures.
        from dial2vec.evaluation.measure import measure

        encoder = load_encoder(model)
        measured = measure(encoder, dev, batch_size=settings.evaluate.batch_size, **options)
        cache_scores(artifacts.on_dev, digest, today, measured)
        return Figures(measured.scores, measured.contributions)

    def compare(rival: Path, model: Path) -> str | None:
        from dial2vec.evaluation.selection.choice import STUDENT_ALLOWANCE, EncodedCandidate, choose_label_free
        from dial2vec.pipeline.select import draw_dialogues, views

        folders, drawn = {"rival": rival, "candidate": model}, draw_dialogues(dev, settings)
        pair = [EncodedCandidate(name, 0, views(load_encoder(folder), drawn)) for name, folder in folders.items()]
        allowance = STUDENT_ALLOWANCE if is_student(model) else 0.0
        bootstraps = settings.select.bootstraps
        choice = choose_label_free(pair, bootstraps=bootstraps, seed=settings.seed, allowance=allowance)
        return None if choice.chosen == 1 else choice.results[1].verdict.replace("the base encoder", "it")

    if not dev:
        return promote(root, corpus, settings.promote, seed=settings.seed)
    return promote(root, corpus, settings.promote, rescore=rescore, compare=compare, dev_hash=today, seed=settings.seed)
