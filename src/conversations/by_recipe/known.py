"""The recipes that are known by name: of this package, of other installed packages, and of the user's own folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from conversations.by_recipe.recipe import Recipe, recipe_from
from conversations.errors import CorpusError, did_you_mean

# Entry points of other packages: a package with YAML files, or a function that returns paths of files or folders.
GROUP = "dial2vec.recipes"
ENDING = ".yaml"

log = logging.getLogger(__name__)


def folder_of_user() -> Path:
    """Return the folder of the user's own recipes, which need not exist."""
    base = os.environ.get("APPDATA" if os.name == "nt" else "XDG_CONFIG_HOME", "")
    # By XDG's specification a relative path does not count.
    return Path(base if Path(base).is_absolute() else Path("~/.config").expanduser(), "dial2vec", "recipes")


def known_recipes() -> dict[str, Recipe]:
    """Return the recipes by name; the user's own come before those of other packages, and these before ours.

    A damaged recipe of another package or of the user is left out with a warning.
    """
    return {name: recipe for name, (recipe, _) in _known().items()}


def load_recipe(name: str) -> Recipe:
    """Return a recipe by its name, or from a file of the user.

    :raises CorpusError: if there is neither, or the file is no recipe.
    """
    return known_recipes().get(name) or recipe_from(text_of_recipe(name), Path(name).stem, where=name)


def text_of_recipe(name: str) -> str:
    """Return the text of a recipe by its name, or of a file of the user.

    :raises CorpusError: if there is neither.
    """
    if name in _known():
        return _known()[name][1].read_text(encoding="utf-8")
    if not Path(name).is_file():
        raise CorpusError(
            f"{name!r} (--recipe) is neither a recipe nor a file.{did_you_mean(name, _known())} "
            "Expected one of the recipes of docs/recipes.md, or a YAML file. Correct --recipe."
        )
    return Path(name).read_text(encoding="utf-8")


@cache
def _known() -> dict[str, tuple[Recipe, Traversable]]:
    """Return each recipe with its file; the titles of those that are not ours name their origin."""
    known = {}
    for file, origin in _files():
        name = file.name.removesuffix(ENDING)
        try:
            recipe = recipe_from(file.read_text(encoding="utf-8"), name, where=file.name)
        except (CorpusError, OSError, UnicodeDecodeError) as error:
            log.warning("A recipe is left out (%s, %s): %s", origin, file, error)
        else:
            known[name] = (replace(recipe, title=f"{recipe.title}, from {origin}") if origin else recipe), file
    return known


def _files() -> Iterator[tuple[Traversable, str]]:
    """Yield the files of recipes, each with its origin, "" for ours; of several with one name the last counts."""
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    sources: list[tuple[str, Callable[[], list[Traversable]]]] = [
        ("", lambda: [files("conversations") / "recipes"]),
        *((f"package {point.dist.name if point.dist else point.value}", partial(_places, point)) for point in points),
        ("your own folder", lambda: [folder_of_user()]),
    ]
    for origin, places in sources:
        try:
            inside = [file for place in places() for file in (place.iterdir() if place.is_dir() else [place])]
            recipes = [file for file in inside if file.name.endswith(ENDING) and file.is_file()]
        # A package's own code may raise anything.
        except Exception as error:
            log.warning("The recipes of %s are left out (%s). Mend or remove it.", origin, error)
        else:
            yield from ((file, origin) for file in sorted(recipes, key=lambda file: file.name))


def _places(point: EntryPoint) -> list[Traversable]:
    loaded = point.load()
    return [Path(path).resolve(strict=True) for path in loaded()] if callable(loaded) else [files(loaded)]
