"""Report page of a run."""
