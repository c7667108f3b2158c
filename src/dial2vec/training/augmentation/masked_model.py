"""Insert or replace words of a dialogue with a masked language model.

Inserting likely words keeps the intent; replacing content words changes the intent and keeps the style. All random
numbers are drawn before the model runs, so batches change only rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from conversations.dialogue import Dialogue, Turn
from dial2vec.draws import augmentation_rng, share_of
from dial2vec.encoder.backbone import limits, load_with_head
from dial2vec.encoder.inputs import InputStyle
from dial2vec.errors import ModelError
from dial2vec.training.augmentation.token_ways import Vocabulary
from dial2vec.training.augmentation.wording import Wording, bare

INSERTED, REPLACED = 0.15, 0.3
# Words below this probability are rejected; one of at most 10 words is drawn.
LEAST_PROBABILITY, CHOICES = 0.05, 10
# Logits of 8 inputs of 512 tokens and 30,000 words take half a gigabyte.
BATCH = 8


@dataclass(frozen=True, slots=True)
class MaskedModel:
    """A masked language model with its tokenizer, as `load_masked` returns it.

    :param network: Network from tokens [b, n] to logits [b, n, v].
    :param tokenizer: Fast tokenizer of the model.
    :param vocabulary: Tables of the tokenizer, on the network's device.
    :param longest: Maximum input length in tokens.
    """

    network: Any
    tokenizer: Any
    vocabulary: Vocabulary
    longest: int


def load_masked(name: str | Path, *, device: str | None = None) -> MaskedModel:
    """Load a masked language model by Hugging Face name or folder.

    :param device: Device of the network; None takes a GPU if there is one.
    :raises ModelError: if the model cannot be loaded, lacks parameters, or has no mask token.
    """
    folder, tokenizer, network = load_with_head(
        name, "AutoModelForMaskedLM", kind="masked language model", example="bert-base-uncased"
    )
    if tokenizer.mask_token_id is None:
        raise ModelError(f"the tokenizer of {folder} has no mask. Give a masked language model with its own tokenizer.")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    longest, _ = limits(network.base_model, tokenizer, InputStyle(), name="text")
    return MaskedModel(network.to(device).eval(), tokenizer, Vocabulary.of(tokenizer).to(device), min(longest, 512))


class _Mask(NamedTuple):
    """One mask.

    :param word: Index of the word that is replaced, or before which a word is inserted.
    :param replaced: Replaced word without punctuation, which is not drawn again; "" for an insertion.
    :param draw: Random number in [0, 1) that selects one of the likely words.
    """

    turn: int
    word: int
    replaced: str
    draw: float


def inserted(
    model: MaskedModel, dialogues: Sequence[Dialogue], *, seed: int, share: float = INSERTED
) -> list[Dialogue]:
    """Insert likely whole words, none where a word piece is likeliest. Keeps the intent.

    :param share: Number of masks per word, at least 1 mask per dialogue.
    """
    marked = []
    for dialogue in dialogues:
        wordings = _wordings(model, dialogue)
        gaps = [(turn, word, "") for turn, wording in wordings for word in range(len(wording.words))]
        marked.append(_masks(gaps, share, augmentation_rng(seed, "insertion", dialogue.dialogue_id)))
    filled = _fill(model, dialogues, marked)
    return list(map(_with_words, dialogues, filled))


def replaced(
    model: MaskedModel, dialogues: Sequence[Dialogue], *, seed: int, share: float = REPLACED
) -> list[Dialogue]:
    """Replace content words by other likely words. Changes the intent.

    :param share: Share of the content words (all but English stop words), at least 1 word per dialogue.
    """
    # Loaded here: half a second, and few trainings replace words.
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    marked = []
    for dialogue in dialogues:
        content = [
            (turn, place, word)
            for turn, wording in _wordings(model, dialogue)
            for place, whole in enumerate(wording.words)
            if (word := bare(whole)[1]) and word.lower() not in ENGLISH_STOP_WORDS
        ]
        marked.append(_masks(content, share, augmentation_rng(seed, "replacement", dialogue.dialogue_id)))
    filled = _fill(model, dialogues, marked)
    return list(map(_with_words, dialogues, filled))


def _masks(places: Sequence[tuple[int, int, str]], share: float, rng: np.random.Generator) -> list[_Mask]:
    """Draw masks at a share of the places (turn, word, replaced word)."""
    chosen = [places[place] for place in rng.permutation(len(places))[: max(1, share_of(share, len(places)))]]
    draws = rng.random(len(chosen))
    return [_Mask(turn, word, old, draw) for (turn, word, old), draw in zip(chosen, draws, strict=True)]


def _wordings(model: MaskedModel, dialogue: Dialogue) -> Iterator[tuple[int, Wording]]:
    """Yield turns with their index, except turns whose own text contains the mask token."""
    for number, turn in enumerate(dialogue.turns):
        if model.tokenizer.mask_token not in turn.text:
            yield number, Wording.of(turn.text)


def _with_words(dialogue: Dialogue, words: dict[_Mask, str]) -> Dialogue:
    """Return a dialogue with words at the places of their masks."""
    turns = tuple(
        Turn(turn.speaker, _edited(turn.text, {mask: word for mask, word in words.items() if mask.turn == number}))
        for number, turn in enumerate(dialogue.turns)
    )
    return replace(dialogue, turns=turns)


def _edited(text: str, words: dict[_Mask, str]) -> str:
    """Return a text with words inserted or replaced at the masks."""
    gaps, own = Wording.of(text)
    for mask, word in words.items():
        before, old, after = bare(own[mask.word])
        if mask.replaced:
            own[mask.word] = before + (word.capitalize() if old[0].isupper() and word.islower() else word) + after
        else:
            own[mask.word] = f"{word} {own[mask.word]}"
    return Wording(gaps, own).text


def _fill(
    model: MaskedModel, dialogues: Sequence[Dialogue], marked: Sequence[Sequence[_Mask]]
) -> list[dict[_Mask, str]]:
    """Return the words that fill the masks of each dialogue, without rejected words."""
    inputs = [
        (number, ids, masks)
        for number, (dialogue, own) in enumerate(zip(dialogues, marked, strict=True))
        for ids, masks in _inputs(model, dialogue, own)
        if masks
    ]
    # Longest first: little padding, and too little memory fails at once.
    inputs.sort(key=lambda item: -len(item[1]))
    words: list[dict[_Mask, str]] = [{} for _ in dialogues]
    for first in range(0, len(inputs), BATCH):
        batch = inputs[first : first + BATCH]
        likely = _likely(model, [ids for _, ids, _ in batch])
        owners = [(number, mask) for number, _, masks in batch for mask in masks]
        for (number, mask), (piece, probabilities, tokens) in zip(owners, likely, strict=True):
            word = _drawn(model, mask, probabilities, tokens)
            if word and (mask.replaced or not piece):
                words[number][mask] = word
    return words


def _inputs(model: MaskedModel, dialogue: Dialogue, masks: Sequence[_Mask]) -> Iterator[tuple[list[int], list[_Mask]]]:
    """Yield inputs `[CLS] turn [SEP] turn [SEP]` of neighbouring turns that fit, with their masks in order.

    A turn that is too long is cut at its end, and masks after the cut stay unfilled.
    """
    tokenizer = model.tokenizer
    start = [] if model.vocabulary.start is None else [model.vocabulary.start]
    end = [] if tokenizer.sep_token_id is None else [tokenizer.sep_token_id]
    by_turn = [sorted(mask for mask in masks if mask.turn == number) for number in range(len(dialogue.turns))]
    texts = [
        _edited(turn.text, dict.fromkeys(own, tokenizer.mask_token))
        for turn, own in zip(dialogue.turns, by_turn, strict=True)
    ]
    encoded = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
    ids, own_masks = list(start), list[_Mask]()
    for turn, own in zip(encoded, by_turn, strict=True):
        # Remove mask tokens of the original text.
        turn = turn if own else [token for token in turn if token != tokenizer.mask_token_id]
        turn = turn[: model.longest - len(start) - len(end)]
        if len(ids) > len(start) and len(ids) + len(turn) + len(end) > model.longest:
            yield ids, own_masks
            ids, own_masks = list(start), []
        ids = [*ids, *turn, *end]
        own_masks = [*own_masks, *own[: turn.count(tokenizer.mask_token_id)]]
    yield ids, own_masks


@torch.inference_mode()
def _likely(
    model: MaskedModel, inputs: Sequence[list[int]]
) -> list[tuple[bool, NDArray[np.float32], NDArray[np.int64]]]:
    """Return whether a word piece is likeliest at each mask, and its likeliest whole words, best first."""
    device = model.vocabulary.words.device
    rows = [torch.tensor(ids) for ids in inputs]
    ids = pad_sequence(rows, batch_first=True, padding_value=model.vocabulary.padding).to(device)
    attention = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True).to(device)
    logits = model.network(input_ids=ids, attention_mask=attention).logits
    masked = (ids == model.tokenizer.mask_token_id) & attention.bool()
    pieces = model.vocabulary.goes_on[logits[masked].argmax(1)]
    probabilities = logits[masked].float().softmax(1)[:, model.vocabulary.words]
    best = probabilities.topk(min(CHOICES + 1, probabilities.shape[1]), dim=1)
    tokens = model.vocabulary.words[best.indices]
    return list(zip(pieces.tolist(), best.values.cpu().numpy(), tokens.cpu().numpy(), strict=True))


def _drawn(model: MaskedModel, mask: _Mask, probabilities: NDArray[np.float32], tokens: NDArray[np.int64]) -> str:
    """Draw a likely word in proportion to its probability; "" if there is none."""
    words = [model.tokenizer.decode([token]).strip() for token in tokens.tolist()]
    own = [
        (word, float(p))
        for word, p in zip(words, probabilities, strict=True)
        if p >= LEAST_PROBABILITY and word and word.lower() != mask.replaced.lower()
    ][:CHOICES]
    if not own:
        return ""
    reach = np.cumsum([p for _, p in own])
    place = int(np.searchsorted(reach, mask.draw * reach[-1], side="right"))
    return own[min(place, len(own) - 1)][0]
