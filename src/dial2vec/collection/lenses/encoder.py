"""`LensModel`, the labels that a lens has learnt, and `LensEncoder`, whose vectors are their probabilities.

A collection of such vectors groups and maps its dialogues by what happened in them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save
from scipy.special import softmax

from conversations.dialogue import Dialogue
from conversations.files import atomic_path
from dial2vec.collection.lenses.model import Floats, TurnReader, Turns, pooled, turn_scores
from dial2vec.encoder.checksums import note
from dial2vec.encoder.folder import LENS_FILE, check_files, damaged, model_folder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.protocol import Encoder, Output
from dial2vec.files import code_hash


class LensModel(NamedTuple):
    """Labels as learnt.

    :param idf: inverse document frequency of each token, float32 [V].
    :param table: weights by token, label and column (`turn_scores`), float32 [V, labels, COLUMNS].
    :param lines: slope and offset from a dialogue's pooled score to the logarithm of its odds, float64 [labels, 2].
    """

    idf: NDArray[np.float32]
    table: NDArray[np.float32]
    lines: Floats

    def scores(self, turns: Turns) -> Floats:
        """Return the score of each turn, given as counts, by each label, [turns, labels]."""
        return turn_scores(turns.weighted(self.idf), self.table).astype(float)

    def chances(self, scores: Floats) -> Floats:
        """Return the probabilities of the labels and of none by scores of turns or dialogues, [n, labels + 1].

        Labels exclude each other, so that the odds of each are compared with even odds of none.
        """
        odds = scores * self.lines[:, 0] + self.lines[:, 1]
        return np.asarray(softmax(np.concatenate([odds, np.zeros((len(odds), 1))], axis=1), axis=1))

    def read(self, turns: Turns) -> tuple[Floats, NDArray[np.int32]]:
        """Return the probabilities of each dialogue, [n, labels + 1], and turns by label, int32 [n, labels]."""
        spoken = self.scores(turns)
        best = [spoken[first:end].argmax(0) for first, end in pairwise(turns.starts)]
        return self.chances(pooled(spoken, turns.starts)), np.array(best, dtype=np.int32).reshape(len(best), -1)

    def save(self, path: Path) -> None:
        """Write the model as safetensors, atomically, with its checksum."""
        with atomic_path(path) as temporary:
            temporary.write_bytes(save({name: np.ascontiguousarray(each) for name, each in self._asdict().items()}))
        note(path)

    @classmethod
    def load(cls, path: Path) -> LensModel:
        """Read a saved model."""
        return cls(**load_file(path))


class LensEncoder(Encoder):
    """Dialogues to the probabilities of the labels of one or more lenses, and of none, less their means.

    :param lenses: name of each lens.
    :param models: model of each lens.
    :param mean: mean probability of each label and of none, lens by lens, float32 [d]: vectors are read by direction,
        and probabilities alone would all have much the same one.
    """

    BATCH = 1_024

    def __init__(self, lenses: Sequence[str], models: Sequence[LensModel], mean: NDArray[np.float32]) -> None:
        self.lenses, self.models, self.mean = tuple(lenses), tuple(models), np.asarray(mean, dtype=np.float32)
        self.name = f"lens {', '.join(lenses)}"
        self._reader = TurnReader()

    @property
    def dimension(self) -> int:
        """Number of labels of all lenses, none of each among them."""
        return len(self.mean)

    def fingerprint(self) -> str:
        """Return a hash of the lenses and the mean."""
        digest = hashlib.sha256(self.mean.tobytes())
        for array in (array for model in self.models for array in model):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def computed_by(self) -> str:
        """Return a hash of the lenses, the mean, and the code of lenses."""
        return f"{self.fingerprint()} {code_hash('collection/lenses')}"

    def save_pretrained(self, path: str | Path) -> None:
        """Write a folder that `load_of_lenses` loads."""
        with model_folder(path) as folder:
            for number, model in enumerate(self.models):
                model.save(folder / f"{number}.safetensors")
            record = {"lenses": self.lenses, "mean": self.mean.tolist()}
            (folder / LENS_FILE).write_text(json.dumps(record) + "\n", encoding="utf-8")

    def encode_list(
        self, dialogues: Sequence[Dialogue], *, output: Output, batch_size: int, progress: bool
    ) -> NDArray[np.float32] | list[NDArray[np.float32]]:
        """Encode dialogues as `encode` does, without a bar; each turn is read with the two before it."""
        if not dialogues:
            return np.zeros((0, self.dimension), dtype=np.float32) if output == "dialogue" else []
        turns = self._reader.read(dialogues)
        spoken = [model.scores(turns) for model in self.models]
        if output == "dialogue":
            return self._vectors([pooled(scores, turns.starts) for scores in spoken])
        sizes = np.diff(turns.starts)
        if output == "speakers":
            parts = [part for dialogue in dialogues for part in _by_speaker(dialogue)]
            sizes = np.array([len({turn.speaker for turn in dialogue.turns}) for dialogue in dialogues])
            starts = np.cumsum([0, *map(len, parts)])
            first = np.repeat(turns.starts[:-1], np.diff(turns.starts))
            order = first + np.concatenate(parts)
            spoken = [pooled(scores[order], starts) for scores in spoken]
        vectors = self._vectors(spoken)
        return [vectors[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]

    def encode_utterances(
        self, texts: Sequence[str], *, roles: Sequence[int] | None = None, batch_size: int = BATCH
    ) -> NDArray[np.float32]:
        """Encode texts, each as a dialogue of one turn, float32 [n, d].

        :param roles: 0 for a customer's text or the first speaker's, 1 for another's; None takes the mean of both.
        :param batch_size: no effect.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        turns = self._reader.sentences(texts)
        sides = self._vectors([model.scores(turns) for model in self.models]).reshape(2, len(texts), -1)
        return np.asarray(sides.mean(0) if roles is None else sides[np.asarray(roles), np.arange(len(texts))])

    def turn_shares(self, dialogue: Dialogue, *, towards: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Return the contribution of each turn: its cosine by the number of turns, shifted alike to their sum.

        Parameters and sums: `Encoder.turn_shares`.
        """
        own = unit_rows(self.encode(dialogue)[None])[0]
        direction = own if towards is None else unit_rows(np.asarray(towards, dtype=np.float32)[None])[0]
        cosines = unit_rows(self.encode(dialogue, output="turns")) @ direction
        return np.asarray((cosines + own @ direction - cosines.mean()) / len(cosines), dtype=np.float32)

    def _vectors(self, scores: Sequence[Floats]) -> NDArray[np.float32]:
        chances = [model.chances(own) for model, own in zip(self.models, scores, strict=True)]
        return np.concatenate(chances, axis=1).astype(np.float32) - self.mean


def load_of_lenses(folder: str | Path) -> LensEncoder:
    """Load a saved `LensEncoder`.

    :raises ModelError: if a file is damaged.
    """
    check_files(folder)
    with damaged(f"{folder} cannot be read"):
        record = json.loads((Path(folder) / LENS_FILE).read_text(encoding="utf-8"))
        models = [LensModel.load(Path(folder) / f"{number}.safetensors") for number in range(len(record["lenses"]))]
        return LensEncoder(record["lenses"], models, record["mean"])


def _by_speaker(dialogue: Dialogue) -> list[list[int]]:
    """Return the numbers of the turns of each speaker, in the order of first speaking."""
    places: dict[str, list[int]] = {}
    for number, turn in enumerate(dialogue.turns):
        places.setdefault(turn.speaker, []).append(number)
    return list(places.values())
