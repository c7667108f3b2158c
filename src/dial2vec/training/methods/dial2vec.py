"""Method dial2vec: the paper's self-guided task (Liu et al. 2022, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from conversations.dialogue import Dialogue
from dial2vec.config import Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.pooling import role_masks
from dial2vec.encoder.tokens import Batch, DialogueTokenizer, TokenSequence
from dial2vec.errors import ArtifactError
from dial2vec.training.data import TrainingSet, first_turns, tokenised_turns, training_order, word_counts
from dial2vec.training.negatives import Samples
from dial2vec.training.plan import Given, Plan


def plan(given: Given) -> Plan:
    """Prepare dialogues with their negatives.

    :raises ArtifactError: if no dialogue can train.
    """
    samples, settings = given.samples, given.settings
    words = word_counts([given.dialogues[place] for place in samples.dialogues])
    if not len(words):
        raise ArtifactError(
            f"none of the {len(given.dialogues)} training dialogues can train: each needs two speakers and "
            "sample.min_turns turns. Lower sample.min_turns in params.yaml or bring longer dialogues."
        )
    order = training_order(words, passes=len(samples.negatives), settings=settings.train, seed=settings.seed)
    return Plan(SelfGuidedSet(given.dialogues, samples, given.encoder.tokens, order), settings.train)


class SelfGuidedSet(TrainingSet):
    """Items of the self-guided task: a dialogue with its negatives, `[positive, negative, ...]`.

    Items are put together from turns that are tokenised once. Their order is fixed beforehand, so a resumed run
    continues with the very next item.

    :param train: Training split.
    :param samples: Dialogues that may train, with their negatives.
    :param order: Items of the whole run, int64 [items, 2]: (pass, place in `samples.dialogues`).
    """

    def __init__(
        self, train: Sequence[Dialogue], samples: Samples, tokenizer: DialogueTokenizer, order: NDArray[np.int64]
    ) -> None:
        super().__init__(tokenizer, order)
        self.samples = samples
        self.roles = [train[place].roles for place in samples.dialogues]
        self.first = first_turns(train)
        needed = np.zeros(self.first[-1], dtype=bool)
        for index, place in np.unique(order, axis=0):
            for turns in self._turn_numbers(index, place):
                needed[turns] = True
        self.places, self.tokens = tokenised_turns(train, needed, tokenizer)

    def _turn_numbers(self, index: int, place: int) -> NDArray[np.int64]:
        """Return the turn numbers of the positive and its negatives, [N, turns]."""
        begin, end = self.samples.first_turn[place], self.samples.first_turn[place + 1]
        own = self.first[self.samples.dialogues[place]] + np.arange(end - begin)
        return np.vstack([own, self.samples.negatives[index, :, begin:end]])

    def __getitem__(self, item: int) -> list[TokenSequence]:
        index, place = self.order[item]
        rows = self.places[self._turn_numbers(index, place)]
        return [self.tokenizer.assemble([self.tokens[u] for u in row], self.roles[place]) for row in rows]

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the self-guided loss."""
        return dial2vec_loss(
            encoder.hidden_states(batch),
            batch.turns,
            batch.roles,
            n_samples=1 + self.samples.negatives.shape[1],
            temperature=settings.temperature,
            window=settings.window,
            mean=settings.loss_mean,
        )

    def count_cut(self) -> int:
        """Return the number of dialogues that are cut, or have a negative that is."""
        cut = set()
        for index, place in np.unique(self.order, axis=0):
            words = self.tokens.lengths[self.places[self._turn_numbers(index, place)]]
            if self.tokenizer.cuts(words).any():
                cut.add(place)
        return len(cut)


