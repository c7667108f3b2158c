"""Lenses of a collection as an encoder, and its dialogues with their values, for groups and a map of what happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from conversations.dialogue import Dialogue
from dial2vec.collection.collection_folder import LENSES, CollectionFolder, checked_table, readable
from dial2vec.collection.lenses.encoder import LensEncoder
from dial2vec.collection.lenses.learning import load_lens
from dial2vec.collection.lenses.lens import again, lens_names, read_record
from dial2vec.errors import CorpusError, did_you_mean

# Labels of which one alone makes no map: it has two sides, and a condition tells them.
LEAST = 2


def encoder_of(collection: CollectionFolder, names: Sequence[str]) -> LensEncoder:
    """Return the encoder whose vectors are the probabilities of some lenses, less their means in the collection.

    :raises CorpusError: if a lens does not exist or has learnt nothing, or there is one label in all.
    :raises ArtifactError: if a file of a lens is damaged.
    """
    folder, every = collection.folder / LENSES, lens_names(collection)
    known = [name for name in every if (folder / f"{name}.safetensors").exists()]
    for name in names:
        if name not in known:
            raise CorpusError(
                f"lens {name!r} of {collection.folder} {'has learnt nothing' if name in every else 'does not exist'}; "
                f"expected one that has learnt from examples ({', '.join(known) or 'there is none'})."
                f"{did_you_mean(name, known)} `dial2vec lens {collection.folder} --name {name} --page` asks for some."
            )
    models = [load_lens(folder / f"{name}.safetensors") for name in names]
    means = [share for name in names for share in read_record(folder / f"{name}.json")["shares"].values()]
    if len(means) - len(names) < LEAST:
        raise CorpusError(
            f"lens {names[0]!r} tells one label, by which conversations have two sides and no map; expected {LEAST} "
            f"labels or more. Add another --lens, or search with --where '{names[0]} != none'."
        )
    return LensEncoder(names, models, np.array(means, dtype=np.float32))


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
