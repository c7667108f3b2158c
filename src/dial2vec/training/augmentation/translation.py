"""Back-translation of every turn with two translation models, which preserves the intent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from conversations.dialogue import Dialogue, Turn
from dial2vec.draws import augmentation_rng
from dial2vec.encoder.backbone import load_with_head
from dial2vec.errors import Dial2vecError, ModelError
from dial2vec.training.augmentation.made import Made

# Sampling draws from the 50 likeliest tokens, the default of Hugging Face.
CHOICES = 50


@dataclass(frozen=True, slots=True)
class Translator:
    """A translation model with its tokenizer, as `load_translator` returns it.

    :param network: Any Hugging Face model that generates from a source text.
    :param tokenizer: Tokenizer of the model.
    :param prefix: Text before each input, such as T5's "translate English to German: ".
    :param most_tokens: Maximum length of a text and of a translation, in tokens.
    """

    network: Any
    tokenizer: Any
    prefix: str
    most_tokens: int


def load_translator(
    name: str | Path, *, prefix: str = "", most_tokens: int = 256, device: str | None = None
) -> Translator:
    """Load a Hugging Face translation model by name or folder, such as a Marian model or T5.

    :param device: Device of the network; None takes a GPU if there is one.
    :raises ModelError: if the model cannot be loaded, lacks parameters, or needs language codes.
    """
    folder, tokenizer, network = load_with_head(
        name, "AutoModelForSeq2SeqLM", kind="translation model", example="Helsinki-NLP/opus-mt-en-de"
    )
    if hasattr(tokenizer, "src_lang"):
        raise ModelError(
            f"{folder} translates between many languages and needs language codes, which is not supported. Give a "
            "model for one pair of languages, such as Helsinki-NLP/opus-mt-en-de."
        )
    if network.generation_config.decoder_start_token_id is None and network.generation_config.bos_token_id is None:
        raise ModelError(
            f"{folder} does not say with which token a translation begins. Set decoder_start_token_id in its "
            "generation_config.json."
        )
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return Translator(network.to(device).eval(), tokenizer, prefix, most_tokens)


@dataclass(frozen=True, slots=True)
class BackTranslation:
    """Two translators: from the dialogues' language into another language, and back."""

    forward: Translator
    back: Translator


def back_translated(
    models: BackTranslation,
    dialogues: Sequence[Dialogue],
    *,
    seed: int,
    beams: int = 4,
    temperature: float | None = None,
    batch_size: int = 16,
) -> list[Made]:
    """Translate every turn into another language and back. A turn that is too long or comes back blank stays.

    :param beams: Width of the beam search; 1 takes the likeliest token at each step.
    :param temperature: Temperature, > 0, of sampling from the 50 likeliest tokens instead of beam search; None does not
        sample.
    :raises Dial2vecError: if the number of beams, the temperature or the batch size is out of range.
    """
    if beams < 1 or batch_size < 1:
        raise Dial2vecError(f"beams is {beams} and batch_size {batch_size}; expected at least 1 of each.")
    if temperature is not None and not temperature > 0:
        raise Dial2vecError(f"temperature is {temperature}; expected a number above 0, or None to draw nothing.")
    owners = [(d, t) for d, dialogue in enumerate(dialogues) for t in range(len(dialogue.turns))]
    texts = [dialogues[d].turns[t].text for d, t in owners]
    for name, model in (("there", models.forward), ("back", models.back)):
        # Each turn has its own random generator, so its batch changes nothing.
        rngs = [augmentation_rng(seed, "translation", name, dialogues[d].dialogue_id, str(t)) for d, t in owners]
        texts = _translated(model, texts, rngs, beams, temperature, batch_size)
    turns: list[list[Turn]] = [[] for _ in dialogues]
    for (d, t), text in zip(owners, texts, strict=True):
        own = dialogues[d].turns[t]
        turns[d].append(Turn(own.speaker, text or own.text))
    return [
        Made(replace(dialogue, turns=tuple(translated)))
        if tuple(translated) != dialogue.turns
        else Made(dialogue, "every turn came back unchanged or blank, or was too long")
        for dialogue, translated in zip(dialogues, turns, strict=True)
    ]


@torch.inference_mode()
def _translated(
    model: Translator,
    texts: Sequence[str],
    rngs: Sequence[np.random.Generator],
    beams: int,
    temperature: float | None,
    batch_size: int,
) -> list[str]:
    """Translate texts; a blank or too long text becomes blank."""
    encoded = [model.tokenizer(model.prefix + text)["input_ids"] if text else [] for text in texts]
    fitting = [place for place, ids in enumerate(encoded) if 0 < len(ids) <= model.most_tokens]
    # Longest first: little padding, and too little memory fails at once.
    fitting.sort(key=lambda place: -len(encoded[place]))
    translated = [""] * len(texts)
    for first in range(0, len(fitting), batch_size):
        rows = fitting[first : first + batch_size]
        batch = model.tokenizer.pad({"input_ids": [encoded[row] for row in rows]}, return_tensors="pt")
        drawing = [] if temperature is None else [_Drawing([rngs[row] for row in rows], temperature)]
        generated = model.network.generate(
            **batch.to(model.network.device),
            num_beams=1 if temperature else beams,
            do_sample=False,
            max_new_tokens=model.most_tokens,
            max_length=None,
            logits_processor=drawing,
        )
        for row, text in zip(rows, model.tokenizer.batch_decode(generated, skip_special_tokens=True), strict=True):
            translated[row] = text.strip()
    return translated


class _Drawing:
    """Sampling by Gumbel noise: the largest of logits / T plus noise is a draw from their softmax.

    Each row has its own noise. The draws of `generate(do_sample=True)` would depend on the other rows of the batch.
    """

    def __init__(self, rngs: Sequence[np.random.Generator], temperature: float) -> None:
        self.rngs, self.temperature = rngs, temperature

    def __call__(self, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores with noise, both [rows, v].

        :param ids: Generated ids so far, which are ignored.
        """
        best = scores.topk(min(CHOICES, scores.shape[1]), dim=1)
        noise = np.stack([rng.gumbel(size=best.values.shape[1]) for rng in self.rngs])
        noisy = best.values / self.temperature + torch.from_numpy(noise).to(scores)
        return torch.full_like(scores, -torch.inf).scatter(1, best.indices, noisy)
