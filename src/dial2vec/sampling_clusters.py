"""Clusters of similar dialogues by the starting encoder, among which negatives can be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans
from sklearn.preprocessing import normalize

from dial2vec.config import Encoder
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.vector_cache import kept_vectors

# On average, which is enough to draw from: 50 dialogues lend some 300 turns of each role.
DIALOGUES_PER_CLUSTER = 50
# In a smaller cluster a dialogue would mostly be drawn from itself.
LEAST_DIALOGUES = 10
# More of them would take longer than the square of the corpus allows.
MOST_CLUSTERS = 1000


def cluster_dialogues(
    dialogues: Sequence[Dialogue], *, encoder: Encoder, seed: int, vectors: Path
) -> NDArray[np.int64]:
    """Return the cluster of each dialogue, int64 [n], from 0 on: k-means by cosine, about 50 dialogues in each, and
    10 at least where the corpus has them.

    :param encoder: settings of the starting encoder.
    :param vectors: folder in which the start's vectors are kept.
    """
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
