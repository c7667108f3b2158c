"""Give each dialogue one of a few labels, with the turn that says so, and write them into the collection."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.files import atomic_path, read_json, write_checked_json
from conversations.progress import bar_to
from dial2vec.collection.collection_folder import LENSES, CollectionFolder, checked_table, readable, sampled
from dial2vec.collection.formulas import write_table
from dial2vec.collection.lenses.encoder import LensModel
from dial2vec.collection.lenses.examples import examples_file, groups_of, read_examples, write_examples
from dial2vec.collection.lenses.learning import (
    CALIBRATED,
    CALIBRATED_EACH,
    LensData,
    Quality,
    can_learn,
    learn,
    load_lens,
)
from dial2vec.collection.lenses.likeness import Floats, likeness, moved_by_examples, probabilities
from dial2vec.collection.lenses.model import TurnReader
from dial2vec.collection.search.turns import complete_turns
from dial2vec.data.workers import spread
from dial2vec.encoder.checksums import md5_of
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import CorpusError
from dial2vec.files import folder_lock

if TYPE_CHECKING:
    import pandas as pd

NONE, UNSURE = "none", "unsure"
# Names that conditions of a search, and a file beside those of lenses, already have.
TAKEN = ("label", "speaker", "date", "turns", "words", "checksums")
# Probability from which a learnt label is told, and other dialogues that are read for self-training.
SURE, SPARE = 2 / 3, 1_000
# Dialogues that are read at a time, and such parts for which one more process is worth its start.
PART, FEWEST_PARTS = 1_024, 8


@dataclass(frozen=True, slots=True)
class LensLabel:
    """A label, or "none", which all other dialogues have.

    :param label: short name, not "unsure".
    :param descriptions: sentences that somebody could say in such a dialogue. Those of "none" tell what else is said.
    """

    label: str
    descriptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lens:
    """The label of each dialogue.

    :param rows: a row per dialogue, in the collection's order: `dialogue_id`; `value`, a label, "none", or "unsure"
        if nothing learnt is probable enough; `probability` of the most probable, in [0, 1]; the turn that says most for
        the value: `turn` (its number, from 0), `speaker` and `text`, missing for "none" and "unsure"; and the
        probabilities `p_<label>` and `p_none`, which sum to 1.
    :param shares: expected share of dialogues by label, the mean of the probabilities, in [0, 1].
    :param quality: quality of each label that was learnt; empty if the labels were compared with their descriptions.
    :param examples: number of examples.
    """

    name: str
    rows: pa.Table
    shares: dict[str, float]
    quality: dict[str, Quality]
    examples: int

    @property
    def sizes(self) -> dict[str, int]:
        """Return the number of dialogues by value, in the order of the labels, "none" and "unsure" last."""
        counts = {each["values"]: each["counts"] for each in self.rows["value"].value_counts().to_pylist()}
        return {value: counts.get(value, 0) for value in (*self.shares, *([UNSURE] if UNSURE in counts else []))}

    @property
    def warnings(self) -> list[str]:
        """Return what to know before these labels are used, a sentence each."""
        sentences = []
        if not self.quality:
            sentences.append("The labels were compared with their descriptions: read probabilities as an order.")
        elif self.examples < CALIBRATED:
            sentences.append(f"{self.examples} examples are few: read probabilities as an order, below {CALIBRATED}.")
        for label, quality in self.quality.items():
            if self.examples >= CALIBRATED and quality.examples < CALIBRATED_EACH:
                sentences.append(
                    f"{label} has {quality.examples} examples; expected {CALIBRATED_EACH} for probabilities."
                )
            if quality.interval[0] <= 0.5:
                sentences.append(f"{label} is told no better than by chance, so far. Give more examples.")
            if quality.giveaway:
                sentences.append(f"{label} is told by {quality.giveaway!r} alone: perhaps a phrase of a template.")
        return sentences

    @property
    def table(self) -> pd.DataFrame:
        """Return the rows as a DataFrame of pandas."""
        import pandas as pd

        return self.rows.to_pandas(types_mapper={pa.int32(): pd.Int32Dtype()}.get)


def lens(
    collection: CollectionFolder,
    name: str,
    labels: Sequence[LensLabel],
    examples: Mapping[str, str] = MappingProxyType({}),
    *,
    seed: int = 0,
    progress: bool = False,
) -> Lens:
    """Label every dialogue, and write `lenses/<name>.parquet`, `.csv`, `.json`, `.safetensors` and `.examples.csv`.

    From 20 examples on, with 2 on each side of each label, labels are learnt from them and from the descriptions
    (`dial2vec.collection.lenses.learning`). With fewer, each dialogue gets the label whose descriptions its turns are
    nearest to, by the encoder before training (`dial2vec.collection.lenses.likeness`).

    :param name: name of the lens, of letters, digits, "_" and "-"; a key of the metadata from then on.
    :param labels: labels that exclude each other.
    :param examples: label by dialogue id; "none" for a dialogue that has none of them.
    :param seed: seed of the dialogues drawn for self-training, and of the folds.
    :raises CorpusError: if the name or a label cannot be used, an example is not in the collection or has an unknown
        label, a label without descriptions has too few examples, or the collection has no dialogue.
    :raises BusyError: if another process writes a lens of this collection.
    """
    _check(collection, name, labels)
    places = {each.label: place for place, each in enumerate(each for each in labels if each.label != NONE)}
    known = _known(collection, examples, places)
    folder = collection.folder / LENSES
    with folder_lock(folder, "writes a lens of"):
        model: LensModel | None = None
        quality: list[Quality] = []
        if can_learn(np.array(list(known.values()), dtype=np.int64), len(places)):
            model, quality = learn(_data(collection, labels, known, seed), seed)
            model.save(folder / f"{name}.safetensors")
            chances, turns = _read(collection, folder / f"{name}.safetensors", len(places), 0, progress=progress)
        else:
            chances, turns = _compared(collection, labels, known, progress=progress)
        _set_known(chances, known)
        sure = SURE if model is not None and len(known) >= CALIBRATED else 0
        rows = _rows(collection, list(places), chances, turns, 0, sure)
        shares = dict(zip((*places, NONE), chances.mean(0).tolist(), strict=True))
        result = Lens(name, rows, shares, dict(zip(places, quality, strict=False)), len(known))
        write_examples(examples_file(collection.folder, name), examples)
        _write(folder, result, labels, sure)
    return result


def read_new(collection: CollectionFolder, name: str) -> Lens:
    """Label the dialogues that were added since a lens was made; after new examples, learn again and label all.

    A lens that has learnt nothing compares all again.

    :raises ArtifactError: if a file of the lens is damaged.
    """
    folder = collection.folder / LENSES
    record = read_record(folder / f"{name}.json")
    labels = [LensLabel(each["label"], tuple(each["descriptions"])) for each in record["labels"]]
    if not record["quality"] or not _knows_examples(collection, record):
        return lens(collection, name, labels, read_examples(examples_file(collection.folder, name)))
    with folder_lock(folder, "writes a lens of"):
        with readable(path := folder / f"{name}.parquet", f"; expected a lens. {again(path)}"):
            before = checked_table(path)
        names = [each.label for each in labels if each.label != NONE]
        chances, turns = _read(collection, folder / f"{name}.safetensors", len(names), len(before))
        rows = pa.concat_tables([before, _rows(collection, names, chances, turns, len(before), record["sure"])])
        shares = {label: float(np.mean(rows[f"p_{label}"].to_numpy())) for label in (*names, NONE)}
        quality = {label: Quality(**each) for label, each in record["quality"].items()}
        result = Lens(name, rows, shares, quality, record["examples"])
        _write(folder, result, labels, record["sure"])
    return result


def lens_names(collection: CollectionFolder) -> list[str]:
    """Return the names of the lenses of a collection, sorted."""
    return sorted(path.stem for path in (collection.folder / LENSES).glob("*.parquet"))


def is_current(collection: CollectionFolder, name: str) -> bool:
    """Return whether a lens has read all dialogues, and learnt from all of its examples.

    :raises ArtifactError: if its record is damaged.
    """
    record = read_record(collection.folder / LENSES / f"{name}.json")
    return bool(record["dialogues"] == len(collection)) and _knows_examples(collection, record)


def _knows_examples(collection: CollectionFolder, record: Mapping[str, Any]) -> bool:
    return bool(record.get("examples_md5") == _hash(examples_file(collection.folder, record["name"])))


def _hash(path: Path) -> str:
    return md5_of(path) if path.exists() else ""


def read_record(path: Path) -> dict[str, Any]:
    """Read the record of a lens.

    :raises ArtifactError: if it is damaged.
    """
    with readable(path, f"; expected the record of a lens. {again(path)}"):
        record: dict[str, Any] = read_json(path)
        return {
            key: record[key] for key in ("name", "labels", "examples", "quality", "sure", "shares", "dialogues")
        } | record


def again(path: Path) -> str:
    """Return what to do about a damaged file of a lens."""
    return f"Remove it, and make it again with `dial2vec lens {path.parents[1]} --name {path.stem}`."


def _check(collection: CollectionFolder, name: str, labels: Sequence[LensLabel]) -> None:
    """Raise if a name or a label cannot be used."""
    if not re.fullmatch(r"\w[\w-]{0,99}", name) or name in TAKEN:
        raise CorpusError(
            f"the lens is called {name!r}; expected letters, digits, _ and -, and not {', '.join(TAKEN)}. Use another "
            "name."
        )
    if name in collection.metadata_kinds and not (collection.folder / LENSES / f"{name}.parquet").exists():
        raise CorpusError(
            f"the lens is called {name!r}, and so is a key of the metadata in {collection.folder}; expected a name of "
            "its own. Use another one."
        )
    names = [each.label for each in labels]
    if not set(names) - {NONE}:
        raise CorpusError(f"lens {name} has no label; expected at least 1. Give --is 'LABEL: DESCRIPTION'.")
    for label in names:
        if names.count(label) > 1 or label == UNSURE or not label.strip():
            raise CorpusError(
                f"lens {name} has the label {label!r} {names.count(label)} times; expected labels that differ and are "
                f"neither blank nor {UNSURE!r}. Rename it."
            )
    if not len(collection):
        raise CorpusError(f"{collection.folder} has no dialogues; expected at least 1. Index some first.")


def _known(collection: CollectionFolder, examples: Mapping[str, str], places: Mapping[str, int]) -> dict[int, int]:
    """Return the place of each example's label by its row; the number of labels for none of them."""
    for dialogue_id, label in examples.items():
        if label not in places and label != NONE:
            raise CorpusError(
                f"dialogue {dialogue_id!r} is an example of {label!r}; expected one of {', '.join((*places, NONE))}. "
                "Correct it, or add the label with --is."
            )
    return {collection.row(dialogue_id): places.get(label, len(places)) for dialogue_id, label in examples.items()}


