"""Put each dialogue to the nearest of a few descriptions, with the turn that says so, and write the answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.special import softmax

from conversations.files import atomic_path, write_json
from dial2vec.collection.collection_folder import FACETS, CollectionFolder
from dial2vec.collection.facets.likeness import Floats, likeness, probabilities
from dial2vec.collection.formulas import without_formulas
from dial2vec.collection.search.turns import complete_turns
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import CorpusError
from dial2vec.files import folder_lock

if TYPE_CHECKING:
    import pandas as pd

NONE_OF_THEM = "none"
# Names that conditions of a search already have for something else.
TAKEN = ("label", "speaker", "date", "turns", "words")
# Weight that many examples together have against the description, and the number of examples that have half of it.
EXAMPLES, HALF = 2.0, 3.0
# Difference of cosines that makes a turn of an example e times as heavy as another.
SHARPNESS = 0.1


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A possible answer.

    :param label: short name, not "none".
    :param text: sentence that somebody could say in such a dialogue, or that tells what happens in it.
    :param examples: ids of dialogues that are known to have this answer.
    """

    label: str
    text: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facet:
    """The answers to a question.

    :param rows: a row per dialogue, in the collection's order: `dialogue_id`; `value`, a label or "none";
        `probability` of the value, in [0, 1]; the turn that is nearest to the value: `turn` (its number, from 0),
        `speaker` and `text`, missing for "none"; and the probabilities `p_<label>` and `p_none`, which sum to 1.
    :param sizes: number of dialogues by value, in the order of the values, "none" last.
    :param shares: expected share of dialogues by value, the mean of the probabilities, in [0, 1].
    """

    name: str
    rows: pa.Table
    sizes: dict[str, int]
    shares: dict[str, float]

    @property
    def table(self) -> pd.DataFrame:
        """Return the rows as a DataFrame of pandas."""
        import pandas as pd

        return self.rows.to_pandas(types_mapper={pa.int32(): pd.Int32Dtype()}.get)


def facet(
    collection: CollectionFolder,
    name: str,
    values: Sequence[FacetValue],
) -> Facet:
    """Answer a question for every dialogue, and write `facets/<name>.parquet`, `.csv` and `.json` in the collection.

    Turns are read by the encoder before training. Their vectors are kept, so that the next question takes seconds. The
    answer is the most probable of the values and "none" (`dial2vec.collection.facets.likeness`).

    :param name: name of the question, of letters, digits, "_" and "-".
    :param values: possible answers, with labels that differ.
    :raises CorpusError: if the name or a value cannot be used, an example is not in the collection, or the collection
        has no dialogue.
    :raises BusyError: if another process answers a question about this collection.
    """
    _check(collection, name, values)
    examples = [[collection.row(example) for example in value.examples] for value in values]
    folder = collection.folder / FACETS
    with folder_lock(folder, "answers a question in"):
        turns = complete_turns(collection)
        units = unit_rows(turns.encoder.encode_utterances([value.text for value in values]))
        units = moved_by_examples(units, turns.vectors, turns.starts, examples)
        alike = likeness(turns.vectors, turns.starts, units)
        chances = _with_examples(probabilities(alike), examples)
        result = _facet(collection, name, [value.label for value in values], chances, alike.turns)
        _write(folder, result, values, turns.encoder.name)
    return result


def _check(collection: CollectionFolder, name: str, values: Sequence[FacetValue]) -> None:
    """Raise if a name or a value cannot be used."""
    if not re.fullmatch(r"\w[\w-]{0,99}", name) or name in TAKEN:
        raise CorpusError(
            f"the question is called {name!r}; expected letters, digits, _ and -, and not {', '.join(TAKEN)}. Use "
            "another name."
        )
    if name in collection.metadata_kinds and not (collection.folder / FACETS / f"{name}.parquet").exists():
        raise CorpusError(
            f"the question is called {name!r}, and so is a key of the metadata in {collection.folder}; expected a name "
            "of its own. Use another one."
        )
    if not values:
        raise CorpusError(f"question {name} has no description; expected at least 1. Give --is 'LABEL: DESCRIPTION'.")
    for label, times in Counter(value.label for value in values).items():
        if times > 1 or label == NONE_OF_THEM or not label.strip():
            raise CorpusError(
                f"question {name} has the label {label!r} {times} times; expected labels that differ and are neither "
                f"blank nor {NONE_OF_THEM!r}. Rename it."
            )
    if not len(collection):
        raise CorpusError(f"{collection.folder} has no dialogues; expected at least 1. Index some first.")


