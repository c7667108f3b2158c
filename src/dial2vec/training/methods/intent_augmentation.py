"""Dialogues learn from variants of themselves that keep the intent, and from some that do not (methods, section 5)."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dial2vec.config import IntentAugmentation, Settings
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.vector_cache import fingerprint_of
from dial2vec.errors import ArtifactError
from dial2vec.files import claim
from dial2vec.training.augmentation import WAYS, Tools
from dial2vec.training.augmentation.kept import kept_variants
from dial2vec.training.augmentation.masked import load_masked
from dial2vec.training.augmentation.translation import BackTranslation, load_translator
from dial2vec.training.data import whole_batches
from dial2vec.training.loop import Names
from dial2vec.training.negatives import Samples
from dial2vec.training.plan import Plan, of_block, words_of
from dial2vec.training.variants import VariantSet

CORRUPTING = "replacement"


def plan_intent_augmentation(
    encoder: DialogueEncoder,
    dialogues: Sequence[Dialogue],
    samples: Samples,
    *,
    settings: Settings,
    seed: int,
    vectors: Path,
) -> Plan:
    """Make a variant of each dialogue that keeps its intent, and with a masked language model one that does not.

    :param samples: says which dialogues may train; its negatives are not used.
    :param vectors: folder in which the variants are kept, in one of their own.
    :raises ArtifactError: when fewer than two dialogues have a variant.
    """
    options = settings.intent_augmentation
    lot = np.random.default_rng([seed, 5]).permutation(len(samples.dialogues))[: options.max_dialogues]
    chosen = [dialogues[place] for place in samples.dialogues[np.sort(lot)]]
    folder = vectors / "variants"
    claim(folder, _fingerprint(options, encoder, chosen, seed=seed))
    tools = functools.cache(lambda: tools_for(options, encoder, chosen, seed=seed))
    make = functools.partial(kept_variants, tools=tools, seed=seed, folder=folder)
    preserved = _preserved(chosen, options.ways, make, seed=seed)
    kept = [place for place, variant in enumerate(preserved) if variant is not None]
    if len(kept) < 2:
        raise ArtifactError(
            f"{len(kept)} of the {len(chosen)} dialogues that may train have a variant by {', '.join(options.ways)}; "
            "expected at least two. Bring longer dialogues, or other intent_augmentation.ways."
        )
    originals = [chosen[place] for place in kept]
    own = of_block(settings.train, options, max_items=None)
    train, order = whole_batches(words_of(originals), settings=own, seed=seed)
    data = VariantSet(
        originals,
        [variant for variant in preserved if variant is not None],
        make(originals, CORRUPTING) if options.masked_model else [None] * len(kept),
        encoder.tokens,
        order,
        temperature=options.temperature,
        max_length=options.max_length,
    )
    # Its loss looks at whole vectors: a head that the start was saved with is on it while it trains.
    return Plan(data, encoder.head, train=train, names=Names.of_block("intent_augmentation"))


def tools_for(options: IntentAugmentation, encoder: DialogueEncoder, train: Sequence[Dialogue], *, seed: int) -> Tools:
    """Return what the ways of the settings need, as far as the settings name it.

    :param train: what is learned from: turns to lend, and their order.
    :raises ModelError: when a model cannot be loaded.
    """
    needs = {need for way in options.ways for need in WAYS[way].needs}
    translators = map(load_translator, options.translation_models)
    tools = Tools(
        encoder=encoder,
        masked=load_masked(options.masked_model) if options.masked_model else None,
        translation=BackTranslation(*translators) if "translation" in needs else None,
    )
    return tools.learned(train, encoder=encoder, seed=seed) if "ordering" in needs else tools


def _fingerprint(
    options: IntentAugmentation, encoder: DialogueEncoder, dialogues: Sequence[Dialogue], *, seed: int
) -> str:
    """Identify variants; models beside the encoder go by their names: changed weights need a new name."""
    models = (options.masked_model, options.translation_models)
    ids = [dialogue.dialogue_id for dialogue in dialogues]
    made_by = (fingerprint_of(encoder, dialogues, "fp32"), ids, options.ways, models, seed)
    return hashlib.sha256(repr(made_by).encode()).hexdigest()


def _preserved(
    dialogues: Sequence[Dialogue],
    ways: Sequence[str],
    make: Callable[[Sequence[Dialogue], str], list[Dialogue | None]],
    *,
    seed: int,
) -> list[Dialogue | None]:
    """Return a variant of each dialogue by a way drawn for it, None where that way changes nothing."""
    drawn = np.random.default_rng([seed, 6]).integers(len(ways), size=len(dialogues))
    found: list[Dialogue | None] = [None] * len(dialogues)
    for way in dict.fromkeys(ways):
        places = [place for place, number in enumerate(drawn) if ways[number] == way]
        for place, variant in zip(places, make([dialogues[place] for place in places], way), strict=True):
            found[place] = variant
    return found
