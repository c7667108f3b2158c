"""Training items of masked language modelling: utterances of which some words are to be guessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from dial2vec.config import Train
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.tokens import Batch, DialogueTokenizer, TokenSequence
from dial2vec.errors import ModelError
from dial2vec.training.utterances import UtteranceSet

# Of the tokens; of those 8 of 10 become the mask, one another token, one stays (Devlin et al. 2019).
MASKED = 0.15
# What the collator of transformers puts where nothing is to be guessed.
IGNORED = -100


class MaskedHead(nn.Module):
    """What a masked language model has on top of an encoder, with that encoder beneath.

    Its parameters are those of the head alone: the encoder's, of which the decoder is one, train as the encoder's.

    :param network: from tokens [b, n] to logits [b, n, v].
    :param backbone: the part of it that is the encoder.
    """

    def __init__(self, network: Any, backbone: Any) -> None:
        super().__init__()
        beneath = {id(weights) for weights in backbone.parameters()}
        self.weights = nn.ParameterList(one for one in network.parameters() if id(one) not in beneath)
        # Not a module of this one, or the encoder would be counted and stored twice.
        self._network = (network,)

    def forward(self, ids: Tensor, attention: Tensor) -> Tensor:
        """Return the logits [b, n, v] of tokens [b, n]."""
        [network] = self._network
        logits: Tensor = network(input_ids=ids, attention_mask=attention).logits
        return logits


def masked_head(encoder: DialogueEncoder, *, seed: int) -> MaskedHead:
    """Put the head of a masked language model on the very weights of an encoder.

    Where the folder that the encoder was loaded from has such a head, or parts of one, those are taken. An encoder of
    sentences has none: then the head is new, with random weights that hang on the seed alone. Its decoder is the
    encoder's own table of tokens, unless the model says otherwise. Tables for turns and roles stay out of it.

    :raises ModelError: when the encoder's kind has no masked language model, or its tokenizer no mask.
    """
    from transformers import AutoModelForMaskedLM
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING

    backbone = encoder.backbone
    if type(backbone.config) not in MODEL_FOR_MASKED_LM_MAPPING:
        raise _no_masks(f"{encoder.name or 'the encoder'} is a {type(backbone).__name__}, of which no masked language")
    if encoder.tokens.tokenizer.mask_token_id is None:
        raise _no_masks(
            f"the tokenizer of {encoder.name or 'the encoder'} has no mask, without which no masked language"
        )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        if backbone.name_or_path:
            network = AutoModelForMaskedLM.from_pretrained(backbone.name_or_path, dtype=torch.float32)
        else:
            network = AutoModelForMaskedLM.from_config(backbone.config)
    setattr(network, network.base_model_prefix, backbone)
    network.tie_weights()
    return MaskedHead(network.to(encoder.device), backbone)


def _no_masks(found: str) -> ModelError:
    return ModelError(f"{found} model can be made. Set dialoguecse.mlm_epochs to 0, or take an encoder such as bert.")


class MaskedSet(UtteranceSet):
    """Items of masked language modelling: an utterance each, its masks drawn anew at each step.

    :param rows: int64 [m, 1].
    :param beside: the head that guesses.
    """

    def __init__(
        self,
        dialogues: Sequence[Dialogue],
        rows: NDArray[np.int64],
        tokenizer: DialogueTokenizer,
        order: NDArray[np.int64],
        *,
        beside: MaskedHead,
    ) -> None:
        from transformers import DataCollatorForLanguageModeling

        super().__init__(dialogues, rows, tokenizer, order, beside=beside)
        self.masks = DataCollatorForLanguageModeling(tokenizer.tokenizer, mlm_probability=MASKED)
        marks = tokenizer.tokenizer.convert_tokens_to_ids(list(tokenizer.style.marks))
        self.special = torch.tensor([*tokenizer.tokenizer.all_special_ids, *marks])

    def __getitem__(self, item: int) -> list[TokenSequence]:
        return [self.joined(self.rows[self.order[item, 1]])]

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the mean cross-entropy at the masks of a flat batch, 0 where none was drawn.

        Masks are drawn here from torch's own generator, which checkpoints keep: not where batches are loaded, which may
        be ahead, or in several workers.
        """
        # A copy, because the collator writes into what it is given.
        said = batch.ids.cpu().clone()
        left_alone = torch.isin(said, self.special) | (batch.attention.cpu() == 0)
        ids, goals = self.masks.torch_mask_tokens(said, special_tokens_mask=left_alone)
        ids, goals = ids.to(batch.ids.device), goals.to(batch.ids.device)
        masked = goals != IGNORED
        assert self.beside is not None
        logits = self.beside(ids, batch.attention)[masked].float()
        return functional.cross_entropy(logits, goals[masked], reduction="sum") / masked.sum().clamp(min=1)
