"""Dialogues learn from variants of themselves that keep the intent, and from some that do not (methods, section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dial2vec.augmentation import WAYS, Tools, augment
from dial2vec.augmentation.masked import load_masked
from dial2vec.augmentation.translation import BackTranslation, load_translator
from dial2vec.config import IntentAugmentation, Settings
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ArtifactError, SettingsError
from dial2vec.methods.plan import Plan, words_of
from dial2vec.sampling import Samples
from dial2vec.training_data import training_order
from dial2vec.variant_data import VariantSet

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
    :param vectors: not used.
    :raises ArtifactError: when fewer than two dialogues have a variant.
    """
    options = settings.intent_augmentation
    lot = np.random.default_rng([seed, 5]).permutation(len(samples.dialogues))[: options.max_dialogues]
    chosen = [dialogues[place] for place in samples.dialogues[np.sort(lot)]]
    tools = tools_for(options, encoder, chosen, seed=seed)
    preserved = _preserved(chosen, options.ways, tools, seed=seed)
    kept = [place for place, variant in enumerate(preserved) if variant is not None]
    if len(kept) < 2:
        raise ArtifactError(
            f"{len(kept)} of the {len(chosen)} dialogues that may train have a variant by {', '.join(options.ways)}; "
            "expected at least two. Bring longer dialogues, or other intent_augmentation.ways."
        )
    originals = [chosen[place] for place in kept]
    corrupted: list[Dialogue | None] = [None] * len(kept)
    if options.masked_model:
        made = augment(originals, [CORRUPTING], tools=tools, seed=seed)
        corrupted = [variant.dialogue if variant.changed else None for [variant] in made]
    train = replace(
        settings.train,
        learning_rate=options.learning_rate,
        epochs=options.epochs,
        batch_size=options.batch_size,
        gradient_accumulation=1,
        max_dialogues=None,
    )
    data = VariantSet(
        originals,
        [variant for variant in preserved if variant is not None],
        corrupted,
        encoder.tokens,
        training_order(words_of(originals), passes=1, settings=train, seed=seed),
        temperature=options.temperature,
        max_length=settings.train.max_length,
    )
    # Its loss looks at whole vectors: a head that the start was saved with is on it while it trains.
    return Plan(data, encoder.head, train=train)


def tools_for(options: IntentAugmentation, encoder: DialogueEncoder, train: Sequence[Dialogue], *, seed: int) -> Tools:
    """Return what the ways of the settings need.

    :raises SettingsError: for an unknown way, or one whose model is not named.
    """
    unknown = [way for way in options.ways if way not in WAYS or not WAYS[way].preserving]
    if unknown or not options.ways:
        valid = ", ".join(way for way, kind in WAYS.items() if kind.preserving)
        raise SettingsError(f"intent_augmentation.ways is {list(options.ways)}; expected some of {valid}.")
    needs = {need for way in options.ways for need in WAYS[way].needs}
    if "masked" in needs and not options.masked_model:
        raise SettingsError("intent_augmentation.ways has insertion, which needs a model. Set masked_model.")
    if "translation" in needs and len(options.translation_models) != 2:
        raise SettingsError(
            "intent_augmentation.ways has back_translation, which needs two models. Set translation_models to the one "
            "that translates and the one that translates back."
        )
    tools = Tools(
        encoder=encoder,
        masked=load_masked(options.masked_model) if options.masked_model else None,
        translation=BackTranslation(*map(load_translator, options.translation_models))
        if "translation" in needs
        else None,
    )
    return tools.learned(train, encoder=encoder, seed=seed) if "ordering" in needs else tools


def _preserved(dialogues: Sequence[Dialogue], ways: Sequence[str], tools: Tools, *, seed: int) -> list[Dialogue | None]:
    """Return a variant of each dialogue by a way drawn for it, None where that way changes nothing."""
    drawn = np.random.default_rng([seed, 6]).integers(len(ways), size=len(dialogues))
    found: list[Dialogue | None] = [None] * len(dialogues)
    for number, way in enumerate(ways):
        places = [place for place, way_of in enumerate(drawn) if way_of == number]
        made = augment([dialogues[place] for place in places], [way], tools=tools, seed=seed)
        for place, [variant] in zip(places, made, strict=True):
            found[place] = variant.dialogue if variant.changed else None
    return found
