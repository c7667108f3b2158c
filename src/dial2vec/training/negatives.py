"""Negatives of the self-guided task, as indices into the training split (Liu et al. 2022, section 3.1)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dial2vec.config import Encoder
from dial2vec.dialogue import Dialogue
from dial2vec.errors import ArtifactError
from dial2vec.files import atomic_path

KeepRole = Literal["random", "first", "second"]

# On average, which is enough to draw from: 50 dialogues lend some 300 turns of each role.
DIALOGUES_PER_CLUSTER = 50
# In a smaller cluster a dialogue would mostly be drawn from itself.
LEAST_DIALOGUES = 10
# More of them would take longer than the square of the corpus allows.
MOST_CLUSTERS = 1000


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
    train: Iterable[Dialogue],
    *,
    negatives: int,
    passes: int,
    keep_role: KeepRole,
    min_turns: int,
    seed: int,
    clusters: NDArray[np.int64] | None = None,
) -> Samples:
    """Draw the negatives of every dialogue that can train.

    A dialogue can train when it has at least `min_turns` turns and two speakers. For a negative, one role keeps its
    turns and each turn of every other role is replaced by a turn drawn uniformly from all turns of that role in the
    whole training split, or in the dialogue's own cluster.

    :param train: the training split; read once, and of each dialogue only who speaks when is kept.
    :param negatives: N - 1, negatives per dialogue and pass (the paper: 9).
    :param passes: how often each dialogue is used per epoch, each time with fresh negatives (the release: 10).
    :param keep_role: "random" draws the kept role per negative (the paper), "first" and "second" fix it
        (the release keeps one fixed role throughout).
    :param seed: each pass draws from its own stream, so pass 0 is the same whatever `passes` is.
    :param clusters: int64 [n], the cluster of each dialogue of the training split, from 0 on; None draws from all.
        Negatives of the own cluster share topic and style with the dialogue, so that neither tells them apart.
    """
    lengths, speakers, roles = _who_speaks(train)
    first = np.concatenate([[0], np.cumsum(lengths)])
    pools = Pools.of(roles, clusters if clusters is None else np.repeat(clusters, lengths))
    used = np.flatnonzero((lengths >= min_turns) & (speakers > 1))
    n_turns = lengths[used]
    columns = np.repeat(first[used] - np.cumsum(n_turns) + n_turns, n_turns) + np.arange(n_turns.sum())
    owner = np.repeat(np.arange(len(used), dtype=np.int32), n_turns)
    drawn = np.empty((passes, negatives, len(columns)), dtype=np.int32)
    kept = np.empty((passes, negatives, len(used)), dtype=np.int16)
    for index in range(passes):
        rng = np.random.default_rng([seed, index])
        if keep_role == "random":
            kept[index] = rng.integers(0, speakers[used], size=(negatives, len(used)))
        else:
            kept[index] = 0 if keep_role == "first" else 1
        drawn[index] = columns
        for role in range(pools.n_roles):
            turns = np.flatnonzero(roles[columns] == role)
            # Negative by negative: the draws of a million dialogues at once would be gigabytes.
            for negative in range(negatives):
                places = turns[kept[index, negative, owner[turns]] != role]
                drawn[index, negative, places] = pools.draw(columns[places], role, rng)
    return Samples(used.astype(np.int32), np.concatenate([[0], np.cumsum(n_turns)]).astype(np.int64), drawn, kept)


def _who_speaks(train: Iterable[Dialogue]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int16]]:
    """Return turns and speakers per dialogue, int64 [n], and the role of every turn, int16."""
    lengths, speakers, roles = array("q"), array("q"), array("h")
    for dialogue in train:
        said = dialogue.roles
        lengths.append(len(said))
        speakers.append(max(said) + 1)
        roles.extend(said)
    return np.array(lengths, dtype=np.int64), np.array(speakers, dtype=np.int64), np.array(roles, dtype=np.int16)


@dataclass(frozen=True, slots=True)
class Pools:
    """The turns of each role that may stand in for one another: all of them, or those of one cluster.

    :param n_roles: number of roles.
    :param turns: of each role, its turns, sorted by cluster.
    :param cluster: cluster of every turn of the training split; None when there is one pool per role.
    :param first: of each role, where each cluster begins in `turns`, and where the last one ends.
    """

    n_roles: int
    turns: list[NDArray[np.int32]]
    cluster: NDArray[np.int64] | None
    first: list[NDArray[np.int64]]

    @classmethod
    def of(cls, roles: NDArray[np.int16], cluster: NDArray[np.int64] | None) -> Pools:
        """Sort the turns into pools.

        :param roles: of every turn of the training split.
        :param cluster: of every turn likewise.
        """
        n_roles = int(roles.max(initial=-1)) + 1
        turns = [np.flatnonzero(roles == role) for role in range(n_roles)]
        first = []
        if cluster is not None:
            turns = [found[np.argsort(cluster[found], kind="stable")] for found in turns]
            bounds = np.arange(int(cluster.max(initial=-1)) + 2)
            first = [np.searchsorted(cluster[found], bounds) for found in turns]
        return cls(n_roles, [found.astype(np.int32) for found in turns], cluster, first)

    def draw(self, turns: NDArray[np.int64], role: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw a stand-in for each of some turns of one role, uniformly from its pool."""
        if self.cluster is None:
            return self.turns[role][rng.integers(0, len(self.turns[role]), size=len(turns))]
        clusters, first = self.cluster[turns], self.first[role]
        return self.turns[role][rng.integers(first[clusters], first[clusters + 1])]


def cluster_dialogues(
    dialogues: Sequence[Dialogue], *, encoder: Encoder, seed: int, vectors: Path
) -> NDArray[np.int64]:
    """Return the cluster of each dialogue, int64 [n], from 0 on: k-means by cosine, about 50 dialogues in each, and
    10 at least where the corpus has them.

    :param encoder: settings of the starting encoder.
    :param vectors: folder in which the start's vectors are kept.
    """
    # Imported here: drawing negatives from all dialogues needs no encoder.
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.preprocessing import normalize

    from dial2vec.encoder import DialogueEncoder
    from dial2vec.encoder.vector_cache import kept_vectors

    start = DialogueEncoder.start(encoder)
    units = normalize(kept_vectors(start, dialogues, folder=vectors, precision="auto"))
    n_clusters = min(max(1, len(dialogues) // DIALOGUES_PER_CLUSTER), MOST_CLUSTERS)
    fitted = MiniBatchKMeans(n_clusters, random_state=seed, n_init=3, batch_size=4096).fit(units)
    sizes = np.bincount(fitted.labels_, minlength=n_clusters)
    # The dialogues of a small cluster go to the nearest one that is large enough.
    large = np.flatnonzero(sizes >= min(LEAST_DIALOGUES, len(dialogues)))
    moved = np.flatnonzero(~np.isin(fitted.labels_, large)) if len(large) else np.zeros(0, dtype=np.int64)
    found = fitted.labels_.astype(np.int64)
    found[moved] = large[(units[moved] @ fitted.cluster_centers_[large].T).argmax(axis=1)]
    return np.unique(found, return_inverse=True)[1].astype(np.int64)
