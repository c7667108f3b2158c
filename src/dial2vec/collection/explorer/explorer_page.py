"""The page of the explorer: one file with its style and scripts, which allows no others."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup

from conversations.files import write_text
from dial2vec.collection.collection_folder import CollectionFolder, sampled
from dial2vec.collection.explorer.content import whole_content
from dial2vec.collection.explorer.maps import SEED, Maps
from dial2vec.collection.explorer.packing import packed
from dial2vec.html import templates

# Folder of the page's own files, and its scripts and styles, in the order in which they depend on each other.
PAGE = "dial2vec.collection.explorer.page"
SCRIPTS = [
    f"{name}.js"
    for name in (
        *("unpacking", "meaning", "words", "finding", "sources", "list", "search", "link", "selection"),
        *("picture", "points", "names", "gestures", "curation", "reader", "tip", "map", "conditions", "tabs"),
        *("treemap", "overview", "changes", "filters", "legend", "explorer"),
    )
]
STYLES = [f"{name}.css" for name in ("layout", "map", "panel", "overview", "changes", "filters", "reader")]
# Such a page has 10 to 30 MB, which a browser opens in a few seconds.
MOST_DIALOGUES = 20_000


@dataclass(frozen=True, slots=True)
class StaticPage:
    """Result of `write_page`.

    :param left_out: number of dialogues left out at random.
    """

    dialogues: int
    left_out: int
    bytes: int


def write_page(
    path: Path, collection: CollectionFolder, maps: Maps, *, most: int = MOST_DIALOGUES, seed: int = SEED
) -> StaticPage:
    """Write the explorer as one file that needs neither server nor network, atomically.

    :param most: largest number of dialogues on the page; if there are more, a random sample is used.
    """
    rows = sampled(len(collection), most, seed)
    content = packed(whole_content(collection, maps, rows))
    text = render_explorer(title_of(collection.folder), content=content)
    write_text(path, text)
    return StaticPage(len(rows), len(collection) - len(rows), len(text.encode()))


def title_of(folder: Path) -> str:
    """Return the name of a collection for people: "help_desk_export.look" is "Help desk"."""
    words = folder.resolve().name.removesuffix(".look").removesuffix("_export").replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def render_explorer(title: str, *, content: str = "") -> str:
    """Return the page as HTML.

    :param content: result of `packing.packed` for a page without a server; "" for a page with a server.
    """
    environment = templates(PAGE)
    style = "\n".join(environment.get_template(name).render() for name in STYLES)
    scripts = [_source(name) for name in SCRIPTS]
    policy = {
        "default-src": "'none'",
        "style-src": script_hash(style),
        "script-src": " ".join(map(script_hash, scripts)),
        "connect-src": "'none'" if content else "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return environment.get_template("explorer.html").render(
        title=title,
        policy="; ".join(f"{name} {value}" for name, value in policy.items()),
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        content=content,
    )


def _source(name: str) -> str:
    return files(PAGE).joinpath(name).read_text(encoding="utf-8")


def script_hash(source: str) -> str:
    """Return the hash by which a content policy allows an inline element."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
