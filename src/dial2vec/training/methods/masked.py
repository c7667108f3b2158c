"""Masked words: the encoder adapts to the language of the dialogues before method dialoguecse trains (BERT's task).

Liu et al. 2021, section 5.3: half an epoch of all utterances in batches of 50, at a rate of 2e-5, at most 10 masks in
an utterance. Without that method after it, this is the paper's BERT that is only adapted.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from dial2vec.config import DialogueCse, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.tokens import Batch, TokenSequence
from dial2vec.errors import ModelError
from dial2vec.training.auxiliary import seeded
from dial2vec.training.data import training_order, word_counts_of_turns
from dial2vec.training.loop import Names
from dial2vec.training.plan import Given, Plan
from dial2vec.training.utterances import UtteranceSet

# Section 5.3; every layer trains.
LEARNING_RATE, BATCH = 2e-5, 50
# A checkpoint is all weights and twice as much for the optimiser, and only useful after a kill.
MOST_CHECKPOINTS = 10
# Share of the tokens to guess; of these, 8 in 10 become the mask, 1 another token, 1 stays (Devlin et al. 2019).
MASKED = 0.15
# Label of tokens that are not to be guessed, from the collator of transformers.
IGNORED = -100


def plan(given: Given) -> Plan:
    """Prepare utterances of all dialogues with words to guess, by block `dialoguecse`.

    Part of an epoch is the first part of its order, which is a random one.

    :raises ModelError: if the encoder has no masked language model.
    """
    settings, encoder, dialogues = given.settings, given.encoder, given.dialogues
    options, words = settings.dialoguecse, word_counts_of_turns(dialogues)
    train = replace(
        settings.train,
        learning_rate=LEARNING_RATE,
        epochs=math.ceil(options.mlm_epochs),
        batch_size=BATCH,
        gradient_accumulation=1,
        max_dialogues=options.mlm_max_utterances,
        frozen_share=0.0,
    )
    order = training_order(words, passes=1, settings=train, seed=settings.seed)
    order = order[: math.ceil(len(order) * options.mlm_epochs / train.epochs)]
    steps = math.ceil(len(order) / BATCH)
    rows, head = np.arange(len(words))[:, None], masked_head(encoder, seed=settings.seed)
    return Plan(
        MaskedSet(dialogues, rows, encoder.tokens, order, options=options, auxiliary=head),
        replace(train, checkpoint_steps=max(train.checkpoint_steps, steps // MOST_CHECKPOINTS)),
        # The learning rate is no setting.
        names=Names("dialoguecse", "utterances", "Set dialoguecse.mlm_epochs to 0 in params.yaml, which leaves it out"),
    )


class MaskedSet(UtteranceSet):
    """Items of masked language modelling: one utterance each, rows int64 [m, 1]; every step draws new masks."""

    options: DialogueCse

    def __getitem__(self, item: int) -> list[TokenSequence]:
        return [self.joined(*self.rows[self.order[item, 1]])]

    @functools.cached_property
    def masks(self) -> Any:
        """Collator that draws the masks."""
        from transformers import DataCollatorForLanguageModeling

        return DataCollatorForLanguageModeling(self.tokenizer.tokenizer, mlm_probability=MASKED)

    @functools.cached_property
    def special(self) -> Tensor:
        """Tokens that are never masked."""
        tokenizer = self.tokenizer.tokenizer
        marks = tokenizer.convert_tokens_to_ids(list(self.tokenizer.style.marks))
        return torch.tensor([*tokenizer.all_special_ids, *marks])

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the mean cross-entropy at the masks, 0 if none was drawn.

        Masks are drawn here from torch's own generator, which checkpoints keep. Batches are loaded ahead, or by
        several workers, so masks that were drawn there would differ after a resume.
        """
        # A copy, because the collator changes its input.
        tokens = batch.ids.cpu().clone()
        unmasked = torch.isin(tokens, self.special) | (batch.attention.cpu() == 0)
        ids, goals = self.masks.torch_mask_tokens(tokens, special_tokens_mask=unmasked)
        if self.options.mlm_max_masks is not None:
            ids, goals = at_most(self.options.mlm_max_masks, ids, goals)
        ids, goals = ids.to(batch.ids.device), goals.to(batch.ids.device)
        masked = goals != IGNORED
        assert self.auxiliary is not None
        logits = self.auxiliary(ids, batch.attention)[masked].float()
        return functional.cross_entropy(logits, goals[masked], reduction="sum") / masked.sum().clamp(min=1)


