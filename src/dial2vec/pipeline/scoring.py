"""Options of k-means for the figures of a corpus, from block `evaluate`."""

from __future__ import annotations

from typing import Any

from dial2vec.config import Settings
from dial2vec.files import read_json
from dial2vec.pipeline.artifacts import Artifacts


def scoring(artifacts: Artifacts, settings: Settings) -> dict[str, Any]:
    """Return the options of k-means for `measure`: runs, seed, way and number of clusters.

    With `evaluate.clusters: corpus` this is the number of labels in all splits together, None otherwise.
    """
    options = settings.evaluate
    n_clusters = n_labels(artifacts) if options.clusters == "corpus" else None
    return {"runs": options.kmeans_runs, "seed": settings.seed, "way": options.kmeans, "n_clusters": n_clusters}


def n_labels(artifacts: Artifacts) -> int:
    """Return the number of different labels in train, dev and test together; a dialogue of several labels is left out.

    :raises ArtifactError: if the record of stage prepare cannot be read.
    """
    by_split = read_json(artifacts.split_report).get("labels", {})
    return len({label for counts in by_split.values() for label in counts})
