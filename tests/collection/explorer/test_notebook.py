"""The page in a cell of a notebook, and what is selected on it in Python."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from anywidget import AnyWidget

from cells import cell_page, click_in_cell, open_cell
from dial2vec.collection import Collection
from dial2vec.collection import collection as module
from dial2vec.collection.clustering.clusters import read_assignment

SIZES = [(1440, 900), (390, 844)]


@pytest.fixture(scope="module")
def calls(collection, tmp_path_factory) -> Collection:
    """A copy, in which groups and map are made."""
    return Collection(shutil.copytree(collection.folder, tmp_path_factory.mktemp("cell") / "calls"))


@pytest.mark.services("chromium")
@pytest.mark.parametrize("size", SIZES)
def test_what_is_selected_on_the_page_is_told_to_the_notebook(calls, chromium, tmp_path, size):
    widget = calls.show(height=500)
    assert isinstance(widget, AnyWidget)
    (tmp_path / "cell.html").write_text(cell_page("calls.show()", widget.html), encoding="utf-8")
    chromium.complaints.clear()
    left, top, width, height = open_cell(chromium, tmp_path / "cell.html", size)
    assert (width, height) == (size[0] - 24, 500)
    assert chromium.value("document.documentElement.scrollWidth") == size[0]
    assert chromium.value("values.selection") == []
    # What the notebook itself posts is no selection.
    chromium.value("postMessage({ selection: ['d0'] }, '*')")
    assert chromium.value("values.selection") == []
    # The first of the topics in the list, below the head of the page.
    click_in_cell(chromium, (left + 100, top + (150 if size[0] > 500 else 140)))
    selection = set(chromium.value("values.selection"))
    groups = read_assignment(calls)
    assert selection in [{f"d{row}" for row in np.flatnonzero(groups == group)} for group in set(groups.tolist())]
    assert chromium.complaints == []


def test_without_anywidget_the_page_is_html_without_the_origin_of_the_notebook(calls, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    html = calls.show().data
    assert html == f"<div>{calls._repr_html_()}</div>"
    assert 'sandbox="allow-scripts allow-downloads"' in html
    # Nothing of a dialogue ends the attribute that the page stands in.
    assert html.count("<") == 4


def test_a_selection_of_the_page_is_an_attribute(calls):
    widget = calls.show(most=12)
    # What ipywidgets calls with the state that a page sends.
    widget.set_state({"selection": ["d1", "d7"]})
    assert widget.selection == ["d1", "d7"]
