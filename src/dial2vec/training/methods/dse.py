"""Method dse: utterances learn from what is said next (Zhou et al. 2022)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from dial2vec.config import Train
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.pooling import pool
from dial2vec.encoder.reading import sentences_apart
from dial2vec.encoder.tokens import Batch, TokenSequence
from dial2vec.errors import ArtifactError
from dial2vec.training.auxiliary import TwoLayers, seeded
from dial2vec.training.data import first_turns, whole_batches, word_counts_of_turns
from dial2vec.training.loop import Names
from dial2vec.training.plan import Given, Plan
from dial2vec.training.processes import gathered
from dial2vec.training.utterances import NONE, UtteranceSet

PairVariant = Literal["1-1", "2-1", "3-1", "123-1", "dropout"]
# Numbers of utterances in a row that make a query, for each variant.
JOINED: dict[str, tuple[int, ...]] = {"1-1": (1,), "2-1": (2,), "3-1": (3,), "123-1": (1, 2, 3)}
LONGEST_QUERY = 3
# Width of the head that is discarded after training, d -> d -> 128 without bias (section 3.3).
WIDTH = 128


def plan(given: Given) -> Plan:
    """Prepare pairs of consecutive utterances; the trained encoder reads a dialogue as the mean of its utterances.

    :raises ArtifactError: if there are fewer than 2 pairs.
    """
    encoder, settings = given.encoder, given.settings
    options, chosen = settings.dse, given.of_two_speakers()
    pairs = consecutive_pairs(chosen, variant=options.pairs, min_words=options.min_words)
    if len(pairs) < 2:
        raise ArtifactError(
            f"the {len(chosen)} dialogues of two speakers have {len(pairs)} pairs of consecutive utterances of at "
            f"least {options.min_words} words; expected at least 2 pairs. Lower dse.min_words or bring more dialogues."
        )
    # The paper's rate is constant from the first step on.
    own = replace(given.train_as(options, max_items=options.max_pairs), warmup_share=0.0)
    train, order = whole_batches(word_counts_of_turns(chosen)[pairs[:, -1]], settings=own, seed=settings.seed)
    head = seeded(lambda: TwoLayers(encoder.dimension, WIDTH, bias=False), seed=settings.seed)
    return Plan(
        PairSet(chosen, pairs, encoder.tokens, order, options=options, auxiliary=head),
        train,
        auxiliary_rate=options.head_learning_rate,
        schedule="constant",
        reading=sentences_apart(encoder.tokens.input),
        names=Names.of_block("dse", items="pairs"),
    )


class PairSet(UtteranceSet):
    """Items of DSE: a query of 1 to 3 utterances and the next one, rows of `consecutive_pairs`."""

    def __getitem__(self, item: int) -> list[TokenSequence]:
        *query, following = self.rows[self.order[item, 1]]
        return [self.joined(*query), self.joined(following)]

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return DSE's loss."""
        vectors = pool(encoder.sequence_states(batch), batch.roles, batch.turns, how="mean")
        assert self.auxiliary is not None
        first, second = gathered(self.auxiliary(vectors)).unflatten(0, (-1, 2)).unbind(1)
        return dse_loss(first, second, temperature=self.options.temperature)


def consecutive_pairs(dialogues: Sequence[Dialogue], *, variant: PairVariant, min_words: int = 4) -> NDArray[np.int64]:
    """Return queries with the next utterance (Zhou et al. 2022, section 3.1), int64 [m, 4].

    The first three columns are the query's utterances in their order, -1 if there are fewer; the last is the next
    utterance. Utterances with fewer than `min_words` words are left out first, so those around one become a pair.

    :param variant: "1-1", "2-1" and "3-1" join one, two or three utterances to a query, "123-1" has all of these;
        "dropout" pairs an utterance with itself.
    :param min_words: Shortest utterance in words; the paper drops utterances of three words and fewer.
    """
    rows = []
    for begin, dialogue in zip(first_turns(dialogues), dialogues, strict=False):
        numbers = [begin + place for place, turn in enumerate(dialogue.turns) if len(turn.text.split()) >= min_words]
        if variant == "dropout":
            rows += [[number, NONE, NONE, number] for number in numbers]
            continue
        for place in range(1, len(numbers)):
            for joined in JOINED[variant]:
                if joined <= place:
                    query = numbers[place - joined : place]
                    rows.append([*query, *[NONE] * (LONGEST_QUERY - joined), numbers[place]])
    return np.array(rows, dtype=np.int64).reshape(-1, LONGEST_QUERY + 1)


def dse_loss(first: Tensor, second: Tensor, *, temperature: float = 0.05) -> Tensor:
    """Bring each utterance near to the next one and away from the batch, most of all from near ones (section 3).

    In plain words: what is said next is the best hint at what was meant. Among the other utterances of the batch,
    similar ones count for more than utterances that are far away in any case.

    Requirements: pairs from `consecutive_pairs`; large batches.
    Inputs: pairs; no labels. Variant "dropout" takes the same utterances twice.
    Relations: trains vectors of *utterances*. `dial2vec_loss` and `neighbour_loss` train whole dialogues.

    With 2m views, `-log(e^{s(i,i+)/τ} / (e^{s(i,i+)/τ} + Σ_j α_ij e^{s(i,j)/τ}))`, mean over all views i. j runs over
    the 2m - 2 others and `α_ij = e^{s(i,j)/τ} / mean_k e^{s(i,k)/τ}` over the same. The paper prints α inside the
    exponent and the sum over all j != i; its authors' code weights the negatives, as here. The gradient goes through α.

    :param first: Vectors after the head [m, d], m at least 2.
    :param second: Vectors of the next utterances [m, d].
    :param temperature: τ > 0; the paper's 0.05.
    :return: scalar, at least 0, in fp32 or the vectors' own precision if that is higher.

    Example::

        loss = dse_loss(head(encoder(first)), head(encoder(second)))
        loss.backward()
    """
    pairs = len(first)
    if pairs < 2 or first.shape != second.shape:
        raise ValueError(f"found pairs of shape {[*first.shape]} and {[*second.shape]}; expected two or more of each")
    with torch.autocast(first.device.type, enabled=False):
        views = torch.cat([first, second])
        views = functional.normalize(views.to(torch.promote_types(views.dtype, torch.float32)), dim=1)
        logits = views @ views.T / temperature
        places = torch.arange(2 * pairs, device=views.device)
        partner = places.roll(pairs)
        positive = logits[places, partner]
        itself = torch.eye(2 * pairs, dtype=torch.bool, device=views.device)
        others = logits.masked_fill(itself | itself[partner], float("-inf"))
        # Σ α e^l = Σ e^{2l} / mean e^l, in logarithms: at τ = 0.05 the exponentials reach e^40.
        weighted = torch.logsumexp(2 * others, 1) - torch.logsumexp(others, 1) + math.log(2 * pairs - 2)
        return (torch.logaddexp(positive, weighted) - positive).mean()
