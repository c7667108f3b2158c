"""Method intent_augmentation: dialogues learn from variants that keep their intent, and from some that do not."""

from __future__ import annotations

import functools
import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from conversations.dialogue import Dialogue, Turn
from conversations.files import read_json, write_json
from dial2vec.config import IntentAugmentation, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.tokens import PADDING_ROLE, Batch, DialogueTokenizer, TokenSequence
from dial2vec.encoder.vector_cache import fingerprint_of
from dial2vec.errors import ArtifactError
from dial2vec.files import claim
from dial2vec.training.augmentation import WAYS, Tools, augment
from dial2vec.training.augmentation.masked_model import MaskedModel, load_masked
from dial2vec.training.augmentation.translation import BackTranslation, load_translator
from dial2vec.training.data import TrainingSet, whole_batches, word_counts
from dial2vec.training.loop import Names
from dial2vec.training.methods.corpus_words import corpus_masked_model
from dial2vec.training.plan import Given, Plan
from dial2vec.training.processes import gathered

CORRUPTING = "replacement"
# Value of `masked_model` for a model that is trained here.
CORPUS = "corpus"
# Dialogues per file. A masked language model needs some seconds for 50 on a CPU.
BLOCK = 50

log = logging.getLogger(__name__)


def plan(given: Given) -> Plan:
    """Make a variant of each dialogue that keeps its intent, and with a masked language model one that does not.

    :raises ArtifactError: if fewer than 2 dialogues have a variant.
    """
    encoder, settings = given.encoder, given.settings
    options, seed = settings.intent_augmentation, settings.seed
    chosen = given.drawn(options.max_dialogues, stream=5)
    folder = given.vectors / "variants"
    claim(folder, _fingerprint(options, encoder, chosen, given.dialogues, seed=seed))
    trained = functools.partial(corpus_masked_model, given, folder)
    tools = functools.cache(lambda: tools_for(options, encoder, chosen, trained=trained, seed=seed))
    make = functools.partial(kept_variants, tools=tools, seed=seed, folder=folder)
    variants = zip(chosen, _preserved(chosen, options.ways, make, seed=seed), strict=True)
    pairs = [(dialogue, variant) for dialogue, variant in variants if variant is not None]
    if len(pairs) < 2:
        raise ArtifactError(
            f"{len(pairs)} of the {len(chosen)} dialogues that may train have a variant by {', '.join(options.ways)}; "
            "expected at least two. Bring longer dialogues, or other intent_augmentation.ways."
        )
    originals = [dialogue for dialogue, _ in pairs]
    train, order = whole_batches(word_counts(originals), settings=given.train_as(options), seed=seed)
    data = VariantSet(
        originals,
        [variant for _, variant in pairs],
        make(originals, CORRUPTING) if options.masked_model else [None] * len(pairs),
        encoder.tokens,
        order,
        options=options,
    )
    # The loss takes whole vectors: a head that the base encoder was saved with stays on the encoder during training.
    return Plan(data, train, encoder.head, names=Names.of_block("intent_augmentation"))


def tools_for(
    options: IntentAugmentation,
    encoder: DialogueEncoder,
    train: Sequence[Dialogue],
    *,
    trained: Callable[[], MaskedModel],
    seed: int,
) -> Tools:
    """Return the tools that the ways of the settings need.

    :param train: Dialogues whose turns are lent, and whose order of turns is learned.
    :param trained: Function that returns the masked language model of the corpus.
    :raises ModelError: if a model cannot be loaded.
    """
    needs = {need for way in options.ways for need in WAYS[way].needs}
    translators = map(load_translator, options.translation_models)
    name, masked = options.masked_model, None
    if name:
        masked = trained() if name == CORPUS else load_masked(name)
    tools = Tools(
        encoder=encoder,
        masked=masked,
        translation=BackTranslation(*translators) if "translation" in needs else None,
        stages=options.stages,
    )
    return tools.learned(train, encoder=encoder, seed=seed) if "ordering" in needs else tools


def _fingerprint(
    options: IntentAugmentation,
    encoder: DialogueEncoder,
    dialogues: Sequence[Dialogue],
    train: Sequence[Dialogue],
    *,
    seed: int,
) -> str:
    """Identify variants; models other than the encoder are known by name: changed weights need a new name."""
    models: tuple[object, ...] = (options.masked_model, options.translation_models)
    if options.masked_model == CORPUS:
        models = (*models, options.masked_steps, fingerprint_of(encoder, train, "fp32"))
    ids = [dialogue.dialogue_id for dialogue in dialogues]
    made_by = (fingerprint_of(encoder, dialogues, "fp32"), ids, options.ways, options.stages, models, seed)
    return hashlib.sha256(repr(made_by).encode()).hexdigest()


def _preserved(
    dialogues: Sequence[Dialogue],
    ways: Sequence[str],
    make: Callable[[Sequence[Dialogue], str], list[Dialogue | None]],
    *,
    seed: int,
) -> list[Dialogue | None]:
    """Return a variant of each dialogue by a way drawn for it, None if that way changes nothing."""
    drawn = np.random.default_rng([seed, 6]).integers(len(ways), size=len(dialogues))
    variants: list[Dialogue | None] = [None] * len(dialogues)
    for way in dict.fromkeys(ways):
        places = [place for place, number in enumerate(drawn) if ways[number] == way]
        for place, variant in zip(places, make([dialogues[place] for place in places], way), strict=True):
            variants[place] = variant
    return variants


