"""The page of the manual that lists the known exports, made from the recipes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conversations.by_recipe.recipe import Recipe

HEAD = """# Known exports

{count} kinds of exports are known by a recipe, a small file in `src/conversations/recipes/`.
`dial2vec import` recognises them by their first records or lines; `--recipe NAME` names one. Each recipe is tested on
the example below it, whose words are made up. How recipes are written: [recipes.md](recipes.md).
"""


def as_page(recipes: Iterable[Recipe]) -> str:
    """Return the page in Markdown."""
    ordered = sorted(recipes, key=lambda recipe: recipe.title.lower())
    return "\n".join([HEAD.format(count=len(ordered)), *(line for recipe in ordered for line in _entry(recipe))])


def _entry(recipe: Recipe) -> Iterator[str]:
    yield f"## {recipe.title}\n"
    kinds = dict.fromkeys(kind for kind, _ in recipe.not_speech)
    left_out = f" Left out: {', '.join(kinds)}." if kinds else ""
    yield f"Recipe `{recipe.name}`; [format]({recipe.source}).{left_out}\n"
    for example in recipe.examples[:1]:
        # Four backticks: texts may hold three.
        yield f'````text title="{example.file}"\n{example.text.rstrip()}\n````\n'
        for given in example.gives:
            yield from (f"- **{speaker}**: {' '.join(str(text).split())}" for speaker, text in given["turns"])
            yield ""
