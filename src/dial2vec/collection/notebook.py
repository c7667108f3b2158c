"""A collection's page as a widget of a notebook, which tells Python what is selected on it."""

from __future__ import annotations

import anywidget
import traitlets

SCRIPT = """
export default {
  render({ model, el }) {
    el.innerHTML = model.get("html");
    const take = ({ source, data }) => {
      if (source !== el.querySelector("iframe").contentWindow || !Array.isArray(data?.selection)) return;
      model.set("selection", data.selection.map(String));
      model.save_changes();
    };
    addEventListener("message", take);
    return () => removeEventListener("message", take);
  },
};
"""


class PageWidget(anywidget.AnyWidget):
    """The page.

    Attribute `selection`: ids of the dialogues that a topic, a search, a filter or the lasso has left, in the order of
    the page's list; [] before.
    """

    _esm = SCRIPT
    html = traitlets.Unicode().tag(sync=True)
    selection = traitlets.List(traitlets.Unicode()).tag(sync=True)
