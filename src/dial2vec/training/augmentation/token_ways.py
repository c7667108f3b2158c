"""Augmentations of contexts as token ids, drawn again at each training step (Poddar et al. 2022, sections 3.3, 4.3).

Each function takes a padded batch, a `Vocabulary` and a generator, and returns a batch with as many rows. None loops in
Python. Special tokens and ends of turns keep their order. A word changes as a whole, with all its pieces. A share of
the words is exact in each row, to the nearest word: only the choice of words is random. Roles keep their numbers even
if the first speaker's turns are gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dial2vec.encoder.tokens import PADDING_ROLE, Batch
from dial2vec.errors import ModelError

# Prefix of a new word (byte-level, sentencepiece), and of a piece that continues a word (WordPiece).
WORD_BEGINS, WORD_GOES_ON = ("Ġ", "▁"), "##"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Tables over the ids of a tokenizer.

    :param fixed: Mask of ids that never change, bool [v]: special tokens, ends of turns, padding.
    :param goes_on: Mask of pieces that continue the word before them, bool [v].
    :param words: Ids of whole words of letters and digits, int64 [m].
    :param start: Id that begins an input, or None.
    :param deleted: Id that replaces deleted words, or None.
    """

    fixed: Tensor
    goes_on: Tensor
    words: Tensor
    padding: int
    start: int | None
    deleted: int | None

    @classmethod
    def of(cls, tokenizer: Any, *, fixed: Iterable[str] = (), deleted: str = "[DEL]") -> Vocabulary:
        """Return the tables of a Hugging Face tokenizer.

        :param fixed: Further tokens that never change, such as the end of a turn.
        :param deleted: Token that replaces deleted words; the tokenizer may lack it if nothing is deleted.
        :raises ModelError: if the tokenizer lacks a fixed token or has no whole word.
        """
        tokens = [token or "" for token in tokenizer.convert_ids_to_tokens(range(len(tokenizer)))]
        named = {token: number for number, token in enumerate(tokens)}
        missing = next((token for token in fixed if token not in named), None)
        if missing is not None:
            raise ModelError(f"the tokenizer has no token {missing}, which must not change. Add it, or leave it out.")
        untouched = {*tokenizer.all_special_ids, *(named[token] for token in [*fixed, deleted] if token in named)}
        marked = any(token.startswith(WORD_BEGINS) for token in tokens)
        goes_on = [not token.startswith(WORD_BEGINS) if marked else token.startswith(WORD_GOES_ON) for token in tokens]
        words = [
            number
            for number, token in enumerate(tokens)
            if number not in untouched and not goes_on[number] and token.lstrip("".join(WORD_BEGINS)).isalnum()
        ]
        if not words:
            raise ModelError("the tokenizer has no token that is a whole word. Take another encoder.")
        padding, start = tokenizer.pad_token_id, tokenizer.cls_token_id
        return cls(
            fixed=torch.tensor([number in untouched for number in range(len(tokens))]),
            goes_on=torch.tensor(goes_on),
            words=torch.tensor(words),
            padding=0 if padding is None else int(padding),
            start=tokenizer.bos_token_id if start is None else int(start),
            deleted=named.get(deleted),
        )

    def to(self, device: torch.device | str) -> Vocabulary:
        """Return the tables on a device."""
        tables = (self.fixed.to(device), self.goes_on.to(device), self.words.to(device))
        return Vocabulary(*tables, self.padding, self.start, self.deleted)


def mix_tokens(batch: Batch, vocabulary: Vocabulary, *, generator: torch.Generator, share: float = 0.3) -> Batch:
    """Mix each context with another context of the batch by `conmix`.

    :param share: Share of tokens (not of words) to replace, 1 - λ_mix.
    """
    replaceable = batch.attention.bool() & ~vocabulary.fixed[batch.ids]
    return replace(batch, ids=conmix(batch.ids, replaceable, generator=generator, keep=1 - share))


