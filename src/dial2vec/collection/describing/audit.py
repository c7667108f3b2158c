"""Audit of a language model's names: is each nearer to its own cluster's dialogues than to those of any other one?"""

from __future__ import annotations

from typing import Any

from conversations.dialogue import Dialogue, Turn
from dial2vec.collection.clustering.clusters import stored_clusters
from dial2vec.collection.clustering.partition import centres_of_groups
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.describing.describing import read_descriptions
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import ArtifactError

# A name is doubtful if the cosine to another cluster is higher by this much: of names that are right, many are as near
# to a similar cluster as to their own (benchmarks/names.py audit).
MARGIN = 0.1


def audit_names(collection: CollectionFolder) -> list[dict[str, Any]]:
    """Compare the model's names of clusters with the dialogues, by the collection's encoder before any adaptation.

    :return: for each name its `cluster`, the `terms` of it, the `cosine` to the centre of its dialogues in [-1, 1], and
        the `nearest` cluster with its cosine, `highest`, and whether the name is `doubtful`.
    :raises ArtifactError: if the collection has no clusters, or no descriptions.
    """
    stored, record = stored_clusters(collection), read_descriptions(collection)
    if record is None:
        again = f"those of `dial2vec describe {collection.folder}`. Run that first."
        raise ArtifactError(f"{collection.folder} has no descriptions; expected {again}")
    clusters, vectors = stored.clusters.clusters, collection.vectors[: stored.clusters.seen]
    places = [place for place, cluster in enumerate(clusters) if cluster.size and not cluster.hidden]
    centres = centres_of_groups(vectors, stored.state.groups, len(clusters))[places]
    words = [record["clusters"].get(str(clusters[place].id), {"by": "terms"}) for place in places]
    own = [at for at, naming in enumerate(words) if naming["by"] == "model"]
    names = [Dialogue("", (Turn("name", words[at]["name"]),)) for at in own]
    cosines = unit_rows(load_encoder(collection.model).encode(names)) @ centres.T
    rows = []
    for at, row in zip(own, cosines, strict=True):
        nearest, cosine = int(row.argmax()), {"cosine": float(row[at]), "highest": float(row.max())}
        about = {"cluster": clusters[places[at]].id, "name": words[at]["name"], "terms": words[at]["terms"]}
        doubtful = cosine["highest"] - cosine["cosine"] > MARGIN
        rows.append(about | cosine | {"nearest": clusters[places[nearest]].id, "doubtful": doubtful})
    return rows
