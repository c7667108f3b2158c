"""Clinc150, Bank77, SNIPS and HWU64: sentences with the intent they express, as Zhou et al. 2022 (DSE) use them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dial2vec.errors import CorpusError, did_you_mean
from dial2vec_papers.corpora.source_files import SourceFile, json_of, open_folder_or_zip, table_of

# Clinc150's label of sentences without an intent.
OUT_OF_SCOPE = "oos"
INTENTS = "the intent sets"


@dataclass(frozen=True, slots=True)
class IntentFiles:
    """The files below a folder, or in a zip archive.

    :param files: path with slashes -> file.
    :param again: way to replace them, for errors.
    """

    path: Path
    files: Mapping[str, SourceFile]
    again: str

    def below(self, folder: str, *, suffix: str) -> list[str]:
        """Return the sorted paths of the files right in a folder that end with a suffix.

        :raises CorpusError: if there is none.
        """
        names = [name for name in self.files if name.rpartition("/")[0] == folder and name.endswith(suffix)]
        if not names:
            raise CorpusError(f"{self.path}/{folder} holds no *{suffix}; expected a file per intent. {self.again}")
        return names

    def file(self, name: str) -> SourceFile:
        """Return a file.

        :raises CorpusError: if it is missing.
        """
        if name not in self.files:
            raise CorpusError(f"{self.path}/{name} does not exist; expected it there. {self.again}")
        return self.files[name]


@contextmanager
def open_intent_files(path: Path, *, what: str = INTENTS) -> Iterator[IntentFiles]:
    """Open a folder of intent sets or of other files, or a zip of one.

    :param what: the files in words, for errors.
    :raises CorpusError: if it is neither.
    """
    if not path.exists():
        raise CorpusError(
            f"{path} does not exist; expected a folder or a zip of {what.removeprefix('the ')}. Check the path."
        )
    again = f"Put a whole copy of {what} at {path}."
    with open_folder_or_zip(path, again=again) as files:
        yield IntentFiles(path, files, again)


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences with their intents.

    :param texts: texts, each on one line, never blank.
    """

    texts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str]]) -> Sentences:
        """Collect sentences from pairs of text and label."""
        kept = list(rows)
        return cls(tuple(text for text, _ in kept), tuple(label for _, label in kept))


@dataclass(frozen=True, slots=True)
class IntentSet:
    """Sentences by intent.

    :param name: key of `INTENT_SETS`.
    :param validation: further in-scope sentences; empty if upstream has none.
    :param out_of_scope: test sentences without an intent; empty if upstream has none.
    :param out_of_scope_train: training sentences without an intent; only the release of DSE uses them.
    """

    name: str
    train: Sentences
    test: Sentences
    validation: Sentences = field(default_factory=Sentences)
    out_of_scope: tuple[str, ...] = ()
    out_of_scope_train: tuple[str, ...] = ()


def read_intents(name: str, path: Path) -> IntentSet:
    """Read one intent set.

    :param name: key of `INTENT_SETS`.
    :param path: folder with a folder per set (`clinc150`, `banking77`, `snips`, `hwu64`), or a zip of it.
    :raises CorpusError: if the set is unknown, or a file is missing or damaged; the message names the file and the
        line, or the entry of a JSON file.
    """
    if name not in INTENT_SETS:
        raise CorpusError(
            f"there is no intent set {name!r}; expected one of {', '.join(INTENT_SETS)}."
            f"{did_you_mean(name, INTENT_SETS)}"
        )
    with open_intent_files(path) as files:
        data = INTENT_SETS[name](files)
    if unseen := sorted(set(data.test.labels) - set(data.train.labels)):
        raise CorpusError(
            f"{path}: {name} tests the intent {unseen[0]!r} ({len(unseen)} such) that has no training sentence; "
            "expected some of each intent. Put a whole copy of the intent sets there."
        )
    return data


def read_clinc150(files: IntentFiles) -> IntentSet:
    """Read `clinc150/data_oos_plus.json`: 15,000 / 3,000 / 4,500 sentences of 150 intents, 1,000 out of scope to test.

    "Plus", which DSE uses, has 250 out-of-scope training sentences instead of 100; all else is as in `data_full`.
    Source: Larson et al. 2019.
    """
    file = files.file("clinc150/data_oos_plus.json")
    parts = json_of(file)
    if not isinstance(parts, dict):
        raise CorpusError(f"{file.address} is no JSON object; expected train, val, test. Fetch it again.")
    read = {part: _pairs(file, parts.get(part), f"{part!r}") for part in ("train", "val", "test")}
    other = {part: _pairs(file, parts.get(part), f"{part!r}").texts for part in ("oos_train", "oos_test")}
    return IntentSet("clinc150", read["train"], read["test"], read["val"], other["oos_test"], other["oos_train"])


