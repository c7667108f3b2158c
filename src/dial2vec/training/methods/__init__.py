"""Training methods by their name in `params.yaml` (`train.method`); each module has a method's plan, items and loss."""

from __future__ import annotations

from collections.abc import Callable

from dial2vec.training.methods import dial2vec, dialaug, dialoguecse, dse, intent_augmentation, neighbours
from dial2vec.training.plan import Given, Plan

METHODS: dict[str, Callable[[Given], Plan]] = {
    "neighbours": neighbours.plan,
    "dial2vec": dial2vec.plan,
    "dse": dse.plan,
    "dialoguecse": dialoguecse.plan,
    "dialaug": dialaug.plan,
    "intent_augmentation": intent_augmentation.plan,
}
