"""Which candidate of a training is kept, without labels: criteria on dev dialogues, and the rule that weighs them."""

# The criteria in words.
TITLES = {
    "stability": "cluster stability",
    "silhouette": "silhouette",
    "cross_side": "agreement of the two sides",
}
