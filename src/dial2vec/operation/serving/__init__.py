"""Serving of a registered model: `keeper` holds the port, a `worker` answers, and its `gate` checks requests."""
