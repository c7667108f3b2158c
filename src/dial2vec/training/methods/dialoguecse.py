"""Method dialoguecse: utterances learn from the turns around them (Liu et al. 2021), with the paper's baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from conversations.dialogue import Dialogue
from dial2vec.config import DialogueCse, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.reading import sentences_apart
from dial2vec.encoder.tokens import PADDING_ROLE, Batch, TokenSequence
from dial2vec.errors import ArtifactError
from dial2vec.training.auxiliary import TwoLayers, seeded
from dial2vec.training.data import first_turns, training_order, word_counts_of_turns
from dial2vec.training.loop import Names
from dial2vec.training.methods import masked
from dial2vec.training.plan import Given, Plan
from dial2vec.training.utterances import NONE, UtteranceSet


def plan(given: Given) -> Plan:
    """Prepare responses with their context turns and foreign responses, and before that words to guess.

    Dialogues train if they have `dialoguecse.min_turns` turns after consecutive turns of one speaker are merged. The
    trained encoder reads a dialogue as the mean of its utterances. Guidance "none" trains on the words alone.

    :raises ArtifactError: if fewer than 2 dialogues are long enough.
    :raises ModelError: if there are words to guess and the encoder has no masked language model.
    """
    encoder, settings = given.encoder, given.settings
    options, seed = settings.dialoguecse, settings.seed
    merged = [dialogue.merged() for dialogue in given.of_two_speakers()]
    chosen = [dialogue for dialogue in merged if len(dialogue.turns) >= options.min_turns]
    if len(chosen) < 2:
        raise ArtifactError(
            f"{len(chosen)} of the {len(merged)} dialogues of two speakers have {options.min_turns} turns after "
            "consecutive turns of one speaker are merged; expected at least 2. Lower dialoguecse.min_turns, or bring "
            "more dialogues."
        )
    train = given.train_as(options, max_items=options.max_responses)
    words = masked.plan(replace(given, dialogues=chosen)) if options.mlm_epochs else None
    if options.guidance == "none" and words is not None:
        return replace(words, reading=sentences_apart(encoder.tokens.input))
    first, near = first_turns(chosen), _responses(chosen, options)
    owners = np.searchsorted(first, near[:, 0], side="right") - 1
    rows = np.hstack([near, foreign_utterances(first, owners, count=options.negatives, seed=[seed, 4])])
    order = training_order(word_counts_of_turns(chosen)[rows[:, 0]], passes=1, settings=train, seed=seed)
    layer = seeded(partial(_layer, options, encoder.dimension), seed=seed)
    return Plan(
        ContextSet(chosen, rows, encoder.tokens, order, options=options, auxiliary=layer),
        train,
        before=words,
        reading=sentences_apart(encoder.tokens.input),
        names=Names.of_block("dialoguecse", items="responses"),
    )


def _layer(options: DialogueCse, dimension: int) -> TwoLayers | None:
    """Return what trains beside the encoder: attention over context turns, or a judge of two vectors."""
    if options.guidance == "matching":
        return TwoLayers(dimension, 1) if options.aggregation == "attention" else None
    return TwoLayers(2 * dimension, 1)


def _responses(dialogues: Sequence[Dialogue], options: DialogueCse) -> NDArray[np.int64]:
    """Return responses with their context turns, [m, 1 + c]; a response without context teaches nothing."""
    if options.guidance == "siamese_single":
        return responses_with_neighbour(dialogues, min_turns=options.min_turns)
    near = responses_in_context(dialogues, context_turns=options.context_turns, min_turns=options.min_turns)
    return near[(near[:, 1:] != NONE).any(1)]


class ContextSet(UtteranceSet):
    """Items of DialogueCSE: context turns, the response, and foreign responses.

    Rows are those of `responses_in_context`, followed by foreign utterances: [m, 1 + c + negatives]. With guidance
    "matching", every context turn is a sequence, and `auxiliary` may be the attention over them; with
    "siamese_multi" all are one sequence.
    """

    options: DialogueCse

    @property
    def context_turns(self) -> int:
        """Number of context turns, c."""
        return self.rows.shape[1] - 1 - self.options.negatives

    def __getitem__(self, item: int) -> list[TokenSequence]:
        row = self.rows[self.order[item, 1]]
        context, responses = row[1 : 1 + self.context_turns], [row[0], *row[1 + self.context_turns :]]
        turns = [np.sort(context)] if self.options.guidance == "siamese_multi" else context[:, None]
        return [self.joined(*numbers) for numbers in [*turns, *np.array(responses)[:, None]]]

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the loss of DialogueCSE, or of its Siamese baselines."""
        c = 1 if self.options.guidance == "siamese_multi" else self.context_turns
        each = c + 1 + self.options.negatives
        hidden = encoder.sequence_states(batch).unflatten(0, (-1, each))
        mask = (batch.roles != PADDING_ROLE).unflatten(0, (-1, each))
        sides = (hidden[:, :c], mask[:, :c], hidden[:, c:], mask[:, c:])
        if self.options.guidance == "matching":
            return dialoguecse_loss(*sides, temperature=self.options.temperature, attention=self.auxiliary)
        assert self.auxiliary is not None
        return siamese_loss(*sides, judge=self.auxiliary)


