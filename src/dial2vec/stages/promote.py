"""Promotion: the candidate of a corpus against its start and the present champion, on today's dev split."""

from __future__ import annotations

from pathlib import Path

from dial2vec.artifacts import Artifacts
from dial2vec.config import Settings
from dial2vec.dialogue import read_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.evaluation.measure import measure, split_hash
from dial2vec.promotion import Verdict
from dial2vec.tracking import promote


def promote_candidate(root: Path, corpus: str, settings: Settings) -> Verdict:
    """Judge the candidate and move the alias `champion` if it wins; otherwise tag it with what fell short.

    A rival that was measured on another dev split than today's is measured again.
    """
    path = Artifacts(root, corpus).split("dev")
    dev = list(read_dialogues(path)) if path.is_file() else []

    def rescore(model: Path) -> dict[str, float] | None:
        encoder = DialogueEncoder.from_pretrained(model)
        options = settings.evaluate
        found = measure(encoder, dev, runs=options.kmeans_runs, seed=settings.seed, batch_size=options.batch_size)
        return found.scores

    return promote(
        root, corpus, settings.promote, rescore=rescore if dev else None, dev_hash=split_hash(dev) if dev else None
    )
