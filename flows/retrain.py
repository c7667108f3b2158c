"""The retraining of this project as a Prefect flow: `make retrain`, or on a schedule; the code is in the package."""

from __future__ import annotations

from dial2vec.operation.schedule.retrain import main, retrain

__all__ = ["retrain"]

if __name__ == "__main__":
    main()
