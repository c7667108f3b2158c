"""Embedding of a folder by the champion after each retraining, if the folder or the champion is new."""

from __future__ import annotations

import hashlib
from pathlib import Path

from conversations.files import write_json
from dial2vec.collection.embedding.embed import embed_file
from dial2vec.collection.embedding.shards import files_of, look_at
from dial2vec.encoder.loading import load_encoder
from dial2vec.operation.schedule.inbox_files import read_receipt
from dial2vec.registry.tracking import local_model


def embed_folder(root: Path, folder: Path, corpus: str, *, batch_size: int) -> str:
    """Embed a folder of JSON Lines with a corpus's champion into `<folder>.vectors`, and return a line for the log.

    :raises Dial2vecError: if the folder or the champion is missing.
    """
    model = local_model(f"models:/dial2vec-{corpus}@champion", root=root)
    look_at(folder)
    states = [
        (str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns) for path in files_of(folder)
    ]
    key = hashlib.sha256(repr((str(model), states)).encode()).hexdigest()
    output, memory = folder.with_name(f"{folder.name}.vectors"), root / "artifacts" / "embedded.json"
    if output.exists() and read_receipt(memory).get(str(folder)) == key:
        return f"{output} is up to date"
    done = embed_file(folder, output, encoder=load_encoder(model), batch_size=batch_size)
    write_json(memory, read_receipt(memory) | {str(folder): key})
    return f"{output}: {done.dialogues} vectors of length {done.dimension}"
