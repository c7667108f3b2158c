"""The field's words: a word that we once invented stands nowhere; the library's or the paper's word does."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Each invented word with the field's word.
INSTEAD = {
    r"\bstarting encoders?\b|\b(the|this|another|a) (weak )?start\b(?! (of|token|page)\b)": "base encoder",
    r"(?<!at )\bits start\b(?! of\b)": "its base encoder",
    r"\bnobody said\b": "non-speech messages",
    r"\bknown exports?\b": "supported exports",
    r"\b(every|each|a|one|first|second|third|next|last|three) nights?\b": "scheduled run",
    r"\bnightly (run|flow|schedule|file|retraining)s?\b": "scheduled run",
    r"\bthe house\b": "the project, the architecture",
    r"\b(each|every|which) (room|floor)\b|\b(rooms|floors) of\b": "package, layer",
    r"\bon the ground\b|\bground files?\b": "shared modules",
    r"\bfirst process (writes|prepares|alone)\b|\bby the first\b": "main process",
    r"\bmeet(ing)? of (the )?processes\b": "barrier",
    r"\bcan be killed\b": "you can stop it at any time; it resumes",
    r"(?<!--)\banew\b": "from scratch",
    r"\bone sheet\b(?! of paper)": "one-page report",
    r"\bquestions of your own\b": "custom labels",
    r"\bput every \w+ to\b": "assign each ... to",
    r"\b(carry_out|by_the_first|the_first_first|meet|lot)\(": "run, on_main_process, main_process_first, barrier",
}
# Old entries of the log stay as they were, and results are written by a command from cells with these names.
AS_WRITTEN = {"log.md", "results.md", "method-results.md"}
SOURCES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "params.yaml", "operation.yaml")),
    ROOT / "src" / "conversations" / "README.md",
    *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in AS_WRITTEN),
]
# What a command prints is said by the code.
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = [path for path in sorted((ROOT / "src").rglob("*")) if path.suffix in {".py", ".js", ".html", ".css"}]
PARAM = re.compile(
    r":param \w+: *(of|that|as|those|such|for|by|in|on|at|with|from|to|which|what|how|why|where|when|who|whose|not"
    r"|only)\b",
    re.IGNORECASE,
)
HELP = re.compile(r"""help=\(?\s*f?["'](Of|As|That|Those|Such|What|In which|By which|Where|Which|How|Who)\b""")
NAMES = {"said", "found", "one", "there", "aside", "beside", "told"}
# Keys of files that are written.
KEYS = {("result.py", "found")}


# Of these words, other meanings are frequent in code: a process has a start, too.
OF_PAGES = ("start", "by the first", "one sheet", "night")
IN_CODE = {pattern: word for pattern, word in INSTEAD.items() if not any(other in pattern for other in OF_PAGES)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_uses_the_words_of_the_field(path):
    text = re.sub(r"[\s#*]+", " ", BLOCK.sub("", path.read_text(encoding="utf-8")))
    places = [
        f"...{text[max(0, match.start() - 30) : match.end() + 20]}...; write: {word}"
        for pattern, word in INSTEAD.items()
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]
    assert places == []


def test_the_description_of_a_parameter_starts_with_a_noun():
    assert {f"{path.name}: {match[0]}" for path in CODE for match in PARAM.finditer(path.read_text())} == set()


def test_help_of_an_option_makes_sense_alone():
    assert {f"{path.name}: {match[0]}" for path in CODE for match in HELP.finditer(path.read_text())} == set()


def test_a_name_is_the_noun_that_it_stands_for():
    trees = ((path, ast.walk(ast.parse(path.read_text()))) for path in CODE if path.suffix == ".py")
    names = (
        (path, node, getattr(node, "id", None) or getattr(node, "arg", None) or getattr(node, "name", None))
        for path, nodes in trees
        for node in nodes
        if isinstance(node, ast.arg | ast.FunctionDef | ast.ClassDef)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    )
    places = {
        f"{path.relative_to(ROOT)}:{node.lineno}: {name}"
        for path, node, name in names
        if name in NAMES and (path.name, name) not in KEYS
    }
    assert places == set()


def test_code_and_its_messages_use_the_words_of_the_field():
    places = {
        f"{path.relative_to(ROOT)}: ...{match[0]}...; write: {word}"
        for path in CODE
        for pattern, word in IN_CODE.items()
        for match in re.finditer(pattern, path.read_text(encoding="utf-8"), re.IGNORECASE)
    }
    assert places == set()
