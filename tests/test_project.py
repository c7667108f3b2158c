"""The files that welcome others: licence, contributing, citation, templates, changelog, hooks and lock."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PAPERS = {
    "Dial2vec: Self-Guided Contrastive Learning of Unsupervised Dialogue Embeddings": ("Liu", 2022, "EMNLP"),
    "DialogueCSE: Dialogue-based Contrastive Learning of Sentence Embeddings": ("Liu", 2021, "EMNLP"),
    "Learning Dialogue Representations from Consecutive Utterances": ("Zhou", 2022, "NAACL"),
    "DialAug: Mixing up Dialogue Contexts in Contrastive Learning for Robust Conversational Modeling": (
        "Poddar",
        2022,
        "COLING",
    ),
    "Generating Synthetic Data via Intent-Preserving and Intent-Corrupting Augmentations for Training Dialogue "
    "Embeddings": ("Alekseev", 2023, "Manuscript"),
}
QUESTION = re.compile(r"^\| (.+\?) \| `([^`]+)` \|$", re.MULTILINE)


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def citation() -> dict:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def package_names(requirements: list[str]) -> set[str]:
    names = {re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0] for requirement in requirements}
    return {name.lower().replace("_", "-") for name in names if name}


def test_the_licence_is_apache_2_everywhere():
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert (project()["license"], project()["license-files"]) == ("Apache-2.0", ["LICENSE"])
    assert citation()["license"] == "Apache-2.0"


def test_package_citation_and_changelog_name_one_version_and_day():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased, *released = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", changelog, re.MULTILINE)
    assert unreleased == ("Unreleased", "")
    assert released[0] == (citation()["version"], str(citation()["date-released"]))
    assert released[0][0] == project()["version"]
    assert all(day for _, day in released)


def test_the_citation_is_whole():
    file = citation()
    assert file["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "type"} <= file.keys()


@pytest.mark.parametrize("title", PAPERS)
def test_the_citation_names_each_paper_with_authors_year_and_venue(title):
    (paper,) = (paper for paper in citation()["references"] if paper["title"] == title)
    author, year, venue = PAPERS[title]
    assert (paper["authors"][0]["family-names"], paper["year"]) == (author, year)
    assert venue in paper.get("conference", {}).get("name", "") + paper["collection-title"]
    assert paper["url"].startswith("https://")


def test_the_citation_names_no_other_paper():
    assert len(citation()["references"]) == len(PAPERS)


def test_hooks_before_a_commit_run_the_commands_of_make_lint():
    (recipe,) = re.findall(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    commands = re.findall(r"^\t@?\$\(BIN\)/(.+)$", recipe, re.MULTILINE)
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"
    own = [hook for hook in local["hooks"] if hook["language"] == "system"]
    assert [hook["entry"] for hook in own] == [f".venv/bin/{command}" for command in commands]
    assert not any(hook["pass_filenames"] for hook in own)
    others = [hook for hook in local["hooks"] if hook not in own]
    assert all("==" in package for hook in others for package in hook["additional_dependencies"])


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_issue_forms_have_what_github_asks_for(name):
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text())
    assert {"name", "description", "body"} <= form.keys()
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields) > 0
    assert all(field["attributes"]["label"] for field in fields)


def test_pull_requests_are_asked_for_what_contributing_asks():
    text = (ROOT / ".github" / "pull_request_template.md").read_text()
    assert "CONTRIBUTING.md" in text
    assert "`make lint`" in text


def questions() -> list[tuple[str, str]]:
    return QUESTION.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))


def test_a_newcomer_has_ten_questions_with_a_file_each():
    assert len(questions()) == 10
    assert len({file for _, file in questions()}) == 10


@pytest.mark.parametrize(("question", "file"), questions(), ids=[question for question, _ in questions()])
def test_the_file_that_answers_a_newcomers_question_exists(question, file):
    assert (ROOT / file).is_file(), question


def pins(name: str) -> dict[str, list[str]]:
    """From each package and version that a lock file pins to the hashes of its files."""
    text = (ROOT / name).read_text().replace("\\\n", " ")
    lines = {line.split()[0]: re.findall(r"--hash=sha256:([0-9a-f]{64})(?=\s|$)", line) for line in text.splitlines()}
    assert all(re.fullmatch(r"[a-z\d-]+==[\w.+]+", pin) for pin in lines)
    return lines


TOOLS = "requirements.tools.lock"
LOCKS = ("requirements.lock", "requirements.torch.lock", "requirements.torch-cpu.lock", TOOLS)


def test_the_locks_pin_everything_that_they_are_made_from():
    own, *others = (line for line in (ROOT / "requirements.in").read_text().splitlines() if not line.startswith("#"))
    extras = re.fullmatch(r"\.\[(.+)\]", own)[1].split(",")
    optional = project()["optional-dependencies"]
    # Spark needs Java, and the multilingual encoder 32 MB that its tests do without.
    assert set(optional) - set(extras) == {"spark", "multilingual"}
    wanted = package_names(project()["dependencies"] + others + [name for extra in extras for name in optional[extra]])
    pinned = [*pins("requirements.lock"), *pins("requirements.torch.lock")]
    # Extras name each other by the package itself.
    assert wanted - {"dial2vec"} <= package_names(pinned)


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_of_a_lock_has_a_hash(name):
    assert all(pins(name).values())


def test_both_builds_of_torch_are_of_one_version():
    from_index, cpu = pins("requirements.torch.lock"), pins("requirements.torch-cpu.lock")
    assert {pin.removesuffix("+cpu") for pin in cpu} <= set(from_index)
    assert sorted(cpu)[-1].endswith("+cpu")


def test_make_installs_nothing_without_a_hash_but_the_project():
    lines = [line.strip() for line in (ROOT / "Makefile").read_text().splitlines() if "$(PIP)" in line]
    assert [line for line in lines if "--require-hashes" not in line] == ["$(PIP) --editable ."]
    assert {name for line in lines for name in re.findall(r"requirements\S*", line)} == set(LOCKS) - {TOOLS}


def test_make_installs_its_tools_by_their_hashes_alone():
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    installs = [line for line in text.splitlines() if "pip install" in line and not line.startswith(("#", "PIP :="))]
    assert [" ".join(re.findall(r"--require-hashes|requirements\S*", line)) for line in installs] == [
        f"--require-hashes {TOOLS}"
    ]
    assert "tool run" not in text
    assert {"cyclonedx-bom", "pip-audit", "uv"} <= package_names(list(pins(TOOLS)))


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=[path.stem for path in WORKFLOWS])
def test_a_workflow_pins_its_actions_may_only_read_and_calls_what_exists(path):
    text = path.read_text()
    used = [line.split("uses:")[1].strip() for line in text.splitlines() if "uses:" in line]
    assert [use for use in used if not re.fullmatch(r"\./\S+|[\w/-]+@[0-9a-f]{40} # v[\d.]+", use)] == []
    assert yaml.safe_load(text)["permissions"]["contents"] == "read"
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"run: make (\S+)", text)) <= set(targets)
    assert all((ROOT / file).is_file() for file in re.findall(r"(\.(?:ci|github)/[\w/.]+)", text))


def test_the_fast_tests_run_on_every_python_that_the_package_names():
    matrix = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]["fast"]["strategy"]["matrix"]
    named = {line.rpartition(" ")[2] for line in project()["classifiers"] if re.search(r":: 3\.\d+$", line)}
    assert named <= set(matrix["python"])
    assert min(named) == project()["requires-python"].removeprefix(">=")
