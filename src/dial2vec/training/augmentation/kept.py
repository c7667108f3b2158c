"""Variants of many dialogues, saved block by block, so that later runs and restarts reuse them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from conversations.dialogue import Dialogue, Turn
from conversations.files import read_json, write_json
from dial2vec.errors import ArtifactError
from dial2vec.training.augmentation import Tools, augment

# Dialogues per file. A masked language model needs some seconds for 50 on a CPU.
BLOCK = 50

log = logging.getLogger(__name__)


def kept_variants(
    dialogues: Sequence[Dialogue], way: str, *, tools: Callable[[], Tools], seed: int, folder: Path
) -> list[Dialogue | None]:
    """Return one variant per dialogue, or None if the way changes nothing, and save every 50 of them in `folder`.

    :param way: Name from `WAYS`.
    :param tools: Function that returns the tools of the way; called only if variants are missing.
    :param folder: Folder claimed for exactly these dialogues, tools and seed (`files.claim`).
    """
    variants: list[Dialogue | None] = []
    for first in range(0, len(dialogues), BLOCK):
        block, path = dialogues[first : first + BLOCK], folder / f"{way}-{first:08d}.json"
        turns = _read(path)
        if turns is None:
            made = augment(block, [way], tools=tools(), seed=seed)
            turns = [_pairs(variant.dialogue) if variant.changed else None for [variant] in made]
            write_json(path, turns)
            log.info("%s: %d of %d dialogues", way, first + len(block), len(dialogues))
        variants += [_variant(dialogue, own) for dialogue, own in zip(block, turns, strict=True)]
    return variants


def _read(path: Path) -> list[Any] | None:
    try:
        return list(read_json(path))
    except ArtifactError:
        return None


def _pairs(dialogue: Dialogue) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for turn in dialogue.turns]


def _variant(original: Dialogue, turns: Sequence[tuple[str, str]] | None) -> Dialogue | None:
    return None if turns is None else replace(original, turns=tuple(Turn(*pair) for pair in turns))
