"""Words that a masked language model puts into a dialogue: new ones between those said, or others in their place.

A new word that the model finds likely leaves the intent as it was; another word where a content word stood changes
it, and keeps the style. Every draw is made before the model is asked, so batches change nothing but rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from torch.nn.utils.rnn import pad_sequence

from dial2vec.dialogue import Dialogue, Turn
from dial2vec.draws import augmentation_stream, share_of
from dial2vec.encoder.backbone import limits, load_with_head
from dial2vec.encoder.inputs import InputStyle
from dial2vec.errors import Dial2vecError, ModelError
from dial2vec.training.augmentation.made import Made
from dial2vec.training.augmentation.token_ways import Vocabulary
from dial2vec.training.augmentation.wording import Wording, bare

INSERTED, REPLACED = 0.15, 0.3
# Words below this probability are not taken, and no more than so many are drawn from.
LEAST_PROBABILITY, CHOICES = 0.05, 10
# Logits of 8 inputs of 512 tokens and 30,000 words are half a gigabyte.
BATCH = 8


@dataclass(frozen=True, slots=True)
class MaskedModel:
    """A masked language model with its tokenizer. Made by `load_masked`.

    :param network: from tokens [b, n] to logits [b, n, v].
    :param tokenizer: its fast tokenizer.
    :param vocabulary: which tokens are whole words, on the network's device.
    :param longest: longest input in tokens.
    """

    network: Any
    tokenizer: Any
    vocabulary: Vocabulary
    longest: int


def load_masked(name: str | Path, *, device: str | None = None) -> MaskedModel:
    """Load any masked language model by Hugging Face name or folder.

    :param device: None is a GPU where there is one.
    :raises ModelError: when it cannot be loaded, has no trained head for masked words, or no mask.
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

    :param turn: number of its turn in the dialogue.
    :param word: number of the word in front of which it stands, or which it replaces.
    :param said: that word without marks, which may not come again; empty for an insertion.
    :param draw: in [0, 1), which of the likely words is taken.
    """

    turn: int
    word: int
    said: str
    draw: float


def inserted(
    model: MaskedModel,
    dialogues: Sequence[Dialogue],
    *,
    seed: int,
    share: float = INSERTED,
    context_turns: int | None = None,
    least_probability: float = LEAST_PROBABILITY,
    batch_size: int = BATCH,
) -> list[Made]:
    """Insert words that the model finds likely; word pieces and unlikely ones are rejected. Keeps the intent.

    :param share: masks for every word said; one at least.
    :param context_turns: how many turns the model reads at a time; None is as much of the dialogue as it can take.
    :param least_probability: below it a word is rejected, 0 to 1.
    """
    marked = []
    for dialogue in dialogues:
        rng = augmentation_stream(seed, "insertion", dialogue.dialogue_id)
        gaps = [(turn, word) for turn, wording in _wordings(model, dialogue) for word in range(len(wording.words))]
        chosen = rng.permutation(len(gaps))[: max(1, share_of(share, len(gaps)))]
        draws = rng.random(len(chosen))
        places = [gaps[place] for place in chosen]
        marked.append([_Mask(turn, word, "", draw) for (turn, word), draw in zip(places, draws, strict=True)])
    filled = _fill(model, dialogues, marked, context_turns, least_probability, batch_size)
    return [
        _with_words(*found, why="no likely word was found to insert") for found in zip(dialogues, filled, strict=True)
    ]


def replaced(
    model: MaskedModel,
    dialogues: Sequence[Dialogue],
    *,
    seed: int,
    share: float = REPLACED,
    context_turns: int | None = None,
    least_probability: float = LEAST_PROBABILITY,
    batch_size: int = BATCH,
) -> list[Made]:
    """Replace content words by others that the model finds likely there. Corrupts the intent.

    :param share: of the content words (all but English stop words and marks); one at least.
    :param context_turns: as of `inserted`.
    :param least_probability: as of `inserted`.
    """
    marked = []
    for dialogue in dialogues:
        rng = augmentation_stream(seed, "replacement", dialogue.dialogue_id)
        content = [
            (turn, word, said)
            for turn, wording in _wordings(model, dialogue)
            for word, whole in enumerate(wording.words)
            if (said := bare(whole)[1]) and said.lower() not in ENGLISH_STOP_WORDS
        ]
        chosen = rng.permutation(len(content))[: max(1, share_of(share, len(content)))]
        draws = rng.random(len(chosen))
        places = [content[place] for place in chosen]
        marked.append([_Mask(turn, word, said, draw) for (turn, word, said), draw in zip(places, draws, strict=True)])
    filled = _fill(model, dialogues, marked, context_turns, least_probability, batch_size)
    return [
        _with_words(*found, why="no likely word was found to replace") for found in zip(dialogues, filled, strict=True)
    ]


def _wordings(model: MaskedModel, dialogue: Dialogue) -> Iterator[tuple[int, Wording]]:
    """Turns with their numbers, without those in which somebody wrote a mask: it could not be told from ours."""
    for number, turn in enumerate(dialogue.turns):
        if model.tokenizer.mask_token not in turn.text:
            yield number, Wording.of(turn.text)


def _with_words(dialogue: Dialogue, words: dict[_Mask, str], *, why: str) -> Made:
    """Put the words in the place of their masks."""
    if not words:
        return Made(dialogue, why)
    return Made(replace(dialogue, turns=tuple(
        Turn(turn.speaker, _edited(turn.text, {mask: word for mask, word in words.items() if mask.turn == number}))
        for number, turn in enumerate(dialogue.turns)
    )))  # fmt: skip


def _edited(text: str, words: dict[_Mask, str]) -> str:
    """Return a text with words in front of, or instead of, some of its own."""
    gaps, own = Wording.of(text)
    for mask, word in words.items():
        before, said, after = bare(own[mask.word])
        if mask.said:
            own[mask.word] = before + (word.capitalize() if said[0].isupper() and word.islower() else word) + after
        else:
            own[mask.word] = f"{word} {own[mask.word]}"
    return Wording(gaps, own).text


def _fill(
    model: MaskedModel,
    dialogues: Sequence[Dialogue],
    marked: Sequence[Sequence[_Mask]],
    context_turns: int | None,
    least_probability: float,
    batch_size: int,
) -> list[dict[_Mask, str]]:
    """Return the words that fill the masks of each dialogue; those that are rejected are left out."""
    if context_turns is not None and context_turns < 1:
        raise Dial2vecError(f"context_turns is {context_turns}; expected at least 1, or None for the whole dialogue.")
    if batch_size < 1:
        raise Dial2vecError(f"batch_size is {batch_size}; expected at least 1.")
    inputs = [
        (number, ids, masks)
        for number, (dialogue, own) in enumerate(zip(dialogues, marked, strict=True))
        for ids, masks in _inputs(model, dialogue, own, context_turns)
        if masks
    ]
    # Longest first: little padding, and a lack of memory shows at once.
    inputs.sort(key=lambda found: -len(found[1]))
    words: list[dict[_Mask, str]] = [{} for _ in dialogues]
    for first in range(0, len(inputs), batch_size):
        batch = inputs[first : first + batch_size]
        likely = _likely(model, [ids for _, ids, _ in batch])
        owners = [(number, mask) for number, _, masks in batch for mask in masks]
        for (number, mask), (probabilities, tokens) in zip(owners, likely, strict=True):
            word = _drawn(model, mask, probabilities, tokens, least_probability)
            if word:
                words[number][mask] = word
    return words


def _inputs(
    model: MaskedModel, dialogue: Dialogue, masks: Sequence[_Mask], context_turns: int | None
) -> Iterator[tuple[list[int], list[_Mask]]]:
    """Yield inputs `[CLS] turn [SEP] turn [SEP]` of neighbouring turns that fit, with their masks in order.

    A turn that is too long alone is cut at its end, and masks behind the cut are not filled.
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
    ids, found, n_turns = list(start), list[_Mask](), 0
    for turn, own in zip(encoded, by_turn, strict=True):
        # A mask that somebody wrote is not ours to fill.
        turn = turn if own else [token for token in turn if token != tokenizer.mask_token_id]
        turn = turn[: model.longest - len(start) - len(end)]
        if n_turns and (n_turns == context_turns or len(ids) + len(turn) + len(end) > model.longest):
            yield ids, found
            ids, found, n_turns = list(start), [], 0
        ids = [*ids, *turn, *end]
        found = [*found, *own[: turn.count(tokenizer.mask_token_id)]]
        n_turns += 1
    yield ids, found