def _data(collection: CollectionFolder, labels: Sequence[LensLabel], known: Mapping[int, int], seed: int) -> LensData:
    reader, own = TurnReader(), np.array(sorted(known))
    others = np.setdiff1d(np.arange(len(collection)), own)
    spare = others[sampled(len(others), SPARE, seed)]
    texts = {each.label: each.descriptions for each in labels}
    names = [each.label for each in labels if each.label != NONE]
    return LensData(
        reader.read(collection.dialogues(own.tolist())),
        np.array([known[row] for row in own.tolist()]),
        reader.read(collection.dialogues(spare.tolist())),
        [reader.sentences(texts.get(label, ())) for label in (*names, NONE)],
        reader.word,
        groups_of(collection, own),
    )


def _read(
    collection: CollectionFolder, model: Path, labels: int, first: int, *, progress: bool = False
) -> tuple[Floats, NDArray[np.int32]]:
    """Return probabilities and turns of the dialogues from `first` on, as `LensModel.read` does."""
    n = len(collection) - first
    dialogues = collection.dialogues(range(first, len(collection)))
    parts: Iterator[list[Dialogue]] = iter(lambda: list(islice(dialogues, PART)), [])
    chances, turns = [np.zeros((0, labels + 1))], [np.zeros((0, labels), dtype=np.int32)]
    with bar_to(n, "reading", unit="dialogue", shown=progress) as bar:
        for read in spread(partial(_read_part, model.resolve()), parts, n_parts=-(-n // PART), fewest=FEWEST_PARTS):
            chances.append(read[0])
            turns.append(read[1])
            bar.update(len(read[0]))
    return np.concatenate(chances), np.concatenate(turns)


def _read_part(model: Path, dialogues: list[Dialogue]) -> tuple[Floats, NDArray[np.int32]]:
    reader, learnt = _loaded(model, model.stat().st_mtime_ns)
    return learnt.read(reader.read(dialogues))


@cache
def _loaded(model: Path, _changed: int) -> tuple[TurnReader, LensModel]:
    """Load a model; a process does so once."""
    return TurnReader(), load_lens(model)


def _compared(
    collection: CollectionFolder, labels: Sequence[LensLabel], known: Mapping[int, int], *, progress: bool
) -> tuple[Floats, NDArray[np.int32]]:
    """Return probabilities and turns by the likeness of turns to descriptions."""
    own = [each for each in labels if each.label != NONE]
    for each in own:
        if not each.descriptions:
            raise CorpusError(
                f"label {each.label!r} has no description, and there are {len(known)} examples; expected a description "
                "of each label, or 20 examples with 2 on each side of each label. Give --is 'LABEL: DESCRIPTION', or "
                "more examples."
            )
    turns = complete_turns(collection, progress=progress)
    units = [unit_rows(turns.encoder.encode_utterances(each.descriptions)).mean(0) for each in own]
    rows = [[row for row, place in known.items() if place == label] for label in range(len(own))]
    moved = moved_by_examples(unit_rows(np.array(units)), turns.vectors, turns.starts, rows)
    alike = likeness(turns.vectors, turns.starts, moved)
    return probabilities(alike), alike.turns


def _set_known(chances: Floats, known: Mapping[int, int]) -> None:
    """Give the examples their labels."""
    rows = list(known)
    chances[rows] = 0
    chances[rows, list(known.values())] = 1


def _rows(
    collection: CollectionFolder,
    labels: Sequence[str],
    chances: Floats,
    turns: NDArray[np.int32],
    first: int,
    sure: float,
) -> pa.Table:
    """Return the rows of the dialogues from `first` on."""
    every = [*labels, NONE, UNSURE]
    places = np.where(chances.max(1, initial=0) < sure, len(every) - 1, chances.argmax(1))
    rows = np.flatnonzero(places < len(labels))
    numbers = turns[rows, places[rows]]
    dialogues = collection.dialogues((rows + first).tolist())
    spoken = pa.array(
        (_said(dialogue, number) for dialogue, number in zip(dialogues, numbers, strict=True)),
        pa.struct([("speaker", pa.string()), ("text", pa.string())]),
        size=len(rows),
    )
    # Row of each dialogue in `rows`, missing for those without a label.
    spoken_rows = pa.array(np.searchsorted(rows, np.arange(len(places))), mask=places >= len(labels))
    return pa.table(
        {
            "dialogue_id": collection.rows["dialogue_id"].slice(first),
            "value": pa.array(every).take(pa.array(places)),
            "probability": chances.max(1, initial=0).astype(np.float32),
            "turn": pa.array(numbers, pa.int32()).take(spoken_rows),
            "speaker": spoken.field("speaker").take(spoken_rows),
            "text": spoken.field("text").take(spoken_rows),
        }
        | {f"p_{label}": chances[:, place].astype(np.float32) for place, label in enumerate(every[:-1])}
    )


def _said(dialogue: Dialogue, number: int) -> dict[str, str]:
    turn = dialogue.turns[number]
    return {"speaker": turn.speaker, "text": turn.text}


def _write(folder: Path, result: Lens, labels: Sequence[LensLabel], sure: float) -> None:
    with atomic_path(folder / f"{result.name}.csv") as temporary:
        write_table(result.rows, temporary)
    record: Mapping[str, object] = {
        "name": result.name,
        "labels": [asdict(each) for each in labels],
        "examples": result.examples,
        "examples_md5": _hash(folder / f"{result.name}.examples.csv"),
        "sure": sure,
        "dialogues": len(result.rows),
        "sizes": result.sizes,
        "shares": {label: round(share, 4) for label, share in result.shares.items()},
        "quality": {label: asdict(each) for label, each in result.quality.items()},
    }
    write_checked_json(folder / f"{result.name}.json", record)
    with atomic_path(folder / f"{result.name}.parquet") as temporary:
        pq.write_table(result.rows, temporary, write_page_checksum=True)
