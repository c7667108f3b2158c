"""Retraining on a schedule: the inbox, the decision to train, the notice of the result, and Prefect's processes."""

from dial2vec.errors import require_posix

require_posix("the schedule")
