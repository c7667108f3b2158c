"""Add README, CONTRIBUTING, SECURITY and CHANGELOG to the site as pages, and let links to these files lead there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"\]\((?!https?://|#)(?P<path>[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def on_files(files: Any, *, config: Any) -> Any:
    """Add the pages of the project's root."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=LINK.sub(_from_root, text)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Let links to files of the root lead to their pages."""
    return LINK.sub(_from_docs, markdown)


def _from_root(link: re.Match[str]) -> str:
    path = PAGES.get(link["path"], link["path"].removeprefix("docs/"))
    return f"]({path}{link['anchor'] or ''})"


def _from_docs(link: re.Match[str]) -> str:
    path = PAGES.get(link["path"].removeprefix("../"), link["path"])
    return f"]({path}{link['anchor'] or ''})"
