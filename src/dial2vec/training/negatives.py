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

from conversations.dialogue import Dialogue
from conversations.files import atomic_path
from dial2vec.config import EncoderSettings
from dial2vec.errors import ArtifactError

KeepRole = Literal["random", "first", "second"]

# Mean size of a cluster: 50 dialogues have about 300 turns of each role, enough to draw from.
DIALOGUES_PER_CLUSTER = 50
# In a smaller cluster most draws would be from the dialogue itself.
SMALLEST_CLUSTER = 10
# With more, the time of k-means would grow with the square of the corpus.
MOST_CLUSTERS = 1000


@dataclass(frozen=True, slots=True)
class Samples:
    """Which dialogues train, and their negatives.

    Turns are numbered through the whole training split, first dialogue first. A negative lists, for each turn of
    its dialogue, the number of the turn that replaces it; a turn of the kept role has its own number.

    :param dialogues: Places in the training split of the dialogues that train, int32 [m].
    :param first_turn: int64 [m + 1]; dialogue i's turns are columns `first_turn[i]:first_turn[i + 1]` of `negatives`.
    :param negatives: Turn numbers, int32 [passes, N - 1, columns].
    :param kept: Role that was kept, int16 [passes, N - 1, m].
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
        """Read a file that `save` wrote.

        :raises ArtifactError: if the file is missing or half-written.
        """
        try:
            with np.load(path) as file:
                return cls(**{name: file[name] for name in cls.__slots__})
        except FileNotFoundError as error:
            raise ArtifactError(f"{path} does not exist; stage `sample` writes it. Run `dial2vec run`.") from error
        except (BadZipFile, ValueError, KeyError, EOFError) as error:
            raise ArtifactError(
                f"{path} is not a whole file of samples ({error}). Delete it and run `dial2vec run`."
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

    A dialogue can train if it has at least `min_turns` turns and two speakers. In a negative, one role keeps its
    turns. Each turn of every other role is replaced by a turn drawn uniformly from all turns of that role in the
    whole training split, or in the dialogue's own cluster.

    :param train: Training split; read once, and only the speakers of its turns are kept in memory.
    :param negatives: N - 1, negatives per dialogue and pass (the release: 9; the paper gives no number).
    :param passes: Uses of each dialogue per epoch, each with new negatives (the release: 10).
    :param keep_role: "random" draws the kept role per negative (the paper), "first" and "second" fix it
        (the release keeps one fixed role throughout).
    :param min_turns: Shortest dialogue in turns.
    :param seed: Seed; each pass draws from its own stream, so pass 0 does not depend on `passes`.
    :param clusters: Cluster of each dialogue of the training split, int64 [n], from 0; None draws from all dialogues.
        Negatives from the own cluster share topic and style with the dialogue, so neither gives them away.
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
        own = dialogue.roles
        lengths.append(len(own))
        speakers.append(max(own) + 1)
        roles.extend(own)
    return np.array(lengths, dtype=np.int64), np.array(speakers, dtype=np.int64), np.array(roles, dtype=np.int16)


@dataclass(frozen=True, slots=True)
class Pools:
    """The turns of each role that can replace one another: all of them, or those of one cluster.

    :param turns: Turns of each role, sorted by cluster.
    :param cluster: Cluster of every turn of the training split; None if there is one pool per role.
    :param first: Start of each cluster in `turns`, and end of the last one, for each role.
    """

    n_roles: int
    turns: list[NDArray[np.int32]]
    cluster: NDArray[np.int64] | None
    first: list[NDArray[np.int64]]

    @classmethod
    def of(cls, roles: NDArray[np.int16], cluster: NDArray[np.int64] | None) -> Pools:
        """Sort the turns into pools.

        :param roles: Role of every turn of the training split.
        :param cluster: Cluster of every turn; None is one pool per role.
        """
        n_roles = int(roles.max(initial=-1)) + 1
        turns = [np.flatnonzero(roles == role) for role in range(n_roles)]
        first = []
        if cluster is not None:
            turns = [own[np.argsort(cluster[own], kind="stable")] for own in turns]
            bounds = np.arange(int(cluster.max(initial=-1)) + 2)
            first = [np.searchsorted(cluster[own], bounds) for own in turns]
        return cls(n_roles, [own.astype(np.int32) for own in turns], cluster, first)

    def draw(self, turns: NDArray[np.int64], role: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw a replacement for each of some turns of one role, uniformly from its pool."""
        if self.cluster is None:
            return self.turns[role][rng.integers(0, len(self.turns[role]), size=len(turns))]
        clusters, first = self.cluster[turns], self.first[role]
        return self.turns[role][rng.integers(first[clusters], first[clusters + 1])]


def cluster_dialogues(
    dialogues: Sequence[Dialogue], *, encoder: EncoderSettings, seed: int, vectors: Path
) -> NDArray[np.int64]:
    """Return the cluster of each dialogue, int64 [n], from 0: k-means by cosine with about 50 dialogues per cluster.

    No cluster has fewer than 10 dialogues, unless the corpus has.

    :param encoder: Settings of the base encoder.
    :param vectors: Folder that keeps the base encoder's vectors.
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
    # The dialogues of a small cluster move to the nearest large cluster.
    large = np.flatnonzero(sizes >= min(SMALLEST_CLUSTER, len(dialogues)))
    moved = np.flatnonzero(~np.isin(fitted.labels_, large)) if len(large) else np.zeros(0, dtype=np.int64)
    clusters = fitted.labels_.astype(np.int64)
    clusters[moved] = large[(units[moved] @ fitted.cluster_centers_[large].T).argmax(axis=1)]
    return np.unique(clusters, return_inverse=True)[1].astype(np.int64)
