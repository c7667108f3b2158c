"""The notebooks run from their first cell to their last, as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.services("nbclient")

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path):
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
    assert [cell.source for cell in notebook.cells if cell.cell_type == "code" and not cell.outputs] == []


def test_notebooks_are_kept_without_what_a_run_left_in_them():
    for path in NOTEBOOKS:
        cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        assert not any(cell.outputs or cell.execution_count for cell in cells), path.name
