"""What is measured, and with which options of k-means: block `evaluate`, for stage evaluate and for promotion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conversations.dialogue import Dialogue, read_dialogues
from conversations.files import read_json
from dial2vec.config import Settings
from dial2vec.draws import drawn
from dial2vec.pipeline.artifacts import Artifacts


def scoring(artifacts: Artifacts, settings: Settings) -> dict[str, Any]:
    """Return the options of k-means for `measure`: runs, seed, way and number of clusters.

    With `evaluate.clusters: corpus` this is the number of labels in all splits together, None otherwise.
    """
    options = settings.evaluate
    n_clusters = n_labels(artifacts) if options.clusters == "corpus" else None
    return {"runs": options.kmeans_runs, "seed": settings.seed, "way": options.kmeans, "n_clusters": n_clusters}


def measured_dialogues(path: Path, settings: Settings) -> list[Dialogue]:
    """Return the dialogues of a split that are measured, in their order.

    They are all of them, or, of more than `evaluate.max_dialogues` with one label, so many of these, drawn by the seed:
    reading a hundred thousand takes an hour, and a share in ten thousand has a standard error of half a point at most.
    """
    dialogues = list(read_dialogues(path, may_be_empty=True))
    labelled = [dialogue for dialogue in dialogues if dialogue.label is not None]
    most = settings.evaluate.max_dialogues
    if most is None or len(labelled) <= most:
        return dialogues
    return [labelled[place] for place in drawn(len(labelled), most, seed=[settings.seed, 3])]


def n_labels(artifacts: Artifacts) -> int:
    """Return the number of different labels in train, dev and test together; a dialogue of several labels is left out.

    :raises ArtifactError: if the record of stage prepare cannot be read.
    """
    by_split = read_json(artifacts.split_report).get("labels", {})
    return len({label for counts in by_split.values() for label in counts})
