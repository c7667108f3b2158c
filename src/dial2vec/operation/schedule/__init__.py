"""Retraining on a schedule: the inbox, the decision to train, the notice of the result, and Prefect's processes."""
