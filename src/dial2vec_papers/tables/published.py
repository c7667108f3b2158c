"""Figures of Liu et al. 2022: tables 2 and 3 (all models), 4 (single speakers) and 5 (aggregation), in points."""

from __future__ import annotations

from dial2vec.evaluation import TASKS

CORPORA = ("bitod", "doc2dial", "metalwoz", "multiwoz", "self_dialogue", "sgd")

# model -> purity, Spearman and MAP, each in the order of CORPORA. The paper gives LDA no vectors, so purity only.
MODELS: dict[str, tuple[tuple[float, ...], ...]] = {
    "LDA": ((44.7, 35.2, 19.3, 45.9, 24.7, 20.2),),
    "GloVe": (
        (64.3, 54.7, 40.5, 79.0, 35.0, 51.6),
        (34.3, 25.9, 15.8, 38.9, 15.7, 27.6),
        (63.8, 49.1, 29.4, 65.9, 24.1, 52.6),
    ),
    "Doc2Vec": (
        (82.7, 70.9, 43.9, 86.1, 40.9, 63.6),
        (43.4, 24.8, 14.6, 30.6, 10.7, 26.9),
        (67.7, 43.7, 15.1, 50.9, 16.3, 43.1),
    ),
    "SimCSE": (
        (79.3, 64.7, 45.1, 85.5, 46.8, 66.7),
        (39.5, 33.2, 14.9, 38.1, 18.3, 26.9),
        (62.5, 52.5, 23.8, 62.1, 27.0, 44.8),
    ),
    "DialogueCSE": (
        (85.8, 68.4, 77.5, 94.9, 53.2, 72.1),
        (42.4, 44.5, 23.9, 65.2, 27.6, 31.7),
        (72.9, 58.2, 66.7, 82.9, 34.5, 62.5),
    ),
    "BERT": (
        (49.1, 54.0, 31.6, 61.3, 44.4, 31.3),
        (24.3, 22.4, 11.6, 30.5, 16.7, 17.9),
        (52.4, 44.8, 17.0, 56.4, 25.8, 26.0),
    ),
    "RoBERTa": (
        (63.2, 40.4, 46.4, 62.8, 44.9, 40.8),
        (30.2, 14.8, 15.4, 28.5, 17.5, 16.7),
        (62.2, 40.6, 30.4, 57.4, 25.5, 35.0),
    ),
    "T5": (
        (78.7, 55.2, 67.6, 89.5, 43.8, 69.5),
        (38.6, 28.6, 20.8, 42.5, 20.0, 29.7),
        (67.3, 49.9, 43.9, 69.7, 27.8, 53.8),
    ),
    "TOD-BERT": (
        (75.6, 63.1, 82.9, 94.3, 50.0, 50.3),
        (47.0, 32.6, 24.3, 48.9, 24.6, 24.8),
        (73.2, 53.0, 65.7, 84.2, 33.0, 45.3),
    ),
    "Blender": (
        (80.9, 56.4, 62.3, 82.4, 45.4, 73.1),
        (37.0, 28.1, 19.9, 44.4, 18.3, 31.1),
        (69.1, 50.1, 44.6, 70.1, 25.4, 63.0),
    ),
    "PLATO": (
        (74.1, 79.0, 73.9, 82.5, 62.5, 71.0),
        (46.6, 38.7, 22.7, 45.3, 35.1, 32.4),
        (71.6, 59.7, 54.5, 68.7, 45.9, 63.2),
    ),
    "dial2vec": (
        (90.6, 90.2, 77.2, 96.7, 63.1, 86.2),
        (68.8, 50.7, 24.5, 71.0, 37.2, 36.9),
        (94.4, 69.4, 68.0, 96.4, 49.4, 82.8),
    ),
}
# Means over the six corpora: purity, Spearman, MAP.
SPEAKERS: dict[str, dict[str, tuple[float, float, float]]] = {
    "PLATO": {"first": (71.78, 36.23, 59.38), "second": (75.29, 36.67, 60.73), "both": (73.83, 36.80, 60.60)},
    "dial2vec": {"first": (83.27, 47.82, 75.72), "second": (82.21, 46.74, 74.56), "both": (83.97, 48.19, 76.73)},
}
AGGREGATION: dict[str, dict[str, tuple[float, float, float]]] = {
    "dial2vec": {"mean": (83.69, 47.93, 76.39), "both": (83.97, 48.19, 76.73)}
}


def published(model: str, corpus: str) -> dict[str, float]:
    """Return the paper's figures of a model on a corpus by task; empty if it has none."""
    if model not in MODELS or corpus not in CORPORA:
        return {}
    place = CORPORA.index(corpus)
    return {task: figures[place] for task, figures in zip(TASKS, MODELS[model], strict=False)}


# Zhou et al. 2022: BERT-base, intents by prototypes in the order of `tasks.intents.INTENT_SETS`, with 1 and 5 shots.
INTENTS: dict[str, dict[int, tuple[float, float, float, float]]] = {
    "DSE": {1: (62.53, 43.12, 79.57, 44.31), 5: (78.73, 61.65, 88.62, 60.87)},
    "SimCSE": {1: (46.44, 37.51, 59.58, 34.34)},
    "BERT": {1: (36.98, 22.05, 62.51, 27.74)},
}
