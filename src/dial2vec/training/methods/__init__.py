"""Training methods by their name in `params.yaml` (`train.method`); each module has a method's plan, items and loss."""

from __future__ import annotations

from collections.abc import Callable

from dial2vec import extension
from dial2vec.errors import SettingsError
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


def method_of(name: str) -> Callable[[Given], Plan]:
    """Return a method of this or another package.

    :raises SettingsError: if another package's method cannot be loaded.
    """
    if name in METHODS:
        return METHODS[name]
    point = extension.methods()[name]
    try:
        plan: Callable[[Given], Plan] = point.load()
    # A package's own code may raise anything.
    except Exception as error:
        raise SettingsError(
            f"train.method: found {name!r} ({point.value}), which cannot be loaded ({error!r}). Mend its package, or "
            "choose another method."
        ) from error
    return plan
