"""Files as they are on disk: formats, encodings, containers, and their records or lines."""
