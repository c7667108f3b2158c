"""Add the root's pages, the page of curves and llms.txt to the site, and let links to their files lead there."""

from __future__ import annotations

import atexit
import gc
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, InclusionLevel

from conversations.by_recipe.known import known_recipes
from conversations.by_recipe.recipe import Recipe
from dial2vec_papers.tables.drawing import render_curves

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
# Blocks of commands, and a command with its comment. More than 88 characters do not fit beside the table of contents.
CODE = re.compile(r"^```(?:bash|sh|python)\n.*?^```$", re.MULTILINE | re.DOTALL)
COMMENT, WIDE = re.compile(r"^(\S.*?) {2,}(# .*)$", re.MULTILINE), 88

# Markdown of each page, by its name in docs/.
TEXTS: dict[str, str] = {}

HEAD = """# Known exports

{count} kinds of exports are known by a recipe, a small file in `src/conversations/recipes/`.
`dial2vec import` recognises them by their first records or lines; `--recipe NAME` names one. Each recipe is tested on
the example below it, whose words are made up. How recipes are written: [recipes.md](recipes.md).
"""


def on_startup(**_: Any) -> None:
    """Look for no garbage: a build is short and leaves little, and looking took a third of the time."""
    gc.disable()
    atexit.register(gc.freeze)


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
    """Let links to these files lead to their pages, and put comments above commands that leave them no room."""
    TEXTS[page.file.src_uri] = LINK.sub(_from_docs, markdown)
    return CODE.sub(_with_room, TEXTS[page.file.src_uri])


def on_post_build(*, config: Any) -> None:
    """Write each page as Markdown beside it, and llms.txt, which lists these files (https://llmstxt.org)."""
    site = Path(config.site_dir)
    for name, text in TEXTS.items():
        (site / name).write_text(text, encoding="utf-8")
    entries = [next(iter(entry.items())) for entry in config.nav]
    sections = [(title, pages) for title, pages in entries if isinstance(pages, list)]
    sections.append(("Project", [{title: page} for title, page in entries if isinstance(page, str)]))
    lines = [f"# {config.site_name}", f"> {config.site_description}."]
    for title, pages in sections:
        listed = [(name, page) for entry in pages for name, page in entry.items()]
        lines.append(
            "\n".join([f"## {title}\n", *(f"- [{name}]({page}): {summary(TEXTS[page])}" for name, page in listed)])
        )
    (site / "llms.txt").write_text("\n\n".join(lines) + "\n", encoding="utf-8")


def summary(markdown: str) -> str:
    """Return the first sentence of a page, without blocks of commands and links."""
    text = re.sub(r"^```.*?^```$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    paragraphs = (" ".join(part.split()) for part in re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).split("\n\n"))
    # No heading, no picture, no list, no table, and no row of marks.
    first = next(part for part in paragraphs if re.match(r"[A-Z0-9]|`[^`]+` [a-z]", part))
    return re.split(r"(?<=[.?]) ", first)[0].rstrip(":")


def _with_room(code: re.Match[str]) -> str:
    return COMMENT.sub(r"\2\n\1", code[0]) if max(map(len, code[0].splitlines())) > WIDE else code[0]


def _from_root(link: re.Match[str]) -> str:
    path = link["path"].removeprefix("../../")
    path = LINKS.get(path, path.removeprefix("docs/"))
    return f"]({path}{link['anchor'] or ''})"


def _from_docs(link: re.Match[str]) -> str:
    path = LINKS.get(link["path"].removeprefix("../"), link["path"])
    return f"]({path}{link['anchor'] or ''})"


def as_page(recipes: Iterable[Recipe]) -> str:
    """Return the page in Markdown."""
    ordered = sorted(recipes, key=lambda recipe: recipe.title.lower())
    return "\n".join([HEAD.format(count=len(ordered)), *(line for recipe in ordered for line in _entry(recipe))])


def _entry(recipe: Recipe) -> Iterator[str]:
    yield f"## {recipe.title}\n"
    kinds = dict.fromkeys(kind for kind, _ in recipe.not_speech)
    left_out = f" Left out: {', '.join(kinds)}." if kinds else ""
    yield f"Recipe `{recipe.name}`; [format]({recipe.source}).{left_out}\n"
    for example in recipe.examples[:1]:
        # Four backticks: texts may hold three.
        yield f'````text title="{example.file}"\n{example.text.rstrip()}\n````\n'
        for given in example.gives:
            yield from (f"- **{speaker}**: {' '.join(str(text).split())}" for speaker, text in given["turns"])
            yield ""
