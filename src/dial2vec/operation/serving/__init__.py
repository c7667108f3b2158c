"""Serving of a model: `keeper` holds the port, a `worker` answers; `gate` checks requests, `batching` encodes them."""
