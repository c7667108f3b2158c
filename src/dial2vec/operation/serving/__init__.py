"""Serving a registered model: `keeper` holds the port, a `worker` answers, and the `gate` lets good requests pass."""
