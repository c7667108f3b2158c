"""Training: the items of every method, the loop that trains on them, and the candidates that it writes."""