def read_bank77(files: IntentFiles) -> IntentSet:
    """Read `banking77/{train,test}.csv`: 10,003 / 3,080 sentences of 77 intents. Source: Casanueva et al. 2020."""
    train, test = (_table(files, f"banking77/{part}.csv", "text", ("category",), ",") for part in ("train", "test"))
    return IntentSet("bank77", train, test)


def read_snips(files: IntentFiles) -> IntentSet:
    """Read `snips/snips_{train,test}.json`: 13,784 + 700 sentences of 7 intents, split again as DSE does.

    The first 90 % of each intent, in the order train file, test file, are for training: sentence i (from 0) of n is for
    testing if i >= 0.9 n. That gives 13,038 / 1,446; the paper prints 1,447. Source: Coucke et al. 2018.
    """
    rows: list[tuple[str, str]] = []
    for part in ("train", "test"):
        file = files.file(f"snips/snips_{part}.json")
        part_of = _pairs(file, json_of(file), "the file")
        rows += zip(part_of.texts, part_of.labels, strict=True)
    total, seen = Counter(label for _, label in rows), Counter[str]()
    divided: dict[bool, list[tuple[str, str]]] = {False: [], True: []}
    for text, label in rows:
        # In whole numbers: 0.9 n is not exact.
        divided[10 * seen[label] >= 9 * total[label]].append((text, label))
        seen[label] += 1
    return IntentSet("snips", Sentences.of(divided[False]), Sentences.of(divided[True]))


def read_hwu64(files: IntentFiles) -> IntentSet:
    """Read `hwu64/{trainset,testset/csv}/*.csv`, fold 1 of 10: 9,960 / 1,076 sentences of 64 intents.

    The intent is `scenario_intent`. The utterance is `answer_from_anno`, the annotators' text, to which the intents
    belong. `answer_from_user`, the typed text, is "null" in 34 rows and has placeholders in about a hundred others
    ("play (radio station) on (radio app)" instead of "play radio javan"). DSE took the typed text with another split of
    3,853 test sentences: its figures are near these, but not comparable. Source: Liu et al. 2019.
    """
    read = {}
    for part in ("trainset", "testset/csv"):
        rows: list[tuple[str, str]] = []
        for name in files.below(f"hwu64/{part}", suffix=".csv"):
            read_file = _table(files, name, "answer_from_anno", ("scenario", "intent"), ";")
            rows += zip(read_file.texts, read_file.labels, strict=True)
        read[part] = Sentences.of(rows)
    return IntentSet("hwu64", read["trainset"], read["testset/csv"])


def _pairs(file: SourceFile, pairs: Any, part: str) -> Sentences:
    """Check a JSON list of `[text, label]`."""
    if not isinstance(pairs, list) or not pairs:
        raise CorpusError(
            f"{file.address}: {part} holds no list of sentences; expected [[text, intent], ...]. Fetch it again."
        )
    rows = []
    for number, row in enumerate(pairs, start=1):
        cells = row if isinstance(row, list) and len(row) == 2 else [None, None]
        text, label = (" ".join(cell.split()) if isinstance(cell, str) else "" for cell in cells)
        if not text or not label:
            raise CorpusError(
                f"{file.address}: entry {number} of {part} is {str(row)[:60]}; expected [text, intent], neither "
                "blank. Mend or remove it."
            )
        rows.append((text, label))
    return Sentences.of(rows)


def _table(
    files: IntentFiles, name: str, text_column: str, label_columns: tuple[str, ...], delimiter: str
) -> Sentences:
    rows = []
    file = files.file(name)
    for line, cells in table_of(file, (text_column, *label_columns), delimiter=delimiter):
        if None in cells or None in cells.values():
            raise CorpusError(
                f"{file.address}:{line}: found more or fewer cells than the header has. Mend or remove this row."
            )
        # Some cells contain line breaks, mostly at their ends.
        text, labels = " ".join(cells[text_column].split()), [cells[column].strip() for column in label_columns]
        if not text or not all(labels):
            raise CorpusError(
                f"{file.address}:{line}: {text_column}, {' or '.join(label_columns)} is blank; expected a "
                "sentence with its intent. Mend or remove this row."
            )
        rows.append((text, "_".join(labels)))
    return Sentences.of(rows)


INTENT_SETS: dict[str, Callable[[IntentFiles], IntentSet]] = {
    "clinc150": read_clinc150,
    "bank77": read_bank77,
    "snips": read_snips,
    "hwu64": read_hwu64,
}
