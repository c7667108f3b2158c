"""What was understood of an export, written as a recipe."""

from __future__ import annotations

from importlib.resources import files

import yaml

from conversations.by_recipe.recipe import known_recipes
from conversations.errors import CorpusError
from conversations.reading import Export

HEAD = """# How this export was read. Other exports of this kind are read with: dial2vec import FILE --recipe THIS_FILE
# The keys are described in docs/recipes.md.
"""


def recipe_text(export: Export) -> str:
    """Return the recipe by which the first file of an export was read.

    :raises CorpusError: if the file is a plain transcript, which has no columns.
    """
    path, file = next(iter(export.files.items()))
    recipe = file.reader.recipe
    if recipe and recipe.name in known_recipes():
        return (files("conversations") / "recipes" / f"{recipe.name}.yaml").read_text(encoding="utf-8")
    if not file.reader.draft:
        raise CorpusError(
            f"{path} is a transcript of `Speaker: text` lines or captions, which need no recipe. Leave --save-recipe "
            "out."
        )
    content = {"title": path.name, "source": "https://", **file.reader.draft}
    return HEAD + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
