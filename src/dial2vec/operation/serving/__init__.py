"""Serving of a model: `keeper` holds the port, a `worker` answers; `gate` checks requests, `batching` encodes them."""

from dial2vec.errors import require_posix

require_posix("the server of models")
