"""Communities of the graph of nearest neighbours: groups whose number comes from the vectors themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

from dial2vec.collection.clustering.partition import SAMPLE, Groups, Vectors, assign, centres_of_groups, largest_first
from dial2vec.collection.collection_folder import sampled
from dial2vec.encoder.nearest import nearest_others

# Neighbours per dialogue, at most a quarter of the dialogues; fewer neighbours give finer groups.
NEIGHBOURS = 30
# Partitions in each round, the best of them, whose agreement counts, and the largest number of rounds.
PARTITIONS, BEST, ROUNDS = 100, 10, 6
# Least gain of modularity for a further round.
LEAST_GAIN = 1e-9
# Smallest size of a group; the dialogues of a smaller one join the groups of their neighbours.
SMALLEST = 5
# Cosines held at a time: 200 MB.
COSINES = 50_000_000


def communities(
    units: Vectors, *, seed: int, partitions: int = PARTITIONS, done: Callable[[int], object] = lambda _: None
) -> Groups:
    """Group vectors into communities of their neighbour graph; each vector is in exactly one, the largest is number 0.

    Two vectors are linked if one is among the nearest neighbours of the other; the weight is the share of neighbours
    that they have in common (Jarvis and Patrick 1973). Louvain's method (Blondel et al. 2008) divides the graph many
    times, and what the best divisions agree on is kept, so the result hardly depends on the seed. Of more
    than 50,000 vectors a sample is divided, and the others go to the nearest centre.

    :param units: vectors of length 1, float32 [n, d], n at least 1.
    :param partitions: number of divisions of the graph in each round.
    :param done: called with 1 after each of at most `steps()` steps.
    :return: group of each vector, int32 [n].
    """
    rows = sampled(len(units), SAMPLE, seed)
    sample = np.asarray(units[rows])
    with threadpool_limits(limits=1):
        graph = neighbour_graph(sample, min(NEIGHBOURS, max(3, len(sample) // 4), len(sample) - 1))
    done(1)
    groups = divide(graph, seed=seed, partitions=partitions, done=done)
    if len(rows) == len(units):
        return groups
    everything = assign(units, centres_of_groups(sample, groups)).groups
    everything[rows] = groups
    return largest_first(everything)


def steps() -> int:
    """Return the largest number of times that `communities` calls `done`."""
    return 1 + ROUNDS


def neighbour_graph(units: Vectors, k: int) -> csr_matrix:
    """Link each vector to its k nearest others, in both directions; float32 [n, n], symmetric, without a diagonal.

    The weight is the Jaccard index of the two neighbourhoods, each of which holds the vector itself.
    """
    n = len(units)
    if k < 1:
        return csr_matrix((n, n), dtype=np.float32)
    nearest = nearest_others(units, k=k, block=max(16, min(1024, COSINES // n)))
    ends = np.column_stack([np.arange(n, dtype=np.int32), nearest])
    pairs = csr_matrix(
        (np.ones(ends.size, dtype=np.float32), ends.ravel(), np.arange(0, ends.size + 1, k + 1)), shape=(n, n)
    )
    linked = pairs.maximum(pairs.T).tocoo()
    weights = np.empty(linked.nnz, dtype=np.float32)
    for first in range(0, linked.nnz, 1_000_000):
        part = slice(first, first + 1_000_000)
        shared = np.asarray(pairs[linked.row[part]].multiply(pairs[linked.col[part]]).sum(axis=1)).ravel()
        weights[part] = shared / (2 * (k + 1) - shared)
    weights[linked.row == linked.col] = 0
    graph = csr_matrix((weights, (linked.row, linked.col)), shape=(n, n))
    graph.eliminate_zeros()
    return graph


def divide(
    graph: csr_matrix, *, seed: int, partitions: int = PARTITIONS, done: Callable[[int], object] = lambda _: None
) -> Groups:
    """Divide a graph into the communities of greatest modularity that were met, int32 [n]; the largest is number 0.

    Vertices that the best of many partitions all keep together are merged, and the smaller graph is divided again,
    until nothing is gained (core groups, Ovelgönne and Geyer-Schulz 2013).
    """
    from sknetwork.clustering import Louvain, get_modularity

    n = graph.shape[0]
    if not graph.nnz:
        return np.zeros(n, dtype=np.int32)
    # Vertex of the merged graph of each vertex; to begin with, none are merged.
    cores, labels, highest = np.arange(n), np.arange(n), -np.inf
    for turn in range(ROUNDS):
        merged = _merged(graph, cores)
        divisions = [
            Louvain(
                shuffle_nodes=True, return_probs=False, return_aggregate=False, random_state=_state(seed, turn, number)
            ).fit_predict(merged)
            for number in range(partitions)
        ]
        modularity = np.array([get_modularity(merged, partition) for partition in divisions])
        done(1)
        best = np.argsort(-modularity, kind="stable")[:BEST]
        if modularity[best[0]] <= highest + LEAST_GAIN:
            break
        labels, highest = divisions[best[0]][cores], modularity[best[0]]
        kept = np.stack([divisions[number] for number in best], axis=1)
        cores = np.unique(kept, axis=0, return_inverse=True)[1].ravel()[cores]
    return largest_first(_without_small(graph, labels.astype(np.int32)))


def _merged(graph: csr_matrix, cores: NDArray[np.int64]) -> csr_matrix:
    """Return the graph of the merged vertices; weights within one become a loop."""
    members = csr_matrix((np.ones(len(cores)), (np.arange(len(cores)), cores)))
    return (members.T @ graph @ members).tocsr()


def _state(seed: int, turn: int, number: int) -> int:
    """Return a seed of its own for each partition."""
    return int(np.random.SeedSequence([seed, turn, number]).generate_state(1)[0] >> 1)


def _without_small(graph: csr_matrix, labels: Groups) -> Groups:
    """Move the members of small groups to the groups that they are linked to most."""
    sizes = np.bincount(labels)
    small = sizes[labels] < SMALLEST
    if small.all() or not small.any():
        return labels
    members = csr_matrix((np.ones(len(labels)), (np.arange(len(labels)), labels)), shape=(len(labels), len(sizes)))
    strength = np.asarray((graph[small] @ members).todense())
    strength[:, sizes < SMALLEST] = -1
    moved = labels.copy()
    moved[small] = strength.argmax(axis=1)
    return moved
