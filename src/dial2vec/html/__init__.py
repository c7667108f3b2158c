"""The shared frame and style of all HTML pages. Each page is one file and needs no network."""

from __future__ import annotations

from typing import Any

import jinja2


def templates(package: str) -> jinja2.Environment:
    """Return the templates of a package, such as "dial2vec.evaluation.report", which may extend `base.html`.

    Values are escaped; a missing value is an error.
    """
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package, ""), jinja2.PackageLoader("dial2vec.html", "")]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def rendered(package: str, name: str, **values: Any) -> str:
    """Return a page from a template of a package."""
    page: str = templates(package).get_template(name).render(**values)
    return page