def responses_in_context(
    dialogues: Sequence[Dialogue], *, context_turns: int = 3, min_turns: int = 4
) -> NDArray[np.int64]:
    """Return every utterance with its nearest turns on both sides (Liu et al. 2021), int64 [m, 1 + c].

    The first column is the response, the others are its context: the turn before it, the turn after it, the second
    turn before it, and so on, -1 if the dialogue has no such turn.

    :param dialogues: Dialogues with consecutive turns of one speaker merged (`Dialogue.merged`).
    :param context_turns: c, at least 1.
    :param min_turns: Shortest dialogue in turns; the paper's 4.
    """
    steps = [(place // 2 + 1) * (1 if place % 2 else -1) for place in range(context_turns)]
    rows = []
    for begin, dialogue in zip(first_turns(dialogues), dialogues, strict=False):
        n = len(dialogue.turns)
        if n >= min_turns:
            rows += [
                [begin + place, *(begin + place + step if 0 <= place + step < n else NONE for step in steps)]
                for place in range(n)
            ]
    return np.array(rows, dtype=np.int64).reshape(-1, 1 + context_turns)


def responses_with_neighbour(dialogues: Sequence[Dialogue], *, min_turns: int = 4) -> NDArray[np.int64]:
    """Return every utterance with the turn before it, the first of a dialogue with the turn after it, int64 [m, 2].

    :param dialogues: Dialogues with consecutive turns of one speaker merged.
    :param min_turns: Shortest dialogue in turns, at least 2.
    """
    response, before, after = responses_in_context(dialogues, context_turns=2, min_turns=min_turns).T
    return np.column_stack([response, np.where(before == NONE, after, before)])


def foreign_utterances(
    first: NDArray[np.int64], owners: NDArray[np.int64], *, count: int, seed: Sequence[int]
) -> NDArray[np.int64]:
    """Draw another dialogue, then one of its utterances, with replacement (Liu et al. 2021, section 4.1), [m, count].

    :param first: Result of `first_turns`, for at least 2 dialogues.
    :param owners: Dialogue of each row, int64 [m]; its own utterances are not drawn.
    :param seed: Seed of the draws, which do not depend on later rows.
    """
    shares = np.random.default_rng(list(seed)).random((len(owners), count, 2))
    # Drawn as if the own dialogue did not exist, then moved past it.
    drawn = (shares[..., 0] * (len(first) - 2)).astype(np.int64)
    drawn += drawn >= owners[:, None]
    return first[drawn] + (shares[..., 1] * (first[drawn + 1] - first[drawn])).astype(np.int64)


def dialoguecse_loss(
    contexts: Tensor,
    context_mask: Tensor,
    responses: Tensor,
    response_mask: Tensor,
    *,
    temperature: float = 0.1,
    attention: nn.Module | None = None,
) -> Tensor:
    """Let an utterance resemble its view from the context more than foreign utterances resemble theirs (section 4.4).

    In plain words: each turn around a response picks out of the response what is related to that turn. For the true
    response this is much like the response as a whole; for a response from elsewhere it is not.

    Requirements: dialogues of at least four turns; utterances that are encoded alone; negatives from other dialogues.
    Inputs: a response, its context turns on both sides, and other responses.
    Relations: trains vectors of *utterances* by the turns around them; `dse_loss` takes only the next utterance.

    :param contexts: Token vectors of the context turns [b, c, k, d].
    :param context_mask: 1 for a token, 0 for padding [b, c, k]; a missing turn has no token, and at least one has.
    :param responses: Token vectors [b, s, n, d], the true response first.
    :param response_mask: 1 for a token, 0 for padding [b, s, n].
    :param temperature: τ > 0; the paper's 0.1.
    :param attention: Module from [..., d] to [..., 1] that weighs the context turns (equations 5 and 6, the paper's
        I1): a turn's logit is the mean over its tokens. None takes the mean of the turns (I2), which the paper found
        better.
    :return: scalar, `-log softmax over the responses of cos(R, R̃) / τ` of the true one, mean over the batch, in fp32 or
        the vectors' own precision if that is higher.

    Example::

        loss = dialoguecse_loss(contexts, context_mask, responses, response_mask)
        loss.backward()
    """
    own, refined = refined_by_context(contexts, context_mask, responses, response_mask)
    spoken = context_mask.any(2)[:, None, :]
    with torch.autocast(responses.device.type, enabled=False):
        if attention is None:
            weights = spoken / spoken.sum(2, keepdim=True).clamp(min=1)
        else:
            logits = _attention_logits(attention, contexts, context_mask, responses, response_mask)
            weights = logits.masked_fill(~spoken, float("-inf")).softmax(2)
        guided = (weights.to(refined.dtype)[..., None] * refined).sum(2)
        return _true_response(own, guided, temperature)


def _attention_logits(
    attention: nn.Module, contexts: Tensor, context_mask: Tensor, responses: Tensor, response_mask: Tensor
) -> Tensor:
    """Return a logit for every response and context turn [b, s, c]: the attention reads the rows of the refined M R."""
    tokens, _ = _masked(responses, response_mask)
    turns, _ = _masked(contexts, context_mask)
    matched = torch.einsum("bckd,bsnd->bsckn", turns, tokens) / tokens.shape[-1] ** 0.5
    rows = attention(torch.einsum("bsckn,bsnd->bsckd", matched, tokens)).squeeze(-1)
    present = context_mask.to(rows.dtype)[:, None]
    logits: Tensor = (rows * present).sum(3) / present.sum(3).clamp(min=1)
    return logits


def refined_by_context(
    contexts: Tensor, context_mask: Tensor, responses: Tensor, response_mask: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the pooled responses [b, s, d], and each as every context turn sees it, pooled, [b, s, c, d].

    `M = U R^T / sqrt(d)`, refined `M R`, mean over the tokens of U. The mean comes first, since both products are
    linear: `mean(U) R^T R / sqrt(d)`, without a matrix of tokens against tokens. In fp32, whatever the autocast.

    :param contexts: Token vectors U of the context turns [b, c, k, d].
    :param context_mask: 1 for a token, 0 for padding [b, c, k]; a context turn without tokens gives zeros.
    :param responses: Token vectors R [b, s, n, d].
    :param response_mask: 1 for a token, 0 for padding [b, s, n].
    """
    with torch.autocast(responses.device.type, enabled=False):
        tokens, own = _masked(responses, response_mask)
        _, context = _masked(contexts, context_mask)
        matched = torch.einsum("bcd,bsnd->bscn", context, tokens) / tokens.shape[-1] ** 0.5
        return own, torch.einsum("bscn,bsnd->bscd", matched, tokens)


def siamese_loss(
    contexts: Tensor, context_mask: Tensor, responses: Tensor, response_mask: Tensor, *, judge: nn.Module
) -> Tensor:
    """Let a judge tell the true response from foreign ones: the paper's Siamese baselines (section 5.2.2).

    In plain words: context and response are a vector each, the mean of their tokens, and a small network reads both
    and says how well they fit.

    Requirements: utterances that are encoded alone; negatives from other dialogues.
    Inputs: the response, its context as one sequence, and other responses. A context of one turn is the paper's
    SiameseBERT-S, several turns joined are SiameseBERT-M.
    Relations: in `dialoguecse_loss` the cosine judges, as in use, and context turns see the tokens of the response.

    :param contexts: Token vectors of the context [b, 1, k, d].
    :param context_mask: 1 for a token, 0 for padding [b, 1, k].
    :param responses: Token vectors [b, s, n, d], the true response first.
    :param response_mask: 1 for a token, 0 for padding [b, s, n].
    :param judge: Module from [..., 2 d], context and response side by side, to [..., 1]. The paper names a matching
        layer with a non-linear activation on both vectors (S) and an MLP on top (M), and no sizes: here both are
        `TwoLayers`.
    :return: scalar, `-log softmax over the responses` of the true one by the judge's logits, mean over the batch, in
        fp32 or the vectors' own precision if that is higher.

    Example::

        loss = siamese_loss(contexts, context_mask, responses, response_mask, judge=TwoLayers(2 * d, 1))
        loss.backward()
    """
    with torch.autocast(responses.device.type, enabled=False):
        _, own = _masked(responses, response_mask)
        _, context = _masked(contexts, context_mask)
        logits = judge(torch.cat([context.expand_as(own), own], dim=2)).squeeze(2)
        loss: Tensor = -functional.log_softmax(logits, dim=1)[:, 0].mean()
        return loss


def _masked(hidden: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tokens [b, u, n, d] with zeros at padding, and the mean token of each utterance [b, u, d]."""
    precision = torch.promote_types(hidden.dtype, torch.float32)
    present = mask.to(precision)[..., None]
    tokens = hidden.to(precision) * present
    return tokens, tokens.sum(2) / present.sum(2).clamp(min=1)


def _true_response(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """Return the cross-entropy of response 0 by the cosines of two sides [b, s, d]."""
    logits = functional.cosine_similarity(first, second, dim=2, eps=1e-8) / temperature
    return -functional.log_softmax(logits, dim=1)[:, 0].mean()