def moved_by_examples(
    units: NDArray[np.float32],
    vectors: Callable[[slice], NDArray[np.float32]],
    starts: NDArray[np.int64],
    examples: Sequence[Sequence[int]],
) -> NDArray[np.float32]:
    """Return descriptions that examples have moved, vectors of length 1, float32 [descriptions, d].

    The mean of the examples is added, with a weight that grows with their number. Of an example, the turns near to the
    description weigh most.

    :param units: vectors of the descriptions, of length 1, float32 [descriptions, d].
    :param vectors: function that returns vectors of length 1 of consecutive turns, counted over all dialogues.
    :param starts: first turn of each dialogue, and the number of turns at the end, int64 [n + 1].
    :param examples: rows of the examples of each description.
    """
    moved = units.copy()
    for place, rows in enumerate(examples):
        for row in rows:
            turns = np.asarray(vectors(slice(starts[row], starts[row + 1])), dtype=np.float32)
            spoken = softmax(turns @ units[place] / SHARPNESS) @ turns
            moved[place] += EXAMPLES / (len(rows) + HALF) * spoken
    return unit_rows(moved)


def _with_examples(chances: Floats, examples: Sequence[Sequence[int]]) -> Floats:
    """Give the examples the answers that are known; an example of several answers shares them."""
    known = np.zeros_like(chances)
    for column, rows in enumerate(examples):
        known[rows, column] = 1
    is_known = known.any(1)
    chances[is_known] = known[is_known] / known[is_known].sum(1, keepdims=True)
    return chances


def _facet(
    collection: CollectionFolder, name: str, labels: Sequence[str], chances: Floats, turns: NDArray[np.int32]
) -> Facet:
    """Return the answers as a table."""
    every = [*labels, NONE_OF_THEM]
    places = chances.argmax(1)
    rows = np.flatnonzero(places < len(labels))
    numbers = turns[rows, places[rows]]
    spoken = [dialogue.turns[turn] for dialogue, turn in zip(collection.dialogues(rows.tolist()), numbers, strict=True)]
    # Row of each dialogue in `rows`, missing for those without an answer.
    answered = pa.array(np.searchsorted(rows, np.arange(len(places))), mask=places == len(labels))
    table = pa.table(
        {
            "dialogue_id": collection.rows["dialogue_id"],
            "value": pa.array(every).take(pa.array(places)),
            "probability": chances.max(1).astype(np.float32),
            "turn": pa.array(numbers, pa.int32()).take(answered),
            "speaker": pa.array([turn.speaker for turn in spoken], pa.string()).take(answered),
            "text": pa.array([turn.text for turn in spoken], pa.string()).take(answered),
        }
        | {f"p_{label}": chances[:, place].astype(np.float32) for place, label in enumerate(every)}
    )
    sizes, shares = np.bincount(places, minlength=len(every)).tolist(), chances.mean(0).tolist()
    return Facet(name, table, dict(zip(every, sizes, strict=True)), dict(zip(every, shares, strict=True)))


def _write(folder: Path, result: Facet, values: Sequence[FacetValue], encoder: str) -> None:
    with atomic_path(folder / f"{result.name}.csv") as temporary:
        pyarrow.csv.write_csv(without_formulas(result.rows), temporary)
    record: Mapping[str, object] = {
        "name": result.name,
        "values": [asdict(value) for value in values],
        "encoder": encoder,
        "dialogues": len(result.rows),
        "sizes": result.sizes,
        "shares": {label: round(share, 4) for label, share in result.shares.items()},
    }
    write_json(folder / f"{result.name}.json", record)
    with atomic_path(folder / f"{result.name}.parquet") as temporary:
        pq.write_table(result.rows, temporary)
