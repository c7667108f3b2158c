"""The manual is true: its commands exist, its links lead somewhere, its errors are said, and it builds as a site."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest

from conversations.by_recipe.known import known_recipes
from dial2vec.cli import main

ROOT = Path(__file__).parents[1]
ROOT_PAGES = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")]
PAGES = [*ROOT_PAGES, *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Shown in docs/log.md, of which old entries stay as they were.
OLD = {"log.md"}


def lines_of_shell(page: Path) -> list[str]:
    text = "\n".join(BLOCK.findall(page.read_text(encoding="utf-8"))).replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.strip()]


def commands() -> list[tuple[str, list[str]]]:
    found = []
    for page in PAGES:
        if page.name in OLD:
            continue
        for line in (line for line in lines_of_shell(page) if "dial2vec " in line):
            words = shlex.split(line, comments=True)
            starts = [at for at, word in enumerate(words) if Path(word).name == "dial2vec"]
            found += [(f"{page.name}: {line}", words[at + 1 :]) for at in starts]
    return found


@pytest.mark.parametrize(("line", "words"), commands(), ids=lambda value: value if isinstance(value, str) else "")
def test_every_command_of_the_manual_exists_with_its_options(line, words):
    command: click.Command = main
    while isinstance(command, click.Group) and words:
        while words and words[0].startswith("-"):
            words = words[1:]
        if not words:
            return
        # A group such as `curate FOLDER` takes its arguments before the name of the command.
        words = words[sum(isinstance(parameter, click.Argument) for parameter in command.params) :]
        assert words, line
        command, words = command.get_command(click.Context(command), words[0]), words[1:]
        assert command, line
    options = {name for parameter in command.params for name in parameter.opts} | {"--help", "-h"}
    for word in words:
        if word in ("|", "&&", ">", ";"):
            break
        if re.match(r"-{1,2}[a-z]", word):
            assert word.partition("=")[0] in options, line


def test_every_target_of_make_in_the_manual_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        said = re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8"))
        said += [line.split()[1] for line in lines_of_shell(page) if line.startswith("make ")]
        assert set(said) <= targets, page.name


def test_every_error_that_troubleshooting_names_is_said_by_the_code():
    source = "\n".join(path.read_text(encoding="utf-8") for path in [*(ROOT / "src").rglob("*.py"), ROOT / "Makefile"])
    # Sentences are written over several lines, with figures in between.
    source = re.sub(r'"\s*\n\s*f?"', "", source).lower()
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    named = re.findall(r'^\*\*"(.+?)"', page, re.MULTILINE)
    assert len(named) > 15
    for sentence in named:
        for part in re.split(r"\s*\.\.\.\s*|\b\d+\b", sentence.removesuffix(" No space left on device")):
            words = part.strip(" :")
            assert words.lower() in source, sentence


class Links(HTMLParser):
    """The links and ids of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.outside: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src") and value:
                (self.outside if "//" in value and tag != "a" else self.links).append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("manual") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.services("mkdocs")
def test_the_manual_builds_as_a_site_whose_links_lead_somewhere_and_which_needs_no_network(site):
    assert (site / "curves.html").is_file()
    for page in site.glob("*.html"):
        found = Links(page)
        assert found.outside == [], page.name
        for link in found.links:
            path = link.partition("#")[0]
            if path and "//" not in path and not path.startswith(("mailto:", "/")):
                assert (page.parent / path).exists(), f"{page.name}: {link}"


@pytest.mark.services("mkdocs")
def test_each_page_of_the_site_is_there_as_markdown_and_llms_txt_lists_it_with_a_sentence(site):
    title, summary, *sections = (site / "llms.txt").read_text(encoding="utf-8").split("\n\n")
    assert title == "# dial2vec"
    assert summary.startswith("> ")
    assert "## Begin" in sections
    listed = re.findall(r"^- \[(.+?)\]\((.+?)\): (.+)$", "\n".join(sections), re.MULTILINE)
    assert {page for _, page, _ in listed} == {page.name for page in site.glob("*.md")}
    assert {Path(page).stem for _, page, _ in listed} == {page.stem for page in site.glob("*.html")} - {"404", "curves"}
    for name, page, sentence in listed:
        assert (site / page).read_text(encoding="utf-8").lstrip().startswith("#"), name
        assert 10 < len(sentence) < 300, sentence
        assert "](" not in sentence, sentence


@pytest.mark.services("mkdocs", "chromium")
def test_the_search_of_the_manual_works_from_the_disk_and_nothing_asks_the_network(site, chromium):
    for name in ("index", "look", "reference", "log", "curves"):
        chromium.open((site / f"{name}.html").as_uri())
        chromium.until("document.readyState === 'complete'")
    chromium.open((site / "look.html").as_uri())
    chromium.until("document.readyState === 'complete' && !!window.IFrameWorker")
    chromium.click(".md-search__input")
    chromium.write("drift")
    # What is typed before the search listens is looked up at the next key.
    key = "document.querySelector('.md-search__input').dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}))"
    first = chromium.until(f"{key} && document.querySelector('.md-search-result__link')?.href")
    assert first.startswith((site / "drift.html").as_uri())
    chromium.click(".md-search-result__link")
    assert chromium.until("document.readyState === 'complete' && document.querySelector('h1')?.textContent").startswith(
        "Drift"
    )
    assert chromium.complaints == []
    assert {address.partition(":")[0] for address in chromium.requests} <= {"file", "data", "blob", "about"}


def test_every_page_of_the_manual_has_a_picture_and_says_what_it_shows():
    for page in (ROOT / "docs").glob("*.md"):
        pictures = re.findall(r"!\[(.*?)\]\((.+?)\)", page.read_text(encoding="utf-8"))
        assert pictures, page.name
        for words, picture in pictures:
            assert len(words.split()) > 3, f"{page.name}: {picture}"
            assert (page.parent / picture).is_file(), f"{page.name}: {picture}"


def test_every_page_of_the_manual_is_in_its_contents():
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [path.name for path in (ROOT / "docs").glob("*.md") if f": {path.name}\n" not in contents] == []


def test_every_recipe_is_on_the_page_of_exports_with_its_format_and_its_dialogue():
    page = runpy.run_path(str(ROOT / "docs" / "hooks.py"))["as_page"](known_recipes().values())
    assert page.count("\nRecipe `") == len(known_recipes())
    for recipe in known_recipes().values():
        assert f"## {recipe.title}\n\nRecipe `{recipe.name}`; [format]({recipe.source})." in page
    assert "- **Maria**: My card was declined" in page