class VariantSet(TrainingSet):
    """Items `[dialogue, preserving variant, corrupted variant]`.

    :param preserved: Variant of each dialogue that keeps its intent.
    :param corrupted: Variant of each dialogue that does not, None if nothing could be corrupted.
    :param order: Items of the whole run, int64 [items, 2], from `training_order`; the second column is the dialogue.
    :param options: Block `intent_augmentation`; dialogues and variants train on their first `max_length` tokens.
    """

    def __init__(
        self,
        dialogues: Sequence[Dialogue],
        preserved: Sequence[Dialogue],
        corrupted: Sequence[Dialogue | None],
        tokenizer: DialogueTokenizer,
        order: NDArray[np.int64],
        *,
        options: IntentAugmentation,
    ) -> None:
        super().__init__(tokenizer, order)
        self.options = options
        self.dialogues = tokenizer.dialogues(dialogues)
        self.preserved = tokenizer.dialogues(preserved)
        known = iter(tokenizer.dialogues([variant for variant in corrupted if variant is not None]))
        self.corrupted = [tokenizer.nothing() if variant is None else next(known) for variant in corrupted]

    def __getitem__(self, item: int) -> list[TokenSequence]:
        place, limit = self.order[item, 1], self.options.max_length
        return [part[place].first(limit) for part in (self.dialogues, self.preserved, self.corrupted)]

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the loss of intent augmentation; a variant that does not exist is no negative."""
        dialogues, preserved, corrupted = gathered(encoder(batch)).unflatten(0, (-1, 3)).unbind(1)
        exists = gathered((batch.roles[2::3] != PADDING_ROLE).any(1))
        return intent_augmentation_loss(dialogues, preserved, corrupted[exists], temperature=self.options.temperature)


def intent_augmentation_loss(
    dialogues: Tensor, preserved: Tensor, corrupted: Tensor, *, temperature: float | None = 0.05
) -> Tensor:
    """Bring a dialogue near to a variant with its intent, and away from the batch and from variants without it.

    In plain words: turns can be reordered, shortened or lengthened without changing what a dialogue is about; replace
    the words that carry the intent, and it is another dialogue that only looks the same.

    Requirements: variants made by `dial2vec.training.augmentation.augment`.
    Inputs: vectors of dialogues, of one preserving variant each, and of any number of corrupted ones.
    Relations: trains vectors of *dialogues*, as `dial2vec_loss` does, with negatives that keep the dialogue's style.

    `-log(e^{cos(x_i, y_i)/τ} / (Σ_j e^{cos(x_i, y_j)/τ} + Σ_h e^{cos(x_i, z_h)/τ}))`, mean over i.

    :param dialogues: Vectors x [b, d].
    :param preserved: Vectors y [b, d].
    :param corrupted: Vectors z [h, d]; h = 0 is an ordinary in-batch softmax.
    :param temperature: τ > 0; None is no temperature, as in the source ("Generating Synthetic Data via
        Intent-Preserving and Intent-Corrupting Augmentations", section 2.2), which is τ = 1. The default is ours.
    :return: scalar, in fp32 or the vectors' own precision if that is higher.

    Example::

        loss = intent_augmentation_loss(encoder(dialogues), encoder(preserved), encoder(corrupted))
        loss.backward()
    """
    with torch.autocast(dialogues.device.type, enabled=False):
        precision = torch.promote_types(dialogues.dtype, torch.float32)
        anchors = functional.normalize(dialogues.to(precision), dim=1)
        others = functional.normalize(torch.cat([preserved, corrupted]).to(precision), dim=1)
        logits = anchors @ others.T / (1.0 if temperature is None else temperature)
        return functional.cross_entropy(logits, torch.arange(len(anchors), device=anchors.device))


def kept_variants(
    dialogues: Sequence[Dialogue], way: str, *, tools: Callable[[], Tools], seed: int, folder: Path
) -> list[Dialogue | None]:
    """Return one variant per dialogue, or None if the way changes nothing, and save every 50 of them in `folder`.

    :param way: Name from `WAYS`.
    :param tools: Function that returns the tools of the way; called only if variants are missing.
    :param folder: Folder claimed for exactly these dialogues, tools and seed (`files.claim`).
    """
    variants: list[Dialogue | None] = []
    for first in range(0, len(dialogues), BLOCK):
        block, path = dialogues[first : first + BLOCK], folder / f"{way}-{first:08d}.json"
        turns = _read(path)
        if turns is None:
            made = augment(block, way, tools=tools(), seed=seed)
            turns = [variant and [(turn.speaker, turn.text) for turn in variant.turns] for variant in made]
            write_json(path, turns)
            log.info("%s: %d of %d dialogues", way, first + len(block), len(dialogues))
        variants += [
            None if own is None else replace(dialogue, turns=tuple(Turn(*pair) for pair in own))
            for dialogue, own in zip(block, turns, strict=True)
        ]
    return variants


def _read(path: Path) -> list[Any] | None:
    try:
        return list(read_json(path))
    except ArtifactError:
        return None