def at_most(limit: int, ids: Tensor, goals: Tensor) -> tuple[Tensor, Tensor]:
    """Return tokens and goals [b, n] with no more than `limit` goals in a row; a random choice of them stays.

    Tokens whose goal is taken back are as they were before. Rows within the limit draw nothing from torch's generator.
    """
    masked = goals != IGNORED
    rows = masked.sum(1) > limit
    if not rows.any():
        return ids, goals
    lot = torch.rand(masked[rows].shape).masked_fill(~masked[rows], -1)
    kept = torch.zeros_like(masked[rows]).scatter(1, lot.topk(limit, dim=1).indices, value=True)
    back = torch.zeros_like(masked)
    back[rows] = masked[rows] & ~kept
    return torch.where(back, goals, ids), goals.masked_fill(back, IGNORED)


class MaskedHead(nn.Module):
    """Head of a masked language model on top of an encoder.

    Its parameters are the head's own; the encoder's, among them the decoder, train with the encoder.

    :param network: Masked language model, from tokens [b, n] to logits [b, n, v].
    :param backbone: Encoder inside the network.
    """

    def __init__(self, network: Any, backbone: Any) -> None:
        super().__init__()
        shared = {id(weights) for weights in backbone.parameters()}
        self.weights = nn.ParameterList(weights for weights in network.parameters() if id(weights) not in shared)
        # In a tuple it is no submodule; as a submodule the encoder would be counted and stored twice.
        self._network = (network,)

    @property
    def network(self) -> Any:
        """The whole masked language model, encoder and head."""
        return self._network[0]

    def forward(self, ids: Tensor, attention: Tensor) -> Tensor:
        """Return the logits [b, n, v] of tokens [b, n]."""
        logits: Tensor = self.network(input_ids=ids, attention_mask=attention).logits
        return logits


def masked_head(encoder: DialogueEncoder, *, seed: int, remedy: str = "Set dialoguecse.mlm_epochs to 0") -> MaskedHead:
    """Put the head of a masked language model on the weights of an encoder.

    Its weights come from the encoder's folder, as far as the folder has them. An encoder of sentences has none; its
    head is new, with random weights that depend only on `seed`. The decoder is the encoder's own table of tokens,
    unless the model says otherwise. Tables for turns and roles are not used.

    :param remedy: Advice if the encoder cannot guess words, without a full stop.
    :raises ModelError: if the encoder's kind has no masked language model, or its tokenizer has no mask.
    """
    from transformers import AutoModelForMaskedLM
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING

    backbone, name = encoder.backbone, encoder.name or "the encoder"
    if type(backbone.config) not in MODEL_FOR_MASKED_LM_MAPPING:
        raise _no_masks(f"{name} is a {type(backbone).__name__}, which has no masked language model", remedy)
    if encoder.tokens.tokenizer.mask_token_id is None:
        raise _no_masks(f"the tokenizer of {name} has no mask, which a masked language model needs", remedy)

    def load() -> Any:
        if backbone.name_or_path:
            return AutoModelForMaskedLM.from_pretrained(
                backbone.name_or_path, dtype=torch.float32, trust_remote_code=False
            )
        return AutoModelForMaskedLM.from_config(backbone.config)

    network = seeded(load, seed=seed)
    setattr(network, network.base_model_prefix, backbone)
    network.tie_weights()
    return MaskedHead(network.to(encoder.device), backbone)


def _no_masks(reason: str, remedy: str) -> ModelError:
    return ModelError(f"{reason}. {remedy}, or take an encoder such as bert.")
