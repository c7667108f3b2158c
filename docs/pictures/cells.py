"""Picture of the cell of `docs/notebooks/topics.ipynb` that shows the page.

    .venv/bin/python docs/pictures/cells.py --pictures docs

Runs the notebook, and draws source and output of that cell in Chromium as a notebook does: the widget by its own
script, with the model of a notebook that has no Python behind it.
"""

from __future__ import annotations

import argparse
import html
import json
import tempfile
from contextlib import suppress
from pathlib import Path

import nbclient
import nbformat

from browser import Page, browser
from dial2vec.collection.notebook import SCRIPT

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "topics.ipynb"
STATE = "application/vnd.jupyter.widget-state+json"
SIZE = (1440, 734)
# A cell with its number, and the model of the widget, which counts how often it is saved.
CELL = """<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<style>body { margin: 12px; font: 14px/1.5 sans-serif } pre { background: #f5f5f5; border: 1px solid #ddd; padding: 8px;
margin: 0 0 8px }</style><pre>%s</pre><div id="output"></div><script type="module">
const { default: widget } = await import("data:text/javascript;base64," + btoa(%s));
const values = window.values = { html: %s, saved: 0 };
const model = {
  get: (name) => values[name], set: (name, value) => { values[name] = value; }, save_changes: () => { values.saved++; },
};
widget.render({ model, el: document.getElementById("output") });
</script>"""


def cell_page(source: str, page: str) -> str:
    """Return the HTML of a cell whose output is the widget of a page.

    :param source: code of the cell.
    :param page: the widget's `html`.
    """
    script, shown = (json.dumps(text).replace("</", "<\\/") for text in (SCRIPT, page))
    return CELL % (html.escape(source), script, shown)


def open_cell(page: Page, file: Path, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """Open the file of a cell on a screen of this size; return left, top, width and height of the page in it."""
    page.look(size, phone=size[0] < 500)
    page.open("about:blank")
    page.open(file.as_uri())
    page.until("window.values?.saved")
    left, top, width, height = page.value(
        "(({ left, top, width, height }) => [left, top, width, height])(document.querySelector('iframe')"
        ".getBoundingClientRect())"
    )
    return left, top, width, height


def click_in_cell(page: Page, place: tuple[float, float]) -> None:
    """Click a place of the page in a cell until the notebook is told: a frame that is not drawn yet takes no click."""
    saved = page.value("values.saved")
    for _ in range(10):
        page.click(place)
        with suppress(TimeoutError):
            page.until(f"values.saved > {saved}", seconds=5)
            return


def main() -> None:
    """Run the notebook and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, required=True, help="folder of the picture")
    options = parser.parse_args()
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300).execute()
    states = notebook.metadata["widgets"][STATE]["state"].values()
    shown = next(state["state"]["html"] for state in states if "html" in state["state"])
    source = next(cell.source for cell in notebook.cells if ".show(" in cell.source)
    with tempfile.TemporaryDirectory() as folder, browser() as page:
        file = Path(folder) / "cell.html"
        file.write_text(cell_page(source, shown), encoding="utf-8")
        left, top, width, height = open_cell(page, file, SIZE)
        # A topic is chosen.
        click_in_cell(page, (left + width * 0.25, top + height * 0.42))
        page.picture(options.pictures / "notebook-topics.png")


if __name__ == "__main__":
    main()
