"""docs/papers.md: every module, name, setting and row of the tables that it names exists."""

from __future__ import annotations

import ast
import dataclasses
import re
import typing
from functools import cache
from pathlib import Path

import pytest

from dial2vec.config import Operation, Settings
from dial2vec_papers.tables.systems import ALL, WHOLE

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "dial2vec"
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
HEAD = "| paper, section | step, option, baseline, task, figure or table | place here |"
PAPERS = ("dial2vec", "DialogueCSE", "DSE", "DialAug", "Intent augmentation")


def rows() -> list[list[str]]:
    # A stroke in a cell is written \|.
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(HEAD)]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def spans(column: int) -> list[str]:
    return sorted({span for row in rows() for span in re.findall(r"`([^`]+)`", row[column])})


@cache
def names_in(path: Path) -> set[str]:
    """Names that a module defines at its top, and those of its classes as `Class.name`."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        for name in _defined(node):
            found.add(name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{name}" for inner in node.body for name in _defined(inner)}
    return found


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def is_setting(span: str) -> bool:
    block, _, key = span.partition(".")
    for settings in (Settings, Operation):
        hints = typing.get_type_hints(settings)
        if block in hints:
            fields = dataclasses.fields(hints[block]) if dataclasses.is_dataclass(hints[block]) else ()
            return not key or key in {one.name for one in fields}
    return False


def is_module_or_name(span: str) -> bool:
    parts = span.removeprefix("dial2vec.").split(".")
    for n in range(len(parts), 0, -1):
        place = PACKAGE.joinpath(*parts[:n])
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return n == len(parts) or ".".join(parts[n:]) in names_in(path)
    return False


def exists(span: str) -> bool:
    if "/" in span:
        path = span.split("::")[0]
        return any((folder / path).exists() for folder in (ROOT, PACKAGE))
    return is_setting(span) or is_module_or_name(span)


def test_the_page_has_a_table_for_each_of_the_five_papers():
    titles, texts = re.findall(r"^## (.+)$", PAGE, re.MULTILINE), re.split(r"^## .+$", PAGE, flags=re.MULTILINE)[1:]
    parts = dict(zip(titles, texts, strict=True))
    assert set(PAPERS) <= set(parts)
    for paper in PAPERS:
        assert HEAD in parts[paper], paper


def test_every_row_has_four_cells_that_say_where_and_how():
    assert len(rows()) > 60
    for row in rows():
        assert len(row) == 4, row
        assert all(row), row


@pytest.mark.parametrize("span", [span for span in spans(2) if re.fullmatch(r"[\w/]+(?:[./:][\w:]+)+", span)])
def test_every_module_and_setting_that_the_page_names_exists(span):
    assert exists(span), span


def test_every_row_of_the_tables_that_the_page_names_can_be_computed():
    named = {
        name
        for row in rows()
        for listed in re.findall(r"rows? ((?:`\w+`(?:, | and )?)+)", " ".join(row[2:]))
        for name in re.findall(r"\w+", listed.replace(" and ", " "))
    }
    assert named
    assert named <= set(ALL)
    assert {row for row in WHOLE if f"`{row}`" not in PAGE} == set()


# Sections of Liu et al. 2022 that exist and are cited.
SECTIONS = {"3", "3.1", "3.2", "3.2.2", "3.2.4", "4", "4.1", "4.3", "4.4", "5.1"}
# What the manual and the code once said of the paper, and is not so.
UNTRUE = {
    "src/dial2vec_papers/baselines/encoder_mean.py": "How the paper pools",
    "params.yaml": "the paper: 9",
    "src/dial2vec/training/negatives.py": "the paper: 9",
    "docs/encoders.md": "not stated, 30 here",
    "docs/tables.md": "start, read as in the paper",
}


def test_every_cited_section_of_liu_et_al_2022_exists():
    places = [*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py"), ROOT / "params.yaml"]
    texts = (" ".join(path.read_text(encoding="utf-8").replace("#", " ").split()) for path in places)
    found = (re.findall(r"Liu et al\. 2022, sections? ([\d.]+)", text) for text in texts)
    cited = {section.rstrip(".") for sections in found for section in sections}
    assert cited
    assert cited <= SECTIONS


@pytest.mark.parametrize("name", UNTRUE)
def test_what_the_paper_does_not_say_is_no_longer_said_of_it(name):
    assert UNTRUE[name] not in (ROOT / name).read_text(encoding="utf-8")


def test_a_name_that_does_not_exist_would_be_found():
    assert not exists("training.methods.dial2vec.no_loss")
    assert not exists("train.tau")
    assert not exists("training/methods/nothing.py")
    assert exists("training.methods.dial2vec.dial2vec_loss")
    assert exists("train.temperature")
