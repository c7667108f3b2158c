"""The examples of a lens, `lenses/<name>.examples.csv`, and which dialogues to ask a person about."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conversations.files import reading_errors, write_text
from dial2vec.collection.clustering.clusters import read_assignment, read_clusters
from dial2vec.collection.collection_folder import LENSES, CollectionFolder
from dial2vec.collection.formulas import csv_lines
from dial2vec.errors import CorpusError, did_you_mean

COLUMNS = ("dialogue_id", "label")
# Key of the metadata by which the quality of a lens is told, as it is by topic.
CHANNEL = "channel"
# More values of a key are no labels, but a text or a number.
MOST_LABELS = 20


def examples_file(folder: Path, name: str) -> Path:
    """Return the file with the examples of a lens of the collection in `folder`."""
    return folder / LENSES / f"{name}.examples.csv"


def read_examples(path: Path) -> dict[str, str]:
    """Return the label by dialogue id of a CSV file; without the file, none.

    :raises CorpusError: if a row lacks one of both, or a dialogue has two labels.
    """
    labels: dict[str, str] = {}
    if not path.exists():
        return labels
    with reading_errors(path, "a CSV file of examples"), path.open(encoding="utf-8-sig", newline="") as handle:
        rows = csv.DictReader(handle)
        if not set(COLUMNS) <= set(rows.fieldnames or ()):
            raise CorpusError(
                f"{path} has the columns {', '.join(rows.fieldnames or ()) or 'of an empty file'}; expected "
                f"{' and '.join(COLUMNS)}. Rename them."
            )
        for line, row in enumerate(rows, start=2):
            # A ' before what a spreadsheet would take for a formula, as our own tables have it.
            dialogue_id, label = ((row[column] or "").removeprefix("'").strip() for column in COLUMNS)
            if not dialogue_id or not label or labels.setdefault(dialogue_id, label) != label:
                raise CorpusError(
                    f"{path}:{line} has the dialogue {dialogue_id!r} and the label {label!r}; expected one label for "
                    "each dialogue. Correct the row."
                )
    return labels


def write_examples(path: Path, examples: Mapping[str, str]) -> None:
    """Write examples, atomically."""
    write_text(path, csv_lines([COLUMNS, *examples.items()]))


def of_metadata(collection: CollectionFolder, key: str) -> dict[str, str]:
    """Return the values of a key of the metadata as labels; dialogues without a value are no examples.

    :raises CorpusError: if no dialogue has the key, or its values are more than a person would tell apart.
    """
    if key not in collection.metadata_kinds:
        raise CorpusError(
            f"no dialogue of {collection.folder} has {key!r} in its metadata; expected one of "
            f"{', '.join(collection.metadata_kinds) or 'no keys, as there is no metadata'}."
            f"{did_you_mean(key, collection.metadata_kinds)}"
        )
    values = collection.metadata(key).to_pylist()
    labels = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in zip(collection.rows["dialogue_id"].to_pylist(), values, strict=True)
        if value is not None and str(value).strip()
    }
    if len(set(labels.values())) > MOST_LABELS:
        raise CorpusError(
            f"{key!r} has {len(set(labels.values()))} values; expected at most {MOST_LABELS} labels. Use another "
            "key, or give a CSV file with --examples."
        )
    return labels


def varied(collection: CollectionFolder, known: Collection[str], n: int, seed: int) -> list[int]:
    """Return rows of dialogues to ask about, one of each topic, then a second one of each, and so on.

    :param known: ids of dialogues that are examples already.
    :param n: largest number of rows.
    """
    order = np.random.default_rng(seed).permutation(len(collection))
    known_rows = [collection.row_of[name] for name in known if name in collection.row_of]
    order = order[~np.isin(order, known_rows)]
    if read_clusters(collection) is not None:
        topics = np.concatenate([read_assignment(collection), np.full(len(collection), -1)])[order]
        # How many of the same topic come before each in this order.
        by_topic = np.argsort(topics, kind="stable")
        starts = np.searchsorted(topics[by_topic], topics[by_topic])
        before = np.empty(len(order), dtype=np.int64)
        before[by_topic] = np.arange(len(order)) - starts
        order = order[np.argsort(before, kind="stable")]
    return [int(row) for row in order[:n]]


def groups_of(collection: CollectionFolder, rows: NDArray[np.int64]) -> dict[str, NDArray[np.bool_]]:
    """Return whether each row is of a topic, or of a channel, by its name."""
    groups = {}
    if (stored := read_clusters(collection)) is not None:
        # Dialogues that were added since have no topic yet.
        topics = np.append(read_assignment(collection), np.full(len(collection), -1, dtype=np.int32))[rows]
        groups = {each.name: topics == each.id for each in stored[0].clusters if not each.hidden}
    if CHANNEL in collection.metadata_kinds:
        values = np.array([str(value) for value in collection.metadata(CHANNEL).to_pylist()])[rows]
        groups |= {f"{CHANNEL} {value}": values == value for value in np.unique(values).tolist()}
    return groups
