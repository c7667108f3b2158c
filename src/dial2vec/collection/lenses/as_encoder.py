"""Lenses of a collection as an encoder, and its dialogues with their values, for groups and a map of what happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from conversations.dialogue import Dialogue
from dial2vec.collection.collection_folder import LENSES, CollectionFolder, checked_table, readable
from dial2vec.collection.lenses.encoder import LensEncoder, load_of_lenses
from dial2vec.collection.lenses.learning import load_lens
from dial2vec.collection.lenses.lens import again, is_current, lens_names, read_new, read_record
from dial2vec.encoder.folder import is_lens
from dial2vec.errors import CorpusError, did_you_mean

# Labels of which one alone makes no map: it has two sides, and a condition tells them.
LEAST = 2


def encoder_of(collection: CollectionFolder, names: Sequence[str], before: Path | None = None) -> LensEncoder:
    """Bring some lenses up to date, and return the encoder whose vectors are their probabilities, less their means.

    :param before: folder of an encoder that was made so; it stays, with its means, if the lenses have learnt nothing
        new since, so that what was made of its vectors stays, too.
    :raises CorpusError: if a lens does not exist or has learnt nothing, or there is one label in all.
    :raises ArtifactError: if a file of a lens is damaged.
    """
    folder, every = collection.folder / LENSES, lens_names(collection)
    known = [name for name in every if read_record(folder / f"{name}.json")["quality"]]
    for name in names:
        if name not in known:
            raise CorpusError(
                f"lens {name!r} of {collection.folder} {'has learnt nothing' if name in every else 'does not exist'}; "
                f"expected one that has learnt from examples ({', '.join(known) or 'there is none'})."
                f"{did_you_mean(name, known)} `dial2vec lens {collection.folder} --name {name} --page` asks for some."
            )
        if not is_current(collection, name):
            read_new(collection, name)
    models = [load_lens(folder / f"{name}.safetensors") for name in names]
    means = [share for name in names for share in read_record(folder / f"{name}.json")["shares"].values()]
    if len(means) - len(names) < LEAST:
        raise CorpusError(
            f"lens {names[0]!r} tells one label, by which conversations have two sides and no map; expected {LEAST} "
            f"labels or more. Add another --lens, or search with --where '{names[0]} != none'."
        )
    encoder = LensEncoder(names, models, np.array(means, dtype=np.float32))
    if before is not None and is_lens(before):
        earlier = load_of_lenses(before)
        same = LensEncoder(names, models, earlier.mean).fingerprint() == earlier.fingerprint()
        return earlier if same and earlier.lenses == encoder.lenses else encoder
    return encoder


def dialogues_with_values(collection: CollectionFolder, names: Sequence[str]) -> Iterator[Dialogue]:
    """Yield the dialogues with their value by each lens as metadata.

    :raises ArtifactError: if a file of a lens is damaged.
    """
    values = []
    for name in names:
        with readable(path := collection.folder / LENSES / f"{name}.parquet", f"; expected a lens. {again(path)}"):
            rows = checked_table(path)
            values.append(dict(zip(rows["dialogue_id"].to_pylist(), rows["value"].to_pylist(), strict=True)))
    for dialogue in collection.dialogues():
        own = {name: value[dialogue.dialogue_id] for name, value in zip(names, values, strict=True)}
        yield replace(dialogue, metadata={**dialogue.metadata, **own})
