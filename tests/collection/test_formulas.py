"""No cell that a command writes as CSV is a formula in a spreadsheet, and no other module writes CSV for people."""

from __future__ import annotations

import csv
import io
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from click.testing import CliRunner
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from conversations.dialogue import Turn
from dial2vec.cli import main
from dial2vec.collection.acting import LABEL_COLUMNS
from dial2vec.collection.formulas import BEGINNINGS, comma_separated, csv_lines, write_table
from dial2vec.data.corpora.transcripts import read_labels
from tests.collection.made import indexed
from tests.collection.planted import planted
from tests.students import tiny_student

SOURCE = Path(__file__).parents[2] / "src"
# Figures under names of our own, for charts and DVC's plots; `labels.csv` without some of its lines, as it was; and a
# workbook's sheet on its way to the reader.
FIGURES = {
    "dial2vec/pipeline/evaluate.py",
    "dial2vec/pipeline/train.py",
    "dial2vec_papers/tables/method_tables.py",
    "dial2vec_papers/tables/paper_tables.py",
}
OTHERS = {"dial2vec/collection/forgetting.py", "conversations/formats/containers.py"}
plain = st.text(st.characters(exclude_categories=("Cs", "Cc"))) | st.text("'=+-@\t\r\n\",;a ")
texts = st.builds(str.__add__, st.sampled_from(["", *BEGINNINGS]), plain)
hostile = st.builds(str.__add__, st.sampled_from(BEGINNINGS), st.text("=+-@'\",;a1| !()", min_size=1, max_size=9))


def cells_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def safe(cell: str) -> str:
    return f"'{cell}" if cell[:1] in BEGINNINGS and cell else cell


@given(st.lists(st.lists(texts | st.integers(), min_size=2, max_size=2), min_size=1))
def test_each_line_reads_as_it_was_but_for_the_mark(rows):
    assert cells_of(csv_lines(rows)) == [
        [safe(cell) if isinstance(cell, str) else str(cell) for cell in row] for row in rows
    ]


@given(st.lists(texts, min_size=1), texts, st.sampled_from([pa.string(), pa.large_string()]))
def test_each_table_reads_as_it_was_but_for_the_mark(cells, name, kind):
    with tempfile.TemporaryDirectory() as folder:
        table = pa.table([pa.array(cells, kind), pa.array(range(0, -len(cells), -1))], names=[name, "number"])
        write_table(table, Path(folder) / "a.csv")
        found = cells_of((Path(folder) / "a.csv").read_bytes().decode())
    assert found == [[safe(name), "number"], *([safe(cell), str(-at)] for at, cell in enumerate(cells))]


@given(st.dictionaries(texts, texts.map(str.strip).filter(bool), min_size=1))
def test_labels_are_read_as_they_were(labels):
    # What begins with the mark itself would lose it.
    marked = re.compile("'[=+@\t\r-]").match
    labels = {name: label for name, label in labels.items() if not (marked(name) or marked(label))}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        write_table(pa.table([list(labels), list(labels.values())], names=LABEL_COLUMNS), path)
        assert read_labels(path) == {name: (label,) for name, label in labels.items()}


@settings(max_examples=3, deadline=None, phases=[Phase.generate])
@given(hostile, hostile, hostile)
def test_no_command_writes_a_formula(name, key, value):
    """Ids, speakers, texts, keys and values of metadata, labels, names of topics, and answers: all could be one."""
    dialogues = [
        replace(
            one,
            dialogue_id=f"{name}{at}",
            turns=tuple(Turn(f"{name}{turn.speaker}", f"{value}{turn.text}") for turn in one.turns),
            metadata={key: f"{value}{at % 2}"},
            labels=(value,),
        )
        for at, one in enumerate(planted()[:40])
    ]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "calls"
        indexed(folder, dialogues, tiny_student())
        printed = "".join(comma_separated(dialogues))
        for words in (
            ["cluster", folder, "--from-scratch"],
            ["curate", folder, "rename", "--", "0", f"{value}x"],
            ["segments", folder],
            ["lens", folder, "--name", "f", "--is", f"{value}a:card", "--is", f"{value}b:pizza"],
            ["export", folder, "--as", "labels", "--output", folder / "labels.csv"],
            ["export", folder, "--as", "tags", "--output", folder / "tags.csv"],
            ["groups", folder, "--csv"],
        ):
            done = CliRunner().invoke(main, list(map(str, words)))
            assert done.exit_code == 0, (words, done.output, done.exception)
            printed += done.stdout if "--csv" in words else ""
        files = {path.name: path.read_bytes().decode() for path in folder.rglob("*.csv")}
    assert {"assignment.csv", "segments.csv", "f.csv", "labels.csv", "tags.csv"} <= files.keys()
    for file, text in {**files, "printed": printed}.items():
        for cell in (cell for row in cells_of(text) for cell in row):
            assert not cell.startswith(BEGINNINGS) or re.fullmatch(r"-?[\d.e-]+", cell), (file, cell)


def test_no_other_module_writes_csv():
    writes = re.compile(r"csv\.(writer|DictWriter)|write_csv|pyarrow\.csv|to_csv")
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if writes.search(path.read_text())}
    assert found == {"dial2vec/collection/formulas.py"} | FIGURES | OTHERS
