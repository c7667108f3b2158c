"""Which candidate of a training is kept, without labels: criteria on dev dialogues, and the rule that weighs them."""
