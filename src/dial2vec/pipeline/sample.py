"""Stage sample: the negatives of the training split, as compact indices."""

from __future__ import annotations

from conversations.dialogue import read_dialogues
from conversations.files import read_json
from dial2vec.config import Settings
from dial2vec.pipeline import run_stage as stage
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.training.negatives import cluster_dialogues, draw_samples


def sample(artifacts: Artifacts, settings: Settings) -> str:
    """Draw the negatives of every training dialogue that can train."""
    options, clusters = settings.sample, None
    if options.among == "cluster":
        clusters = cluster_dialogues(
            list(read_dialogues(artifacts.split("train"))),
            encoder=settings.encoder,
            seed=settings.seed,
            vectors=artifacts.vectors / "sample",
        )
    samples = draw_samples(
        read_dialogues(artifacts.split("train")),
        negatives=options.negatives,
        passes=options.passes,
        keep_role=options.keep_role,
        min_turns=options.min_turns,
        seed=settings.seed,
        clusters=clusters,
    )
    samples.save(artifacts.samples)
    left = read_json(artifacts.split_report)["split_sizes"]["train"] - len(samples.dialogues)
    return (
        f"{options.passes} x {options.negatives} negatives for {len(samples.dialogues)} dialogues; "
        f"{left} do not train (fewer than {options.min_turns} turns, or one speaker)"
    )


if __name__ == "__main__":
    stage.main(sample)
