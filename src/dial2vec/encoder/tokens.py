"""Dialogues as token ids, with the turn and the role of each token (Liu et al. 2022, section 3.2, figure 2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from conversations.dialogue import Dialogue
from dial2vec.encoder.inputs import input_style, joined_input
from dial2vec.errors import CorpusError, ModelError

# Texts that are tokenised at a time.
BLOCK = 10_000
PADDING_ROLE = -1
MAX_TURNS = 512
MAX_ROLES = 16


@dataclass(frozen=True, slots=True)
class Utterances:
    """Token ids of many utterances, without special tokens, end to end in one array.

    :param ids: int32 [total tokens].
    :param offsets: int64 [n + 1]; utterance u is `ids[offsets[u]:offsets[u + 1]]`.
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self[index] for index in range(len(self)))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each utterance, int64 [n]."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """One encoder input. All three arrays are int64 [n].

    :param ids: token ids with the special tokens of the input.
    :param turns: turn of each token: 0, 1, 2, ..., or ..., 2, 1 if the input counts down.
    :param roles: role of that turn, from 0.
    :param cut: number of tokens left out because they did not fit; turns before an input's `last_turns` do not count.
    """

    ids: NDArray[np.int64]
    turns: NDArray[np.int64]
    roles: NDArray[np.int64]
    cut: int

    def first(self, n: int) -> TokenSequence:
        """Return its first n tokens."""
        lost = max(0, len(self.ids) - n)
        return TokenSequence(self.ids[:n], self.turns[:n], self.roles[:n], self.cut + lost) if lost else self


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded encoder inputs, each int64 [b, n]; a padded place has attention 0, turn 0 and role -1."""

    ids: torch.Tensor
    attention: torch.Tensor
    turns: torch.Tensor
    roles: torch.Tensor

    def to(self, device: torch.device | str) -> Batch:
        """Return the batch on `device`."""
        return Batch(*(t.to(device, non_blocking=True) for t in (self.ids, self.attention, self.turns, self.roles)))

    def tight_parts(self, most: int) -> list[tuple[torch.Tensor, Batch]]:
        """Return the rows in parts of similar length, longest first, each padded to its own longest row only.

        :param most: largest number of tokens of a part, padding included; a longer row is a part by itself. If all rows
            fit together, they are one part in their order.
        :return: for each part the places of its rows, int64 [p], and the rows.
        """
        width = self.ids.shape[1]
        ends = torch.arange(1, width + 1, device=self.ids.device) * (self.attention > 0)
        lengths, order = ends.amax(1).clamp(min=1).sort(descending=True, stable=True)
        if len(lengths) * int(lengths[0]) <= most:
            order = torch.arange(len(lengths), device=self.ids.device)
        values, longest = (self.ids, self.attention, self.turns, self.roles), lengths.tolist()
        parts, first = [], 0
        while first < len(order):
            rows = order[first : first + max(1, most // longest[first])]
            parts.append((rows, Batch(*(value[rows, : longest[first]] for value in values))))
            first += len(rows)
        return parts

    def turns_apart(self) -> TurnsApart:
        """Return every turn as a sequence of its own, and the places of its tokens."""
        tokens = self.attention > 0
        begins = functional.pad(self.turns[:, 1:] != self.turns[:, :-1], (1, 0), value=True) & tokens
        rows = (begins.flatten().cumsum(0).view_as(self.ids) - 1)[tokens]
        places = self.positions_in_turn()[tokens]
        shape = (int(begins.sum()), int(places.max()) + 1)
        padding = (0, 0, 0, PADDING_ROLE)
        parts = []
        for values, empty in zip((self.ids, self.attention, self.turns, self.roles), padding, strict=True):
            part = values.new_full(shape, empty)
            part[rows, places] = values[tokens]
            parts.append(part)
        return TurnsApart(Batch(*parts), rows, places)

    def positions_in_turn(self) -> torch.Tensor:
        """Return the place of each token in its turn, from 0, int64 [b, n]; 0 for padding."""
        places = torch.arange(self.turns.shape[1], device=self.turns.device).expand_as(self.turns)
        begins = functional.pad(self.turns[:, 1:] != self.turns[:, :-1], (1, 0))
        return (places - (places * begins).cummax(1).values) * self.attention


@dataclass(frozen=True, slots=True)
class TurnsApart:
    """The turns of a batch as sequences of their own.

    :param batch: row per turn, in the order of dialogues and turns.
    :param rows: row of each token of the dialogues in reading order, int64 [tokens].
    :param places: place of each token in its row, int64 [tokens].
    """

    batch: Batch
    rows: torch.Tensor
    places: torch.Tensor


class DialogueTokenizer:
    """Turns dialogues into encoder inputs, `[CLS] u1 u2 ... ut` or another of `dial2vec.encoder.inputs.STYLES`.

    Every utterance is tokenised once and alone, so that negatives can be assembled from cached ids.

    :param tokenizer: fast Hugging Face tokenizer.
    :param max_length: longest input in tokens; longer inputs are cut at the end, and the cut tokens counted.
    :param input: name of the style.
    :param last_turns: number of turns that are read, counted from the end; None is the style's own.
    :param max_turn: longest turn in tokens, with the special tokens of a dialogue of this turn alone; the words of
        longer turns are cut at the end and counted. None is no limit.
    :raises ModelError: if the tokenizer lacks a token of the style.

    Attributes: `separator`, id of the style's token after a turn, else of the encoder's own separator, else None;
    `starts`, whether a start token of the whole dialogue comes first.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        max_length: int,
        input: str = "text",
        last_turns: int | None = None,
        max_turn: int | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.max_length, self.input, self.last_turns = max_length, input, last_turns
        self.style = style = input_style(input, last_turns)
        start = tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
        separator = tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id
        own = [] if separator is None else [separator]
        # RoBERTa and similar models put two separators between two texts.
        doubled = 2 if "roberta" in type(tokenizer).__name__.lower() else 1
        after = [] if style.after is None else [self._token(style.after)]
        parting = [] if style.parting is None else [self._token(style.parting)]
        self.separator: int | None = [*after, *parting, separator][0]
        started = [start] if style.start and start is not None else []
        self._start, first = ([], started) if style.apart else (started, [])
        self.starts = bool(self._start)
        self._before = [[*first, self._token(text)] for text in style.before] or [first]
        self._end = after + (own if style.end else [])
        self._between = self._end if style.apart else after + parting + (own * doubled if style.between else [])
        if style.apart:
            # Each turn has to fit by itself, and a dialogue may have any number of turns.
            max_turn = min(max_length, max_turn or max_length)
        self.max_turn = max_turn
        self._room = None if max_turn is None else max_turn - self.n_special(1)
        self._limit = None if style.apart else max_length
        self._padding = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0

    def _token(self, text: str) -> int:
        number = self.tokenizer.convert_tokens_to_ids(text)
        if number is None or number == self.tokenizer.unk_token_id:
            raise ModelError(
                f"the tokenizer has no token {text}, which input {self.input} puts between turns. Set encoder.input to "
                "another, or take the encoder of this input (docs/encoders.md)."
            )
        return int(number)

    def for_utterances(self, *, max_length: int | None = None) -> DialogueTokenizer:
        """Return the tokenizer of one or a few utterances that are no whole dialogue.

        Utterances get the special tokens of dialogues, and keep them if they are cut.

        :param max_length: longest utterance in tokens, special tokens included, within this tokenizer's own limit; None
            is that limit. Several utterances together can be as long as a dialogue.
        """
        longest = min(self.max_length, max_length or self.max_length, self.max_turn or self.max_length)
        return DialogueTokenizer(
            self.tokenizer,
            max_length=self.max_length,
            input=joined_input(self.input),
            last_turns=self.last_turns,
            max_turn=longest,
        )

    def utterances(self, texts: Iterable[str]) -> Utterances:
        """Tokenise utterances, each alone and without special tokens."""
        encoded = [np.array(ids, dtype=np.int32) for ids in _ids(self.tokenizer, texts)]
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        return Utterances(np.concatenate([np.zeros(0, dtype=np.int32), *encoded]), ends)

    def assemble(self, turns: Sequence[NDArray[np.int32]], roles: Sequence[int]) -> TokenSequence:
        """Join tokenised turns into one input; each special token belongs to a turn.

        :param turns: token ids of each turn.
        :param roles: role of each turn.
        """
        turns, roles = turns[self.style.kept], roles[self.style.kept]
        n = len(turns)
        pieces: list[Any] = [self._start]
        lengths = []
        for index, (turn, role) in enumerate(zip(turns, roles, strict=True)):
            before = self._before[min(role, len(self._before) - 1)]
            after = self._between if index < n - 1 else self._end
            words = turn[: self._room]
            pieces += [before, words, after]
            lengths.append(len(before) + len(words) + len(after) + (len(self._start) if index == 0 else 0))
        ids = np.concatenate([np.asarray(piece, dtype=np.int64) for piece in pieces])[: self._limit]
        numbers = np.arange(n, 0, -1) if self.style.count_down else np.arange(n)
        turn_ids = np.repeat(numbers.astype(np.int64), lengths)[: self._limit]
        role_ids = np.repeat(np.asarray(roles, dtype=np.int64), lengths)[: self._limit]
        whole = sum(map(len, turns)) + self.n_special(n)
        return TokenSequence(ids, turn_ids, role_ids, whole - len(ids))

    def dialogues(self, dialogues: Sequence[Dialogue]) -> list[TokenSequence]:
        """Tokenise whole dialogues, each as one input; tokens that do not fit are cut at the end.

        :raises CorpusError: if a dialogue has no turns.
        """
        turns = self.turns_of(dialogues)
        return [self.assemble(some, dialogue.roles) for some, dialogue in zip(turns, dialogues, strict=True)]

    def utterances_alone(self, texts: Sequence[str], roles: Sequence[int] | None = None) -> list[TokenSequence]:
        """Tokenise utterances that are no whole dialogue, each as one input.

        :param roles: role of each speaker; None is 0 for all.
        """
        tokens = self.for_utterances()
        spoken_by = [0] * len(texts) if roles is None else roles
        pairs = zip(tokens.utterances(texts), spoken_by, strict=True)
        return [tokens.assemble([words], [role]) for words, role in pairs]

    def contexts(
        self,
        contexts: Sequence[Sequence[str]],
        roles: Sequence[Sequence[int]] | None = None,
        *,
        max_length: int | None = None,
    ) -> list[TokenSequence]:
        """Tokenise contexts, each as one input of as many last turns as fit; `cut` counts the turns left out, too.

        :param contexts: turns' texts of each context, at least one.
        :param roles: role of each turn's speaker in the whole dialogue, 0 for the first speaker; None is 0 for all.
        :param max_length: longest input in tokens, within the tokenizer's own limit; None is that limit.
        """
        longest = min(self.max_length, max_length or self.max_length)
        tokens = self.for_utterances(max_length=longest)
        words = iter(tokens.utterances(text for context in contexts for text in context))
        sequences = []
        for context, spoken_by in zip(contexts, roles or [[0] * len(context) for context in contexts], strict=True):
            turns = list(islice(words, len(context)))
            begin = tokens.first_that_fits([len(turn) for turn in turns], longest)
            read = tokens.assemble(turns[begin:], spoken_by[begin:])
            sequences.append(replace(read, cut=read.cut + sum(map(len, turns[:begin]))))
        return sequences

    def turns_of(self, dialogues: Sequence[Dialogue]) -> list[list[NDArray[np.int32]]]:
        """Return the token ids of each turn of the dialogues, whole and without special tokens.

        :raises CorpusError: if a dialogue has no turns.
        """
        empty = next((dialogue for dialogue in dialogues if not dialogue.turns), None)
        if empty is not None:
            raise CorpusError(f"dialogue {empty.dialogue_id!r} has no turns; expected at least one. Leave it out.")
        turns = iter(self.utterances(turn.text for dialogue in dialogues for turn in dialogue.turns))
        return [list(islice(turns, len(dialogue.turns))) for dialogue in dialogues]

    def nothing(self) -> TokenSequence:
        """Return an empty input: one token for the encoder, without a role, so that no pooling counts it."""
        token, none = np.array([self._padding]), np.array([PADDING_ROLE])
        return TokenSequence(token, np.zeros(1, dtype=np.int64), none, 0)

    def n_special(self, n_turns: int) -> int:
        """Return the number of special tokens in a dialogue with `n_turns` turns that are read."""
        per_turn = len(self._before[0]) + len(self._between)
        return len(self._start) + n_turns * per_turn - len(self._between) + len(self._end)

    @property
    def longest_turn(self) -> int:
        """Length of the longest turn that fits into an input by itself, in tokens without special tokens."""
        room = (self._room, None if self._limit is None else self._limit - self.n_special(1))
        return min(length for length in room if length is not None)

    def fits(self, words: int, *, n_turns: int) -> bool:
        """Return whether tokens of `n_turns` turns fit into one input; `words` counts them without special tokens."""
        return self._limit is None or words + self.n_special(n_turns) <= self._limit

    def length(self, words: Sequence[int]) -> int:
        """Return the number of tokens of a dialogue whose turns are cut to their limit, while the dialogue is not cut.

        :param words: number of tokens of each turn, without special tokens.
        """
        read = words[self.style.kept]
        return sum(read if self._room is None else (min(n, self._room) for n in read)) + self.n_special(len(read))

    def first_that_fits(self, lengths: Sequence[int], longest: int) -> int:
        """Return the first turn from which all turns fit into a limit with special tokens; the last turn always counts.

        :param lengths: number of tokens of each turn, without special tokens; at least one turn.
        """
        begin = len(lengths) - 1
        while begin and self.length(lengths[begin - 1 :]) <= longest:
            begin -= 1
        return begin

    def cuts(self, words: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which dialogues would lose tokens, bool [m].

        :param words: number of tokens of each turn, without special tokens, [m, turns].
        """
        words = words[:, self.style.kept]
        too_long = words.sum(1) + self.n_special(words.shape[1]) > (self._limit or np.inf)
        return too_long if self._room is None else too_long | (words > self._room).any(1)

    def pad(self, sequences: Sequence[TokenSequence]) -> Batch:
        """Pad to the longest sequence of the batch."""
        shape = (len(sequences), max(len(sequence.ids) for sequence in sequences))
        ids = np.full(shape, self._padding, dtype=np.int64)
        attention, turns = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        roles = np.full(shape, PADDING_ROLE, dtype=np.int64)
        for row, sequence in enumerate(sequences):
            n = len(sequence.ids)
            ids[row, :n], attention[row, :n] = sequence.ids, 1
            turns[row, :n], roles[row, :n] = sequence.turns, sequence.roles
        return Batch(*map(torch.from_numpy, (ids, attention, turns, roles)))


def _ids(tokenizer: Any, texts: Iterable[str]) -> Iterator[list[int]]:
    """Yield the token ids of each text, whole and without special tokens."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        yield from (tokenizer.encode(text, add_special_tokens=False) for text in texts)
        return
    # Not through the wrapper: its masks, types and places of tokens would double the time.
    backend.no_truncation()
    backend.no_padding()
    left = iter(texts)
    # In blocks: the result takes some hundred bytes per token.
    while block := list(islice(left, BLOCK)):
        yield from (encoded.ids for encoded in backend.encode_batch_fast(block, add_special_tokens=False))
