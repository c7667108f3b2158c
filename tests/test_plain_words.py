"""Plain words: what a newcomer has to read twice stands nowhere in the package, its manual and its front page."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Each pattern with what to write instead.
INSTEAD = {
    r"\banew\b": "again",
    r"\bbeneath\b": "below, under",
    r"\bbehind\b(?! (nginx|a proxy|a reverse proxy))": "after, below; or name what is in front",
    r"\bhang(s|ing)? on\b": "depend on",
    r"\b(one|two|three|four|five|\d+) at least\b": "at least 2",
    r"\bwhere (there|it|they) (is|are|was|were)\b": "if there is",
    r"\bwhere (that|this) (is|was)\b|\bwhere not\b": "if, otherwise",
    r"\bthat there (is|are) not\b": "unknown, missing",
    r"\bas of\b": "as returned by, since",
    r"\bbe had\b": "be computed, be loaded",
    r"\bstands? in the way\b": "prevents",
    r"\bwhat was wanted\b": "the goal",
    r"\b(whereof|thereof|hitherto|whence|thence|whilst|albeit|lest|upon)\b": "today's word",
    r"\bsave for\b|\bbut for\b": "except",
    r"\bfor want of\b": "without",
    r"\bin none\b": "not",
    r"\bthose that are\b": "name them",
    r"\bwhat came of\b": "the result of",
    r"\bnothing else is\b": "only",
    r"\b(is|are|be) none of\b": "is not",
    r"\bas (they|it) comes?\b": "unchanged",
    r"\bwhich is told\b": "which is reported",
}
# The option of `dial2vec cluster` and `explore` keeps its name.
ALLOWED = re.compile(r"--anew\b")
PARAM = re.compile(
    r":param \w+: *(of|that|as|those|such|for|by|in|on|at|with|from|to|which|what|how|why|where|when|who|whose|not"
    r"|only)\b",
    re.IGNORECASE,
)
HELP = re.compile(r"""help=\(?\s*f?["'](Of|As|That|Those|Such|What|In which|By which|Where|Which|How|Who)\b""")
NAMES = {"said", "found", "one", "there", "aside", "beside", "told"}
# Keys of files that are written.
KEYS = {("result.py", "found")}
SOURCES = [path for path in sorted((ROOT / "src").rglob("*")) if path.suffix in {".py", ".js", ".html", ".css"}]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("path", [*SOURCES, *PAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_has_no_words_that_are_read_twice(path):
    places = [
        f"{number}: {match[0]!r}; write: {instead}"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for pattern, instead in INSTEAD.items()
        if (match := re.search(pattern, ALLOWED.sub("", line), re.IGNORECASE))
    ]
    assert places == []


def test_the_description_of_a_parameter_starts_with_a_noun():
    assert {f"{path.name}: {match[0]}" for path in SOURCES for match in PARAM.finditer(path.read_text())} == set()


def test_help_of_an_option_makes_sense_alone():
    assert {f"{path.name}: {match[0]}" for path in SOURCES for match in HELP.finditer(path.read_text())} == set()


def test_a_name_is_the_noun_that_it_stands_for():
    places = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())) if path.suffix == ".py" else ():
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            name = (
                node.id if stored
                else node.arg if isinstance(node, ast.arg)
                else node.name if isinstance(node, ast.FunctionDef | ast.ClassDef)
                else ""
            )  # fmt: skip
            if name in NAMES and (path.name, name) not in KEYS:
                places.add(f"{path.relative_to(ROOT)}:{node.lineno}: {name}")
    assert places == set()
