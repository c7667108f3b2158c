"""The page of known exports holds every recipe with its example."""

from __future__ import annotations

from conversations.by_recipe.catalogue import as_page
from conversations.by_recipe.recipe import known_recipes


def test_every_recipe_is_on_the_page_with_its_format_and_its_dialogue():
    page = as_page(known_recipes().values())
    assert page.count("\nRecipe `") == len(known_recipes())
    for recipe in known_recipes().values():
        assert f"## {recipe.title}\n\nRecipe `{recipe.name}`; [format]({recipe.source})." in page
    assert "- **Maria**: My card was declined" in page
