"""Dialogues as tables of numbers, which is what expectations look at."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dial2vec.data.words import words
from dial2vec.dialogue import Dialogue


def turn_frame(dialogues: Sequence[Dialogue]) -> pd.DataFrame:
    """Return one row per turn: place of the dialogue in `dialogues`, number of the turn, speaker, words."""
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

    Columns: dialogue_id, n_turns, n_speakers, words, split, alternation (share of its turns, the first one left out,
    that answer another speaker; NaN of a single turn), labelled, and hashes (uint64): id_hash, text_hash (it knows no
    speakers, capitals or blanks), record_hash (it knows everything).
    """
    turns = [dialogue.turns for dialogue in dialogues]
    texts = [" ".join(turn.text for turn in one) for one in turns]
    return pd.DataFrame(
        {
            "dialogue_id": pd.Series([dialogue.dialogue_id for dialogue in dialogues], dtype="str"),
            "n_turns": np.array([len(one) for one in turns], dtype=np.int32),
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
    said = [part for turn in dialogue.turns for part in (turn.speaker, turn.text)]
    # Separators that stand in no transcript.
    return "\x1e".join(("\x1f".join(said), *dialogue.labels, dialogue.split or "", dialogue.dialogue_id))


def alternation(dialogue: Dialogue) -> float:
    """Return the share of turns, the first one left out, that another speaker said than the turn before."""
    speakers = [turn.speaker for turn in dialogue.turns]
    answers = [now != before for before, now in pairwise(speakers)]
    return sum(answers) / len(answers) if answers else float("nan")


def hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return 64 bits of BLAKE2 of each text."""
    digests = b"".join(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype=np.uint64)