@torch.inference_mode()
def _likely(model: MaskedModel, inputs: Sequence[list[int]]) -> list[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    """Return the likeliest whole words at each mask, by input and place: probabilities and tokens, the best first."""
    device = model.vocabulary.words.device
    rows = [torch.tensor(ids) for ids in inputs]
    ids = pad_sequence(rows, batch_first=True, padding_value=model.vocabulary.padding).to(device)
    attention = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True).to(device)
    logits = model.network(input_ids=ids, attention_mask=attention).logits
    masked = (ids == model.tokenizer.mask_token_id) & attention.bool()
    # Of all tokens, also of those that are no words: a word beside a likelier piece is an unlikely word.
    probabilities = logits[masked].float().softmax(1)[:, model.vocabulary.words]
    best = probabilities.topk(min(CHOICES + 1, probabilities.shape[1]), dim=1)
    tokens = model.vocabulary.words[best.indices]
    return list(zip(best.values.cpu().numpy(), tokens.cpu().numpy(), strict=True))


def _drawn(
    model: MaskedModel, mask: _Mask, probabilities: NDArray[np.float32], tokens: NDArray[np.int64], least: float
) -> str:
    """Draw one of the likely words in proportion; an empty text where there is none."""
    words = [model.tokenizer.decode([token]).strip() for token in tokens.tolist()]
    own = [
        (word, float(p))
        for word, p in zip(words, probabilities, strict=True)
        if p >= least and word and word.lower() != mask.said.lower()
    ][:CHOICES]
    if not own:
        return ""
    reach = np.cumsum([p for _, p in own])
    place = int(np.searchsorted(reach, mask.draw * reach[-1], side="right"))
    return own[min(place, len(own) - 1)][0]