def dial2vec_loss(
    hidden: Tensor,
    turns: Tensor,
    roles: Tensor,
    *,
    n_samples: int,
    temperature: float = 0.2,
    window: int | None = 10,
    mean: Literal["dialogues", "columns"] = "dialogues",
) -> Tensor:
    """Let each speaker's side of a dialogue guide the other's (Liu et al. 2022, section 3.2.4, equations 5 and 6).

    In plain words: of N versions of a dialogue, one is real; in the others one side was replaced by unrelated
    utterances. Each role's vector must resemble what the other side "sees" of it most in the real version.

    Requirements: samples made by `dial2vec.training.negatives`; an encoder that reads the whole dialogue at once.
    Relations: trains vectors of *dialogues*. For vectors of single utterances, `dse_loss` and `dialoguecse_loss` fit
    better.

    :param hidden: Token vectors [b * n_samples, n, d]; sample 0 of each dialogue is the positive.
    :param turns: Turn number of each token [b * n_samples, n].
    :param roles: Role of each token [b * n_samples, n], -1 for padding.
    :param n_samples: N, 1 positive and N - 1 negatives per dialogue.
    :param temperature: τ > 0; the paper names 0.2.
    :param window: Largest distance in turns at which tokens are matched; the paper names 10; None is no limit.
    :param mean: "dialogues" (the paper), or "columns": over the N samples too, as the published code does. That
        divides the loss by N, a scale that Adam cancels and `max_gradient_norm` does not.
    :return: scalar, `mean over dialogues of Σ_r -log softmax_j(cos(ê_j^r, ẽ_j^r) / τ)[positive]`, in fp32, or in the
        precision of `hidden` if that is higher. A role that the real dialogue lacks adds no term. A negative that
        lost a role (cut at the length limit) is left out of that role's sum.

    Example::

        loss = dial2vec_loss(hidden, turns, roles, n_samples=10)
        loss.backward()
    """
    own, cross, present = self_and_cross(hidden, turns, roles, window=window)
    logits = functional.cosine_similarity(own, cross, dim=2, eps=1e-8) / temperature
    logits = logits.masked_fill(~present, float("-inf")).unflatten(0, (-1, n_samples))
    counted = present.unflatten(0, (-1, n_samples))[:, 0]
    # Rows of -inf would give NaN gradients even if they are masked afterwards.
    logits = torch.where(counted[:, None, :], logits, torch.zeros_like(logits))
    terms = -functional.log_softmax(logits, dim=1)[:, 0]
    loss = torch.where(counted, terms, torch.zeros_like(terms)).sum(1).mean()
    return loss / n_samples if mean == "columns" else loss


def self_and_cross(
    hidden: Tensor, turns: Tensor, roles: Tensor, *, window: int | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Pool each role's own token vectors, and the same vectors as the other roles' tokens see them, in linear time.

    The definition (Liu et al. 2022, section 3.2.2, equations 1 to 3): with `C = Ê^a (Ê^b)^T`, entries of turns further
    apart than the window set to 0, the cross-representation of role a is the sum over b's places of `C^T Ê^a`. That
    sum over places j of b is `Σ_i h_i (h_i · s_{T(i)})`, with `s_t` the sum of b's vectors in turns t - w ... t + w:
    one dot product per token and one running sum over turns, O(n d), and no n x n matrix. Each of more than two roles
    is matched with all others together; with two roles this is the paper's problem, once per role.

    Computed in fp32, whatever the autocast; float64 stays float64.

    :param hidden: Token vectors [b, n, d].
    :param turns: Turn number of each token [b, n], at least 0; only differences matter.
    :param roles: Role of each token [b, n], -1 for padding.
    :param window: Largest distance in turns at which two tokens are matched; None is no limit.
    :return: self sums [b, r, d], cross sums [b, r, d], and a bool mask [b, r] of the roles for which both sides
        have tokens. Sums, not means: a cosine has no scale.
    """
    with torch.autocast(hidden.device.type, enabled=False):
        hidden = hidden.to(torch.promote_types(hidden.dtype, torch.float32))
        masks = role_masks(roles).to(hidden.dtype)
        own_sum = torch.bmm(masks, hidden)
        everyone = masks.sum(1)
        cross = []
        for role in range(masks.shape[1]):
            mine = masks[:, role, :, None] * hidden
            others = (everyone - masks[:, role])[:, :, None]
            # Sums over nothing differ from zero by rounding, which a cosine would take for a direction.
            met = _window_sums(others, turns, window) > 0.5
            seen = _window_sums(others * hidden, turns, window) * met
            cross.append(((hidden * seen).sum(2, keepdim=True) * mine).sum(1))
        present = masks.sum(2) > 0
        return own_sum, torch.stack(cross, dim=1), present & (present.sum(1, keepdim=True) > 1)


def _window_sums(vectors: Tensor, turns: Tensor, window: int | None) -> Tensor:
    """For each token, the sum of `vectors` [b, n, d] over all tokens at most `window` turns away: [b, n, d]."""
    n_turns = int(turns.max()) + 1
    if window is None or window >= n_turns - 1:
        return vectors.sum(1, keepdim=True).expand_as(vectors)
    batch, _, width = vectors.shape
    per_turn = vectors.new_zeros(batch, n_turns, width).index_put(
        (torch.arange(batch, device=turns.device)[:, None].expand_as(turns), turns), vectors, accumulate=True
    )
    running = functional.pad(per_turn.cumsum(1), (0, 0, 1, 0))
    index = torch.arange(n_turns, device=turns.device)
    in_window = running[:, (index + window + 1).clamp(max=n_turns)] - running[:, (index - window).clamp(min=0)]
    return in_window.gather(1, turns[:, :, None].expand(-1, -1, width))
