"""Augmentation of contexts as token ids (training), of contexts as texts (tests), and of whole dialogues.

>>> from dial2vec.training.augmentation import WAYS, Tools, augment
>>> tools = Tools().learned(train, encoder=encoder, seed=42)  # doctest: +SKIP
>>> augment(dialogues, "shuffling", tools=tools, seed=42)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.draws import augmentation_rng
from dial2vec.encoder.tokens import Batch
from dial2vec.training.augmentation import masked_model, perturbations, stages, token_ways, translation
from dial2vec.training.augmentation.masked_model import MaskedModel
from dial2vec.training.augmentation.ordering import Ordering
from dial2vec.training.augmentation.stages import ForeignTurns, turn_vectors
from dial2vec.training.augmentation.tools import Tools, Way, Work
from dial2vec.training.augmentation.translation import BackTranslation

__all__ = ["PERTURBATIONS", "TOKEN_WAYS", "WAYS", "Tools", "augment"]

# For training: `way(batch, vocabulary, *, generator)` changes contexts as token ids (DialAug).
TOKEN_WAYS: dict[str, Callable[..., Batch]] = {
    "conmix": token_ways.mix_tokens,
    "truncation": token_ways.truncate_contexts,
    "deletion": token_ways.delete_tokens,
    "reordering": token_ways.reorder_tokens,
    "replacement": token_ways.replace_tokens,
}
# For tests: `perturbation(turns, rng)` changes contexts as texts (DialAug).
PERTURBATIONS: dict[str, Callable[..., list[str]]] = {
    "truncation": perturbations.drop_turns,
    "deletion": perturbations.delete_words,
    "reordering": perturbations.swap_words,
    "typos": perturbations.mistype_words,
    "synonyms": perturbations.use_synonyms,
}


def insertion(work: Work) -> list[Dialogue]:
    """Insert likely words."""
    return masked_model.inserted(cast(MaskedModel, work.tools.masked), work.dialogues, seed=work.seed)


def back_translation(work: Work) -> list[Dialogue]:
    """Translate every turn into another language and back."""
    return translation.back_translated(cast(BackTranslation, work.tools.translation), work.dialogues)


def shuffling(work: Work) -> list[Dialogue]:
    """Reorder the stages."""
    return [
        stages.shuffled(dialogue, stages.stages_of(vectors, kind=work.tools.stages), rng)
        for dialogue, vectors, rng in _with_draws(work, "shuffling")
    ]


def shortening(work: Work) -> list[Dialogue]:
    """Drop one stage."""
    return [
        stages.shortened(dialogue, stages.stages_of(vectors, kind=work.tools.stages), rng)
        for dialogue, vectors, rng in _with_draws(work, "shortening")
    ]


def lengthening(work: Work) -> list[Dialogue]:
    """Insert foreign turns where they fit."""
    foreign, ordering = cast(ForeignTurns, work.tools.foreign), cast(Ordering, work.tools.ordering)
    return [
        stages.lengthened(dialogue, vectors, foreign, ordering, rng, kind=work.tools.stages)
        for dialogue, vectors, rng in _with_draws(work, "lengthening")
    ]


def replacement(work: Work) -> list[Dialogue]:
    """Replace content words, which corrupts the intent."""
    return masked_model.replaced(cast(MaskedModel, work.tools.masked), work.dialogues, seed=work.seed)


def _with_draws(work: Work, way: str) -> Iterator[tuple[Dialogue, NDArray[np.float32], np.random.Generator]]:
    for dialogue, vectors in zip(work.dialogues, work.vectors, strict=True):
        yield dialogue, vectors, augmentation_rng(work.seed, way, dialogue.dialogue_id)


# For `augment`: whole dialogues. All but the last keep the intent.
WAYS: dict[str, Way] = {
    "insertion": Way(insertion, needs=("masked",)),
    "back_translation": Way(back_translation, needs=("translation",)),
    "shuffling": Way(shuffling, needs=("encoder",)),
    "shortening": Way(shortening, needs=("encoder",)),
    "lengthening": Way(lengthening, needs=("encoder", "ordering", "foreign")),
    "replacement": Way(replacement, needs=("masked",)),
}


def augment(dialogues: Sequence[Dialogue], way: str, *, tools: Tools, seed: int) -> list[Dialogue | None]:
    """Make a variant of each dialogue by a way.

    A variant depends only on the seed, the tools, and the dialogue's id and turns. Other dialogues and batches change
    nothing except a model's rounding.

    :param dialogues: Dialogues with different ids.
    :param way: Name from `WAYS`.
    :param tools: Tools that the way needs.
    :param seed: Random seed, at least 0.
    :return: The dialogues with their changed turns, None where the way changes nothing.
    """
    make, needs = WAYS[way]
    vectors = turn_vectors(tools.encoder, dialogues) if tools.encoder is not None and "encoder" in needs else []
    made = make(Work(dialogues, vectors, tools, seed))
    return [variant if variant.turns != own.turns else None for variant, own in zip(made, dialogues, strict=True)]
