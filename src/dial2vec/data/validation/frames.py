"""Dialogues as data frames, which expectations check."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.words import words


def turn_frame(dialogues: Sequence[Dialogue]) -> pd.DataFrame:
    """Return one row per turn: place of its dialogue, turn number from 1, speaker, number of words."""
    places = np.repeat(np.arange(len(dialogues)), [len(dialogue.turns) for dialogue in dialogues])
    turns = [turn for dialogue in dialogues for turn in dialogue.turns]
    numbers = [number for dialogue in dialogues for number in range(1, len(dialogue.turns) + 1)]
    return pd.DataFrame(
        {
            "place": places,
            "turn": np.array(numbers, dtype=np.int64),
            "speaker": pd.Series([turn.speaker for turn in turns], dtype="str"),
            "words": np.array([len(words(turn.text)) for turn in turns], dtype=np.int64),
        }
    )


def dialogue_frame(dialogues: Sequence[Dialogue]) -> pd.DataFrame:
    """Return one row per dialogue.

    Columns: dialogue_id, n_turns, n_speakers, words, split, alternation, labelled, and the uint64 hashes id_hash,
    text_hash (ignores speakers, capitals and white space) and record_hash (of the whole record).
    """
    texts = [dialogue.text for dialogue in dialogues]
    return pd.DataFrame(
        {
            "dialogue_id": pd.Series([dialogue.dialogue_id for dialogue in dialogues], dtype="str"),
            "n_turns": np.array([len(dialogue.turns) for dialogue in dialogues], dtype=np.int32),
            "n_speakers": np.array([dialogue.n_speakers for dialogue in dialogues], dtype=np.int32),
            "words": np.array([len(words(text)) for text in texts], dtype=np.int32),
            "split": pd.Series([dialogue.split or "none" for dialogue in dialogues], dtype="str"),
            "alternation": np.array([alternation(dialogue) for dialogue in dialogues], dtype=np.float32),
            "labelled": np.array([bool(dialogue.labels) for dialogue in dialogues], dtype=bool),
            "id_hash": hashes([dialogue.dialogue_id for dialogue in dialogues]),
            "text_hash": hashes([" ".join(text.lower().split()) for text in texts]),
            "record_hash": hashes([_whole(dialogue) for dialogue in dialogues]),
        }
    )


def _whole(dialogue: Dialogue) -> str:
    parts = [part for turn in dialogue.turns for part in (turn.speaker, turn.text)]
    # Separators that occur in no transcript.
    return "\x1e".join(("\x1f".join(parts), *dialogue.labels, dialogue.split or "", dialogue.dialogue_id))


def alternation(dialogue: Dialogue) -> float:
    """Return the share of turns after the first whose speaker differs from the previous turn's; NaN for 1 turn."""
    speakers = [turn.speaker for turn in dialogue.turns]
    answers = [now != before for before, now in pairwise(speakers)]
    return sum(answers) / len(answers) if answers else float("nan")


def hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return 64 bits of BLAKE2 of each text."""
    digests = b"".join(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype=np.uint64)
