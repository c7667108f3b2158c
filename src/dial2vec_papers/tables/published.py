"""Figures that the papers print, from `published.yaml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from dial2vec.evaluation import TASKS


@cache
def printed() -> dict[str, Any]:
    """Return the figures of the papers, as `published.yaml` has them."""
    tables: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return tables


# Corpus -> figures of Liu et al. 2022, table 1: "splits", "labels", and "remarks" on what differs.
COUNTS: dict[str, Any] = printed()["counts"]


def published(model: str, corpus: str) -> dict[str, float]:
    """Return the figures of Liu et al. 2022 for a model on a corpus by task; empty if the paper has none."""
    models, corpora = printed()["models"], printed()["corpora"]
    if model not in models or corpus not in corpora:
        return {}
    place = corpora.index(corpus)
    return {task: models[model][task][place] for task in TASKS if task in models[model]}
