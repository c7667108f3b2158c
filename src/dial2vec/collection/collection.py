"""A collection with everything that people do with it, as tables of pandas."""

from __future__ import annotations

from dial2vec.collection.collection_folder import CollectionFolder


class Collection(CollectionFolder):
    """Dialogues with their vectors. Open the collection again to see dialogues that were added since.

    :param folder: folder made by `dial2vec.collection.add`.
    :raises ArtifactError: if the folder is no collection.
    """
