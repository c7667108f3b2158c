"""Topics of a collection: named clusters of similar dialogues, which keep their ids as the collection grows."""

from dial2vec.collection.clustering.clustering import cluster, restore_clusters
from dial2vec.collection.clustering.clusters import Cluster, Clusters, read_clusters

__all__ = ["Cluster", "Clusters", "cluster", "read_clusters", "restore_clusters"]
