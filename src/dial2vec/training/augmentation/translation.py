"""Back-translation of every turn with two translation models, which preserves the intent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from conversations.dialogue import Dialogue, Turn
from dial2vec.encoder.backbone import load_with_head
from dial2vec.errors import ModelError

# Width of the beam search, turns translated at a time, and the most tokens of a text and of its translation.
BEAMS, BATCH, MOST_TOKENS = 4, 16, 256


@dataclass(frozen=True, slots=True)
class Translator:
    """A translation model with its tokenizer, as `load_translator` returns it.

    :param network: Any Hugging Face model that generates from a source text.
    """

    network: Any
    tokenizer: Any


def load_translator(name: str | Path) -> Translator:
    """Load a Hugging Face translation model by name or folder, such as a Marian model; onto a GPU if there is one.

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
    return Translator(network.to("cuda" if torch.cuda.is_available() else "cpu").eval(), tokenizer)


@dataclass(frozen=True, slots=True)
class BackTranslation:
    """Two translators: from the dialogues' language into another language, and back."""

    forward: Translator
    back: Translator


def back_translated(models: BackTranslation, dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    """Translate every turn into another language and back. A turn that is too long or comes back blank stays."""
    owners = [(d, t) for d, dialogue in enumerate(dialogues) for t in range(len(dialogue.turns))]
    texts = [dialogues[d].turns[t].text for d, t in owners]
    for model in (models.forward, models.back):
        texts = _translated(model, texts)
    turns: list[list[Turn]] = [[] for _ in dialogues]
    for (d, t), text in zip(owners, texts, strict=True):
        own = dialogues[d].turns[t]
        turns[d].append(Turn(own.speaker, text or own.text))
    return [replace(dialogue, turns=tuple(own)) for dialogue, own in zip(dialogues, turns, strict=True)]


@torch.inference_mode()
def _translated(model: Translator, texts: Sequence[str]) -> list[str]:
    """Translate texts; a blank or too long text becomes blank."""
    encoded = [model.tokenizer(text)["input_ids"] if text else [] for text in texts]
    fitting = [place for place, ids in enumerate(encoded) if 0 < len(ids) <= MOST_TOKENS]
    # Longest first: little padding, and too little memory fails at once.
    fitting.sort(key=lambda place: -len(encoded[place]))
    translated = [""] * len(texts)
    for first in range(0, len(fitting), BATCH):
        rows = fitting[first : first + BATCH]
        batch = model.tokenizer.pad({"input_ids": [encoded[row] for row in rows]}, return_tensors="pt")
        generated = model.network.generate(
            **batch.to(model.network.device),
            num_beams=BEAMS,
            do_sample=False,
            max_new_tokens=MOST_TOKENS,
            max_length=None,
        )
        for row, text in zip(rows, model.tokenizer.batch_decode(generated, skip_special_tokens=True), strict=True):
            translated[row] = text.strip()
    return translated
