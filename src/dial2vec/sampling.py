"""Negatives of the self-guided task, as indices into the training split (Liu et al. 2022, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dial2vec.dialogue import Dialogue
from dial2vec.errors import ArtifactError
from dial2vec.files import atomic_path

KeepRole = Literal["random", "first", "second"]


@dataclass(frozen=True, slots=True)
class Samples:
    """Which dialogues train, and their negatives.

    Turns are numbered through the whole training split, first dialogue first. A negative lists, for each turn of
    its dialogue, the number of the turn whose text stands there: its own number where the role is kept.

    :param dialogues: int32 [m], places in the training split of the dialogues that train.
    :param first_turn: int64 [m + 1]; dialogue i's turns are columns `first_turn[i]:first_turn[i + 1]` of `negatives`.
    :param negatives: int32 [passes, N - 1, columns].
    :param kept: int16 [passes, N - 1, m], the role that was kept.
    """

    dialogues: NDArray[np.int32]
    first_turn: NDArray[np.int64]
    negatives: NDArray[np.int32]
    kept: NDArray[np.int16]

    def save(self, path: Path) -> None:
        """Write to one `.npz` file, atomically."""
        with atomic_path(path) as temporary, temporary.open("wb") as handle:
            np.savez(
                handle, dialogues=self.dialogues, first_turn=self.first_turn, negatives=self.negatives, kept=self.kept
            )

    @classmethod
    def load(cls, path: Path) -> Samples:
        """Read what `save` wrote.

        :raises ArtifactError: when the file is missing or half-written.
        """
        try:
            with np.load(path) as file:
                return cls(**{name: file[name] for name in cls.__slots__})
        except FileNotFoundError as error:
            raise ArtifactError(f"{path} does not exist; stage `sample` writes it. Run `make run`.") from error
        except (BadZipFile, ValueError, KeyError, EOFError) as error:
            raise ArtifactError(
                f"{path} is not a whole file of samples ({error}). Delete it and run `make run`."
            ) from error


def draw_samples(
    train: Sequence[Dialogue], *, negatives: int, passes: int, keep_role: KeepRole, min_turns: int, seed: int
) -> Samples:
    """Draw the negatives of every dialogue that can train.

    A dialogue can train when it has at least `min_turns` turns and two speakers. For a negative, one role keeps its
    turns and each turn of every other role is replaced by a turn drawn uniformly from all turns of that role in the
    whole training split.

    :param negatives: N - 1, negatives per dialogue and pass (the paper: 9).
    :param passes: how often each dialogue is used per epoch, each time with fresh negatives (the release: 10).
    :param keep_role: "random" draws the kept role per negative (the paper), "first" and "second" fix it
        (the release keeps one fixed role throughout).
    :param seed: each pass draws from its own stream, so pass 0 is the same whatever `passes` is.
    """
    lengths = np.array([len(dialogue.turns) for dialogue in train], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(lengths)])
    roles = np.array([role for dialogue in train for role in dialogue.roles], dtype=np.int16)
    pools = [np.flatnonzero(roles == role).astype(np.int32) for role in range(int(roles.max(initial=-1)) + 1)]
    speakers = np.array([dialogue.n_speakers for dialogue in train], dtype=np.int64)
    used = np.flatnonzero((lengths >= min_turns) & (speakers > 1))
    columns = np.concatenate([np.arange(first[i], first[i + 1]) for i in used] or [np.zeros(0, np.int64)])
    n_turns = lengths[used]
    drawn = np.empty((passes, negatives, len(columns)), dtype=np.int32)
    kept = np.empty((passes, negatives, len(used)), dtype=np.int16)
    for index in range(passes):
        rng = np.random.default_rng([seed, index])
        if keep_role == "random":
            kept[index] = rng.integers(0, speakers[used], size=(negatives, len(used)))
        else:
            kept[index] = 0 if keep_role == "first" else 1
        replaced = np.repeat(kept[index], n_turns, axis=1) != roles[columns]
        drawn[index] = columns
        for role, pool in enumerate(pools):
            places = replaced & (roles[columns] == role)
            drawn[index][places] = pool[rng.integers(0, len(pool), size=int(places.sum()))]
    return Samples(used.astype(np.int32), np.concatenate([[0], np.cumsum(n_turns)]).astype(np.int64), drawn, kept)
