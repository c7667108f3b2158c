"""Recipes and methods of other packages: the package of docs/plugins.md, found by real entry points."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from conversations import read
from conversations.by_recipe import known
from conversations.explaining import known_exports
from dial2vec.config import Settings
from dial2vec.errors import SettingsError
from dial2vec.params import settings_from_dict

PAGE = (Path(__file__).parents[1] / "docs" / "plugins.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```\w+\n# (\S+)\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))
PROJECT, INIT, PATH = "pyproject.toml", "acme_dial2vec/__init__.py", "acme_dial2vec/recipes/acme_tickets.yaml"
RECIPE, POINT = FILES[PATH], 'acme = "acme_dial2vec.recipes"'
OTHER = RECIPE.replace("Acme, tickets", "Other")
EXPORT = '[{"acme_ticket": "A-1", "exchange": [{"who": "c", "words": "Hello?"}, {"who": "a", "words": "Yes."}]}]'
Install = Callable[..., Path]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the user's own recipes."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    known.folder_of_user().mkdir(parents=True)
    known._known.cache_clear()
    yield known.folder_of_user()
    known._known.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "acme_dial2vec"]:
        del sys.modules[name]


@pytest.fixture
def install(tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Lay the package of the page where Python finds it, with other files in place of some of its own."""

    def lay(**files: str) -> Path:
        everything = (
            FILES | {"acme_dial2vec/__init__.py": ""} | {PATH if n == "recipe" else n: t for n, t in files.items()}
        )
        groups = tomllib.loads(everything["pyproject.toml"])["project"]["entry-points"]
        lines = [line for group, points in groups.items() for line in (f"[{group}]", *map(" = ".join, points.items()))]
        everything["acme-1.dist-info/METADATA"] = "Name: acme-dial2vec\nVersion: 1\n"
        everything["acme-1.dist-info/entry_points.txt"] = "\n".join(lines)
        for path, text in everything.items():
            (tmp_path / "site" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "site" / path).write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path / "site")
        return tmp_path / "site"

    return lay


def test_the_package_of_the_manual_is_found_and_passes_its_own_test(install):
    folder = install()
    assert re.search(r"^acme_tickets +Acme, tickets, from package acme-dial2vec$", known_exports(), re.MULTILINE)
    assert known.text_of_recipe("acme_tickets") == RECIPE
    # Settings that lie above the folder of temporary files do not count.
    test = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", "test_acme.py"]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(test, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout


def test_the_method_of_the_manual_trains_and_a_damaged_one_is_refused(install, tiny_folder, tmp_path):
    from dial2vec.encoder import DialogueEncoder
    from dial2vec.pipeline.train import _fingerprint
    from dial2vec.training.methods import method_of
    from dial2vec.training.negatives import draw_samples
    from dial2vec.training.plan import Given
    from tests.training.methods.tiny_runs import TRAIN, corpus, run

    with pytest.raises(SettingsError, match=r"train.method: found 'halves'.*Valid: auto, neighbours"):
        settings_from_dict({"train": {"method": "halves"}})
    install()
    method = settings_from_dict({"train": {"method": "halves"}}).train.method
    settings = Settings(train=replace(TRAIN, method=method, epochs=12, learning_rate=3e-3))
    encoder, dialogues = DialogueEncoder.from_pretrained(tiny_folder), corpus(24)
    samples = draw_samples(dialogues, negatives=1, passes=1, keep_role="random", min_turns=2, seed=1)
    plan = method_of(method)(Given(encoder, dialogues, samples, settings, tmp_path))
    losses = [entry["loss"] for entry in run(encoder, plan, tmp_path / "c").history]
    assert sum(losses[-4:]) < sum(losses[:4]) - 0.2
    (tmp_path / "data").touch()
    kept = SimpleNamespace(split=lambda _: tmp_path / "data", samples=tmp_path / "data")
    before = _fingerprint(kept, settings, encoder)
    folder = install(**{"acme_dial2vec/halves.py": "import nothing_of_this_name"})
    assert _fingerprint(kept, settings, encoder) == before
    (folder / "acme-1.dist-info" / "METADATA").write_text("Name: acme-dial2vec\nVersion: 2\n")
    assert _fingerprint(kept, settings, encoder) != before
    del sys.modules["acme_dial2vec.halves"]
    with pytest.raises(SettingsError, match=r"halves.*acme_dial2vec.halves:plan.*nothing_of_this_name"):
        method_of("halves")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({PATH: "title: ["}, "package acme-dial2vec, .*recipes/acme_tickets.yaml.*not valid YAML"),
        ({PATH: RECIPE.replace("    gives", "    give")}, "'gives'"),
        ({PROJECT: FILES[PROJECT].replace(POINT, 'acme = "acme_dial2vec.missing"')}, "No module named"),
        (
            {PROJECT: FILES[PROJECT].replace(POINT, 'acme = "acme_dial2vec:at"'), INIT: "at = lambda: ['/none']"},
            "/none",
        ),
    ],
)
def test_a_damaged_recipe_or_package_is_named_and_nothing_else_is_lost(install, own, caplog, tmp_path, files, reason):
    install(**files)
    (own / "acme_own.yaml").write_text(RECIPE)
    (own / "zendesk_tickets.yaml").write_bytes(b"\xff")
    (tmp_path / "tickets.json").write_text(EXPORT)
    assert len(read(tmp_path / "tickets.json")) == 1
    assert re.search(reason, caplog.text)
    # Ours stays where another one of its name is damaged.
    assert "your own folder" in caplog.text
    assert "Zendesk" in known.known_recipes()["zendesk_tickets"].title


def test_your_own_recipe_comes_before_that_of_a_package_and_this_one_before_ours(install, own):
    install(**{"acme_dial2vec/recipes/zendesk_tickets.yaml": OTHER})
    (own / "acme_tickets.yaml").write_text(OTHER)
    titles = {name: recipe.title for name, recipe in known.known_recipes().items()}
    assert titles["acme_tickets"] == "Other, from your own folder"
    assert titles["zendesk_tickets"] == "Other, from package acme-dial2vec"


def test_a_relative_path_in_the_environment_does_not_count(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert known.folder_of_user() == Path("/home/ada/.config/dial2vec/recipes")
