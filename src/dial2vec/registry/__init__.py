"""Models in MLflow: one run per training, one registered model per corpus, who is champion, and why."""

from pathlib import Path


def receipt_path(root: Path, corpus: str) -> Path:
    """Return the receipt of a registration: version and run in MLflow, beside its store."""
    return root / "mlruns" / "registrations" / f"{corpus}.json"
