"""How close random questions come to a collection, so that a search can say that nothing is close."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, Turn
from conversations.files import read_json, write_checked_json
from dial2vec.collection.collection_folder import CollectionFolder, mended_by_index
from dial2vec.collection.search.exact import unit_vector
from dial2vec.collection.search.turns import TurnVectors
from dial2vec.collection.search.words import WordIndex
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.protocol import Encoder

# Random questions, their words, and the share of them that counts as far away.
QUESTIONS, LENGTHS, SHARE = 200, (2, 12), 0.75
# Words of turns that are asked, and dialogues from which it is taken how near the nearer half of all is.
SENTENCES, SAMPLE = (4, 12), 2_000
# Growth after which it is measured again, and rows compared at a time.
GROWN, BLOCK = 1.2, 4_096


@dataclass(frozen=True, slots=True)
class Calibration:
    """The content of `calibration.json`: what a random question comes near to, at most.

    :param turn: cosine with the nearest turn that 75 of 100 random questions do not exceed, in [-1, 1], nor half of
        the collection's own sentences with a turn of the dialogues that are about other things.
    :param theme: cosine with the nearest dialogue that 75 of 100 random questions do not exceed.
    :param dialogues: number of dialogues when it was measured.
    """

    turn: float
    theme: float
    dialogues: int

    def is_close(self, turn: float, theme: float) -> bool:
        """Return False if a question comes as near to the turns and to the dialogues as random questions do."""
        return turn > self.turn or theme > self.theme


def read_calibration(collection: CollectionFolder) -> Calibration | None:
    """Return the calibration of a collection; None if there is none."""
    path = collection.folder / "turns" / "calibration.json"
    with mended_by_index():
        return Calibration(**read_json(path)) if path.exists() else None
    return None


def calibrate(
    collection: CollectionFolder, encoder: Encoder, turns: TurnVectors, words: WordIndex, *, seed: int = 1
) -> Calibration | None:
    """Ask random questions, store how near they come, and return it; None if no turn has a word.

    A random question is made of 2 to 12 words of the collection, each word as likely as any other. Sentences come
    nearer to each other than such words do, whatever they are about; so turns are asked, too, and compared with the
    half of the dialogues that is less like their own. It is measured again only if the collection has grown by a fifth.

    :param seed: random seed of the questions.
    """
    existing, vocabulary = read_calibration(collection), words.vocabulary
    if existing is not None and len(collection) <= GROWN * existing.dialogues:
        return existing
    if not vocabulary:
        return None
    rng = np.random.default_rng(seed)
    lengths = rng.integers(LENGTHS[0], LENGTHS[1] + 1, size=QUESTIONS)
    asked = [" ".join(vocabulary[at] for at in rng.integers(len(vocabulary), size=n)) for n in lengths]
    of_turns = unit_rows(turns.encoder.encode_utterances(asked)).astype(np.float32)
    dialogues = [Dialogue(str(at), (Turn("query", text),)) for at, text in enumerate(asked)]
    of_themes = np.stack([unit_vector(vector) for vector in encoder.encode(dialogues)])
    nearest_turn = _largest(turns.record.turns, lambda rows: turns.cosines(of_turns, rows))
    nearest = _largest(len(collection), lambda rows: collection.vectors[rows] @ of_themes.T)
    turn = max(float(np.quantile(nearest_turn, SHARE)), _across_topics(collection, turns, rng))
    calibration = Calibration(turn, float(np.quantile(nearest, SHARE)), len(collection))
    write_checked_json(collection.folder / "turns" / "calibration.json", asdict(calibration))
    return calibration


def _across_topics(collection: CollectionFolder, turns: TurnVectors, rng: np.random.Generator) -> float:
    """Return the median cosine of turns of a few words with the nearest turn of the less similar half of dialogues.

    :return: -1 if there are no such turns.
    """
    rows = np.sort(rng.permutation(len(collection))[:QUESTIONS])
    asked = [
        (row, turns.starts[row] + rng.choice(places))
        for row, dialogue in zip(rows, collection.dialogues(rows.tolist()), strict=True)
        if (places := [at for at, turn in enumerate(dialogue.turns) if _is_sentence(turn.text)])
    ]
    if not asked:
        return -1.0
    own, units = collection.vectors[[row for row, _ in asked]], turns.vectors(np.array([turn for _, turn in asked]))
    some = rng.permutation(len(collection))[:SAMPLE]
    limits = np.median(collection.vectors[np.sort(some)] @ own.T, axis=0)

    def cosines(places: NDArray[np.int64]) -> NDArray[np.float32]:
        of = np.searchsorted(turns.starts, places, side="right") - 1
        known, back = np.unique(of, return_inverse=True)
        other = (collection.vectors[known] @ own.T <= limits)[back]
        return np.where(other, turns.cosines(units, places), np.float32(-1))

    return float(np.median(_largest(turns.record.turns, cosines)))


def _is_sentence(text: str) -> bool:
    return SENTENCES[0] <= len(text.split()) <= SENTENCES[1]


def _largest(n: int, cosines: Callable[[NDArray[np.int64]], NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the largest cosine of each question with n rows, [questions], block by block."""
    blocks = (np.arange(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK))
    return np.max([cosines(rows).max(0) for rows in blocks], axis=0)