def truncate_contexts(batch: Batch, vocabulary: Vocabulary, *, generator: torch.Generator) -> Batch:
    """Drop a random number of early turns, from one to all but the last. A single turn stays.

    The token that begins the input stays and belongs to the first remaining turn. Turn numbers that start at 0 are
    shifted to start at 0 again; numbers that count down need no change.
    """
    attended = batch.attention.bool()
    changes = torch.nn.functional.pad(batch.turns[:, 1:] != batch.turns[:, :-1], (1, 0)) & attended
    ordinal = changes.cumsum(1)
    n_turns = ordinal.max(1, keepdim=True).values + 1
    # At most n - 1, even if rounding makes the draw 1.
    dropped = (_uniform(n_turns, generator) * (n_turns - 1)).long() + 1
    dropped = dropped.clamp(max=n_turns - 1)
    left = attended & (ordinal >= dropped)
    first = left.int().argmax(1, keepdim=True)
    begins = torch.zeros_like(left)
    begins[:, 0] = False if vocabulary.start is None else batch.ids[:, 0] == vocabulary.start
    number = batch.turns.gather(1, first)
    turns = torch.where(begins, number, batch.turns)
    turns = torch.where(batch.turns[:, :1] == 0, turns - number, turns)
    roles = torch.where(begins, batch.roles.gather(1, first), batch.roles)
    return _squeezed(replace(batch, turns=turns, roles=roles), left | begins, vocabulary)


def delete_tokens(batch: Batch, vocabulary: Vocabulary, *, generator: torch.Generator, share: float = 0.7) -> Batch:
    """Replace a share of the words by the token for deleted words; a run inside a turn becomes one token.

    :raises ModelError: if the tokenizer has no such token.
    """
    if vocabulary.deleted is None:
        raise ModelError(
            "the tokenizer has no token for deleted words. Add [DEL] to tokenizer and encoder, or take another way."
        )
    words = _words(batch, vocabulary)
    gone = words.whole(_chosen(words, share, generator))
    after_gone = torch.nn.functional.pad(gone[:, :-1] & (batch.turns[:, 1:] == batch.turns[:, :-1]), (1, 0))
    ids = torch.where(gone, vocabulary.deleted, batch.ids)
    return _squeezed(replace(batch, ids=ids), ~(gone & after_gone), vocabulary)


