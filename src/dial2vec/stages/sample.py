"""Stage sample: the negatives of the training split, as compact indices."""

from __future__ import annotations

from dial2vec.artifacts import Artifacts
from dial2vec.config import Settings
from dial2vec.dialogue import read_dialogues
from dial2vec.sampling import draw_samples
from dial2vec.stages import stage


def sample(artifacts: Artifacts, settings: Settings) -> str:
    """Draw the negatives of every training dialogue that can train."""
    train = list(read_dialogues(artifacts.split("train")))
    samples = draw_samples(
        train,
        negatives=settings.sample.negatives,
        passes=settings.sample.passes,
        keep_role=settings.sample.keep_role,
        min_turns=settings.sample.min_turns,
        seed=settings.seed,
    )
    samples.save(artifacts.samples)
    left = len(train) - len(samples.dialogues)
    return (
        f"{settings.sample.passes} x {settings.sample.negatives} negatives for {len(samples.dialogues)} dialogues; "
        f"{left} do not train (fewer than {settings.sample.min_turns} turns, or one speaker)"
    )


if __name__ == "__main__":
    stage.main(sample)
