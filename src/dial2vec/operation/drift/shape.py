"""Shape of a set of dialogues, apart from their content: lengths, speakers, languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conversations.dialogue import Dialogue
from dial2vec.data.validation.frames import dialogue_frame
from dial2vec.data.validation.profile import LanguageSample

Quartiles = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Shape:
    """Lengths, speakers and languages of a set of dialogues.

    :param dialogues: Number of all dialogues.
    :param compared: Number of drawn dialogues, which the other figures describe.
    :param turns: Quartiles of the turns per dialogue.
    :param words: Quartiles of the words per dialogue.
    :param speakers: Mean number of speakers.
    :param one_speaker: Share of the dialogues with only one speaker.
    :param languages: Share of each language (ISO 639-1), most frequent first.
    """

    dialogues: int
    compared: int
    turns: Quartiles
    words: Quartiles
    speakers: float
    one_speaker: float
    languages: dict[str, float]


def shape_of(dialogues: Sequence[Dialogue], *, total: int) -> Shape:
    """Return the shape of dialogues.

    :param dialogues: Drawn dialogues; without any, all figures are 0.
    :param total: Number of dialogues from which they were drawn.
    """
    frame, languages = dialogue_frame(dialogues), LanguageSample()
    languages.add(list(dialogues), frame)
    speakers = frame["n_speakers"].to_numpy()
    return Shape(
        dialogues=total,
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
