"""Augmentation of contexts as token ids (training), of contexts as texts (tests), and of whole dialogues.

>>> from dial2vec.training.augmentation import WAYS, Tools, augment
>>> tools = Tools().learned(train, encoder=encoder, seed=42)  # doctest: +SKIP
>>> augment(dialogues, "shuffling", tools=tools, seed=42)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conversations.dialogue import Dialogue
from dial2vec.encoder.tokens import Batch
from dial2vec.training.augmentation import perturbations, token_ways, variants
from dial2vec.training.augmentation.stages import turn_vectors
from dial2vec.training.augmentation.tools import Tools, Way, Work

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
# For `augment`: whole dialogues. All but the last keep the intent.
WAYS: dict[str, Way] = {
    "insertion": Way(variants.insertion, needs=("masked",)),
    "back_translation": Way(variants.back_translation, needs=("translation",)),
    "shuffling": Way(variants.shuffling, needs=("encoder",)),
    "shortening": Way(variants.shortening, needs=("encoder",)),
    "lengthening": Way(variants.lengthening, needs=("encoder", "ordering", "foreign")),
    "replacement": Way(variants.replacement, needs=("masked",)),
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
