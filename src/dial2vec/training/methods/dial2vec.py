"""The paper's self-guided task (Liu et al. 2022, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dial2vec.config import Settings
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ArtifactError
from dial2vec.training.data import SelfGuidedSet, training_order
from dial2vec.training.loop import Names
from dial2vec.training.negatives import Samples
from dial2vec.training.plan import Plan, words_of


def plan_dial2vec(
    encoder: DialogueEncoder,
    dialogues: Sequence[Dialogue],
    samples: Samples,
    *,
    settings: Settings,
    seed: int,
    vectors: Path,
) -> Plan:
    """Prepare the paper's self-guided task (Liu et al. 2022, section 3).

    :param vectors: not used: no vectors are needed beforehand.
    :raises ArtifactError: when no dialogue can train.
    """
    words = words_of([dialogues[place] for place in samples.dialogues])
    if not len(words):
        raise ArtifactError(
            f"none of the {len(dialogues)} training dialogues can train: each needs two speakers and sample.min_turns "
            "turns. Lower sample.min_turns in params.yaml or bring longer dialogues."
        )
    order = training_order(words, passes=len(samples.negatives), settings=settings.train, seed=seed)
    return Plan(SelfGuidedSet(dialogues, samples, encoder.tokens, order), names=Names.of_block("train"))
