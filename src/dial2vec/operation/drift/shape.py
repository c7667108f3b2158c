"""What some dialogues look like without a look at what they say: lengths, speakers, languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dial2vec.data.validation.frames import dialogue_frame
from dial2vec.data.validation.profile import LanguageSample
from dial2vec.dialogue import Dialogue

Quartiles = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Shape:
    """Lengths, speakers and languages of some dialogues.

    :param dialogues: how many there are.
    :param compared: how many of them were drawn and looked at; the rest is about these.
    :param turns: quartiles of the turns per dialogue.
    :param words: quartiles of the words per dialogue.
    :param speakers: mean number of speakers.
    :param one_speaker: share of the dialogues with one speaker only.
    :param languages: share of each language (ISO 639-1), most frequent first.
    """

    dialogues: int
    compared: int
    turns: Quartiles
    words: Quartiles
    speakers: float
    one_speaker: float
    languages: dict[str, float]


def shape_of(dialogues: Sequence[Dialogue], *, of: int) -> Shape:
    """Return the shape of dialogues.

    :param dialogues: those that are compared; of none all figures are 0.
    :param of: how many they were drawn from.
    """
    frame, languages = dialogue_frame(dialogues), LanguageSample()
    languages.add(list(dialogues), frame)
    speakers = frame["n_speakers"].to_numpy()
    return Shape(
        dialogues=of,
        compared=len(frame),
        turns=_quartiles(frame["n_turns"]),
        words=_quartiles(frame["words"]),
        speakers=float(speakers.mean()) if len(speakers) else 0.0,
        one_speaker=float((speakers < 2).mean()) if len(speakers) else 0.0,
        languages=languages.shares(),
    )


def _quartiles(column: pd.Series) -> Quartiles:
    low, middle, high = np.quantile(column.to_numpy(), (0.25, 0.5, 0.75)) if len(column) else (0.0, 0.0, 0.0)
    return float(low), float(middle), float(high)
