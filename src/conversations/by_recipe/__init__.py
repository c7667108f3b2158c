"""Reading by a recipe: the recipe, its expressions and patterns, and which recipe fits."""
