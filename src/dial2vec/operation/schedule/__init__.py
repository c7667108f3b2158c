"""Retraining on a schedule: what comes in, whether to train, who is told, and the processes that keep it going."""
