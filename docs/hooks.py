"""Add the project's root pages and the page of curves to the site, and let links to their files lead there."""

from __future__ import annotations

import atexit
import gc
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, InclusionLevel

from conversations.by_recipe.catalogue import as_page
from conversations.by_recipe.recipe import known_recipes
from dial2vec_papers.tables.drawing import render_curves

# A build is short and leaves little garbage; looking for it took a third of the time.
gc.disable()
atexit.register(gc.freeze)
ROOT = Path(__file__).parents[1]
CURVES = "curves.html"
EXPORTS = "known-exports.md"
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "src/conversations/README.md": "reader.md",
}
LINKS = PAGES | {"curves.json": CURVES}
LINK = re.compile(r"\]\((?!https?://|#)(?P<path>[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def on_files(files: Any, *, config: Any) -> Any:
    """Add the pages of the project's root, the page of curves, and the known exports."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=LINK.sub(_from_root, text)))
    curves = render_curves(json.loads((ROOT / "docs" / "curves.json").read_text(encoding="utf-8")))
    # The page is excluded as a file of docs/, where `dial2vec papers tables --output docs` writes it.
    files.append(File.generated(config, CURVES, content=curves, inclusion=InclusionLevel.INCLUDED))
    files.append(File.generated(config, EXPORTS, content=as_page(known_recipes().values())))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Let links to these files lead to their pages."""
    return LINK.sub(_from_docs, markdown)


def _from_root(link: re.Match[str]) -> str:
    path = link["path"].removeprefix("../../")
    path = LINKS.get(path, path.removeprefix("docs/"))
    return f"]({path}{link['anchor'] or ''})"


def _from_docs(link: re.Match[str]) -> str:
    path = LINKS.get(link["path"].removeprefix("../"), link["path"])
    return f"]({path}{link['anchor'] or ''})"
