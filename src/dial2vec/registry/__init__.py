"""Models in MLflow: one run per training, one registered model per corpus, who is champion, and why."""

from pathlib import Path

# End of the name of a student's model, after the corpus's name, which has no hyphen.
SMALL = "-small"
# Files of a version that hold a dialogue, which forgetting replaces.
EXAMPLES = ("input_example.json", "serving_input_example.json")


def receipt_path(root: Path, corpus: str) -> Path:
    """Return the receipt of a registration: version and run in MLflow, beside its store."""
    return root / "mlruns" / "registrations" / f"{corpus}.json"


def corpus_of(name: str) -> str:
    """Return the corpus of a model's name: "demo" for "demo" and for its student's "demo-small"."""
    return name.removesuffix(SMALL)
