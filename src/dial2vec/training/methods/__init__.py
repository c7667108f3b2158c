"""Training methods by their name in `params.yaml` (`train.method`): from dialogues to what the Trainer reads."""

from __future__ import annotations

from collections.abc import Callable

from dial2vec.training.methods.dial2vec import plan_dial2vec
from dial2vec.training.methods.dialaug import plan_dialaug
from dial2vec.training.methods.dialoguecse import plan_dialoguecse
from dial2vec.training.methods.dse import plan_dse
from dial2vec.training.methods.intent_augmentation import plan_intent_augmentation
from dial2vec.training.methods.neighbours import plan_neighbours
from dial2vec.training.plan import Plan

METHODS: dict[str, Callable[..., Plan]] = {
    "neighbours": plan_neighbours,
    "dial2vec": plan_dial2vec,
    "dse": plan_dse,
    "dialoguecse": plan_dialoguecse,
    "dialaug": plan_dialaug,
    "intent_augmentation": plan_intent_augmentation,
}