def reorder_tokens(batch: Batch, vocabulary: Vocabulary, *, generator: torch.Generator, share: float = 0.3) -> Batch:
    """Swap a share of the words in pairs across the context; each word gets the turn of its new place."""
    words = _words(batch, vocabulary)
    order = _drawn(words, generator)
    rank = order.argsort(1)
    n_words = words.begins.sum(1, keepdim=True)
    n_pairs = torch.minimum((share * n_words.double() / 2 + 0.5).long(), n_words // 2)
    swapped = words.begins & (rank < 2 * n_pairs)
    # Ranks 0 and 1 are a pair, 2 and 3 the next, and so on; the last rank of an odd row has no partner.
    partner = order.gather(1, (rank ^ 1).clamp(max=rank.shape[1] - 1))
    place = torch.where(swapped, partner, torch.arange(rank.shape[1], device=rank.device))
    # First token of the word whose place each token takes.
    goal = place.gather(1, words.first)
    sorting = goal.argsort(dim=1, stable=True)
    moved = (batch.ids, batch.attention, batch.turns.gather(1, goal), batch.roles.gather(1, goal))
    return Batch(*(table.gather(1, sorting) for table in moved))


def replace_tokens(batch: Batch, vocabulary: Vocabulary, *, generator: torch.Generator, share: float = 0.3) -> Batch:
    """Replace a share of the words by random one-token words of the vocabulary."""
    words = _words(batch, vocabulary)
    chosen = _chosen(words, share, generator)
    drawn = (_uniform(batch.ids, generator) * len(vocabulary.words)).long().clamp(max=len(vocabulary.words) - 1)
    ids = torch.where(chosen, vocabulary.words[drawn], batch.ids)
    return _squeezed(replace(batch, ids=ids), ~words.whole(chosen) | chosen, vocabulary)


class _Words(NamedTuple):
    """Places of the words of a batch.

    :param begins: Mask of the first tokens of words that may change, bool [b, n].
    :param first: Place of the first token of each token's word, int64 [b, n]; each fixed token and each padding is a
        word of its own.
    """

    begins: Tensor
    first: Tensor

    def whole(self, chosen: Tensor) -> Tensor:
        """Return a mask of all tokens of the words whose first token is chosen, bool [b, n]."""
        return chosen.gather(1, self.first)


def _words(batch: Batch, vocabulary: Vocabulary) -> _Words:
    fixed = vocabulary.fixed[batch.ids] | ~batch.attention.bool()
    # A word always begins after a fixed token and at the start of a turn.
    fresh = torch.ones_like(fixed)
    fresh[:, 1:] = fixed[:, :-1] | (batch.turns[:, 1:] != batch.turns[:, :-1])
    begins = fixed | fresh | ~vocabulary.goes_on[batch.ids]
    places = torch.arange(begins.shape[1], device=begins.device).expand_as(begins)
    return _Words(begins & ~fixed, (places * begins).cummax(1).values)


def _drawn(words: _Words, generator: torch.Generator) -> Tensor:
    """Return places [b, n] in random order, with the starts of words first."""
    draws = _uniform(words.begins, generator)
    return torch.where(words.begins, draws, torch.inf).argsort(dim=1, stable=True)


def _chosen(words: _Words, share: float, generator: torch.Generator) -> Tensor:
    """Return a mask of the first tokens of a random share of each row's words, bool [b, n]."""
    n_chosen = (share * words.begins.sum(1, keepdim=True).double() + 0.5).long()
    return words.begins & (_drawn(words, generator).argsort(1) < n_chosen)


def _uniform(like: Tensor, generator: torch.Generator) -> Tensor:
    """Draw from [0, 1) on the generator's device, with the shape and device of another tensor."""
    return torch.rand(like.shape, generator=generator, device=generator.device).to(like.device)


def _squeezed(batch: Batch, left: Tensor, vocabulary: Vocabulary) -> Batch:
    """Close the gaps between the remaining tokens, and pad to the longest row."""
    left = left & batch.attention.bool()
    lengths = left.sum(1, keepdim=True)
    order = (~left).int().argsort(dim=1, stable=True)[:, : int(lengths.max())]
    attended = torch.arange(order.shape[1], device=order.device) < lengths
    fill = (vocabulary.padding, 0, 0, PADDING_ROLE)
    tables = (batch.ids, batch.attention, batch.turns, batch.roles)
    return Batch(
        *(table.gather(1, order).masked_fill(~attended, empty) for table, empty in zip(tables, fill, strict=True))
    )


def conmix(ids: Tensor, replaceable: Tensor, *, generator: torch.Generator, keep: float = 0.7) -> Tensor:
    """Mix each context with a random other context of the batch: some tokens become the other's at their position.

    In plain words: you hear a dialogue while another one is spoken next to you, and still get its topic.

    Where the other context has a special token or padding, which would end a turn, the position is counted among its
    words, from the front again after the last. So every word is replaced with probability 1 - λ_mix, however long the
    other context is (Poddar et al. 2022, sections 3.3 and 4.2: 30 %). A context stays if the other one has no word.

    :param ids: Token ids, int64 [b, n].
    :param replaceable: Mask, bool [b, n], False for special tokens, ends of turns and padding.
    :param generator: Random generator on any device; draws are copied to the device of the ids.
    :param keep: Probability λ_mix to keep a token, in [0, 1]; 0.7 in the paper.
    :return: New tensor [b, n]; a copy of the ids if b = 1.
    """
    b, n = ids.shape
    if b < 2:
        return ids.clone()
    draw_on = generator.device
    # 1 to b - 1 rows further on: never the row itself, and all other rows are equally likely.
    steps = torch.randint(1, b, (b,), generator=generator, device=draw_on).to(ids.device)
    kept = torch.rand(ids.shape, generator=generator, device=draw_on).to(ids.device) < keep
    others = (torch.arange(b, device=ids.device) + steps) % b
    words = ids.gather(1, (~replaceable).int().argsort(dim=1, stable=True))
    n_words = replaceable.sum(1, keepdim=True)
    wrapped = torch.arange(n, device=ids.device) % n_words.clamp(min=1)
    drawn = torch.where(replaceable, ids, words.gather(1, wrapped))[others]
    return torch.where(~kept & replaceable & (n_words[others] > 0), drawn, ids)
