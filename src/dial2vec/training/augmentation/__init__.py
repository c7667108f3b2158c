"""Augmentation of contexts as token ids (training), of contexts as texts (tests), and of whole dialogues.

>>> from dial2vec.training.augmentation import WAYS, Tools, augment
>>> tools = Tools().learned(train, encoder=encoder, seed=42)  # doctest: +SKIP
>>> augment(dialogues, ["shuffling", "shortening"], tools=tools, seed=42)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from conversations.dialogue import Dialogue
from dial2vec.encoder.tokens import Batch
from dial2vec.training.augmentation import perturbations, token_ways, variants
from dial2vec.training.augmentation.made import Made
from dial2vec.training.augmentation.stages import turn_vectors
from dial2vec.training.augmentation.tools import Tools, Way, Work
from dial2vec.training.augmentation.variants import Variant

__all__ = ["PERTURBATIONS", "TOKEN_WAYS", "WAYS", "Tools", "Variant", "augment"]

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
# For `augment`: whole dialogues. All but the last preserve the intent.
WAYS: dict[str, Way] = {
    "insertion": Way(variants.insertion, preserving=True, needs=("masked",)),
    "back_translation": Way(variants.back_translation, preserving=True, needs=("translation",)),
    "shuffling": Way(variants.shuffling, preserving=True, needs=("encoder",)),
    "shortening": Way(variants.shortening, preserving=True, needs=("encoder",)),
    "lengthening": Way(variants.lengthening, preserving=True, needs=("encoder", "ordering", "foreign")),
    "replacement": Way(variants.replacement, preserving=False, needs=("masked",)),
}


def augment(dialogues: Sequence[Dialogue], ways: Sequence[str], *, tools: Tools, seed: int) -> list[list[Variant]]:
    """Make one variant of each dialogue by each way.

    A variant depends only on the seed, the tools, and the dialogue's id and turns. Other dialogues and batches change
    nothing except a model's rounding.

    :param dialogues: Dialogues with different ids.
    :param ways: Names from `WAYS`.
    :param tools: Tools that these ways need.
    :param seed: Random seed, at least 0.
    :return: Variants of each dialogue, in the order of the ways.
    """
    needed = tools.encoder is not None and any("encoder" in WAYS[way].needs for way in ways)
    vectors = turn_vectors(tools.encoder, dialogues) if tools.encoder is not None and needed else []
    work = Work(dialogues, vectors, tools, seed)
    made = {way: WAYS[way].make(work) for way in ways}
    return [[_variant(way, dialogue, made[way][place]) for way in ways] for place, dialogue in enumerate(dialogues)]


def _variant(way: str, original: Dialogue, made: Made) -> Variant:
    preserving = WAYS[way].preserving
    changed = made.dialogue.turns != original.turns
    labels = original.labels if preserving or not changed else ()
    named = replace(made.dialogue, dialogue_id=f"{original.dialogue_id}#{way}", labels=labels)
    return Variant(way, named, preserving, changed, made.note)
