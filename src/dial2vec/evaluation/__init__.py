"""Figures from vectors and labels, the report page, and the choice without labels."""

# The three figures that decide (Liu et al. 2022, section 4): domain categorisation, semantic relatedness, retrieval.
TASKS = ("purity", "spearman", "map")
# The encoders whose figures stand side by side, in the order of display. Not every run keeps a student.
ENCODERS = ("start", "trained", "student")
# Dialogues of dev that a choice without labels needs, and labelled ones that an interval needs.
MIN_DIALOGUES = 40
# Reason at the end of a sentence about a split without figures.
NO_LABELS = "no labels to score (it takes two different ones, and one of them twice)"
