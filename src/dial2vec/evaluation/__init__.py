"""Vectors and labels to figures, and figures to a page."""

# The three that decide (Liu et al. 2022, section 4): domain categorisation, semantic relatedness, retrieval.
TASKS = ("purity", "spearman", "map")
# Ends a sentence about a split for which there are no figures.
NOTHING_TO_SCORE = "its labels leave nothing to score (fewer than two different ones, or none that occurs twice)"
