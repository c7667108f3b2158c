"""What a collection is about: groups of similar dialogues, named, stable or not, that keep their ids over time."""

from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.clustering.clusters import Cluster, Clusters, read_clusters

__all__ = ["Cluster", "Clusters", "cluster", "read_clusters"]
