"""Vectors and labels to figures, and figures to a page."""

# The three that decide (Liu et al. 2022, section 4): domain categorisation, semantic relatedness, retrieval.
TASKS = ("purity", "spearman", "map")
