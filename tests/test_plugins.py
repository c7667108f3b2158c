"""Recipes and methods of other packages: the package of docs/plugins.md, found by real entry points."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conversations import read
from conversations.by_recipe import known
from conversations.explaining import known_exports
from dial2vec.config import Settings
from dial2vec.errors import CorpusError, SettingsError
from dial2vec.params import settings_from_dict

PAGE = (Path(__file__).parents[1] / "docs" / "plugins.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```\w+\n# (\S+)\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))
RECIPE = FILES["acme_dial2vec/recipes/acme_tickets.yaml"]
EXPORT = '[{"acme_ticket": "A-1", "exchange": [{"who": "c", "words": "Hello?"}, {"who": "a", "words": "Yes."}]}]'
Lay = Callable[..., Path]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's own recipes."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    known._known.cache_clear()
    folder = known.folder_of_user()
    folder.mkdir(parents=True)
    before = set(sys.modules)
    yield folder
    known._known.cache_clear()
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("acme_dial2vec", "bad", "more"):
            del sys.modules[name]


@pytest.fixture
def lay(tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch) -> Lay:
    """Lay files where Python finds them, with the entry points of a pyproject.toml, as an installation does."""

    def write(files: dict[str, str]) -> Path:
        project = tomllib.loads(files["pyproject.toml"])["project"]
        name, groups = project["name"], project["entry-points"].items()
        points = "\n".join(
            f"[{group}]\n" + "\n".join(f"{key} = {value}" for key, value in of.items()) for group, of in groups
        )
        folder = tmp_path / name
        info = f"{name.replace('-', '_')}-{project['version']}.dist-info"
        about = {
            f"{info}/METADATA": f"Name: {name}\nVersion: {project['version']}\n",
            f"{info}/entry_points.txt": points,
        }
        for path, text in ({f"{name.replace('-', '_')}/__init__.py": ""} | files | about).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(folder)
        return folder

    return write


def package(name: str, value: str, **files: str) -> dict[str, str]:
    project = f'[project]\nname = "{name}"\nversion = "1"\n[project.entry-points."dial2vec.recipes"]\nx = "{value}"\n'
    return {"pyproject.toml": project} | {
        path.replace("__", "/").replace("_yaml", ".yaml"): text for path, text in files.items()
    }


def test_the_package_of_the_manual_is_found_and_passes_its_own_test(lay, tmp_path):
    folder = lay(FILES)
    (tmp_path / "tickets.json").write_text(EXPORT)
    [dialogue] = read(tmp_path / "tickets.json")
    assert [(turn.speaker, turn.text) for turn in dialogue.turns] == [("c", "Hello?"), ("a", "Yes.")]
    assert re.search(r"^acme_tickets +Acme, tickets, from package acme-dial2vec$", known_exports(), re.MULTILINE)
    assert known.text_of_recipe("acme_tickets") == RECIPE
    test = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_acme.py"]
    done = subprocess.run(
        test, cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False
    )
    assert "1 passed" in done.stdout, done.stdout


def test_the_method_of_the_manual_trains_and_lowers_its_loss(lay, tiny_folder, tmp_path):
    from dial2vec.encoder import DialogueEncoder
    from dial2vec.training.methods import method_of
    from dial2vec.training.negatives import draw_samples
    from dial2vec.training.plan import Given
    from tests.training.methods.tiny_runs import TRAIN, corpus, run

    lay(FILES)
    settings = settings_from_dict({"train": {"method": "halves"}})
    assert settings.train.method == "halves"
    train = replace(TRAIN, method="halves", epochs=12, learning_rate=3e-3)
    encoder, dialogues = DialogueEncoder.from_pretrained(tiny_folder), corpus(24)
    samples = draw_samples(dialogues, negatives=1, passes=1, keep_role="random", min_turns=2, seed=1)
    plan = method_of("halves")(Given(encoder, dialogues, samples, Settings(train=train), tmp_path))
    losses = [entry["loss"] for entry in run(encoder, plan, tmp_path / "c").history]
    assert sum(losses[-4:]) < sum(losses[:4]) - 0.2


def test_a_method_that_no_package_has_or_that_cannot_be_imported_is_refused(lay):
    from dial2vec.training.methods import method_of

    with pytest.raises(SettingsError, match=r"train.method: found 'halves'.*Valid: neighbours"):
        settings_from_dict({"train": {"method": "halves"}})
    lay(FILES | {"acme_dial2vec/halves.py": "import nothing_of_this_name"})
    with pytest.raises(SettingsError, match=r"halves.*acme_dial2vec.halves:plan.*nothing_of_this_name"):
        method_of("halves")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (package("bad", "bad.r", bad__r__acme_yaml="title: ["), "package bad, .*bad/r/acme.yaml.*not valid YAML"),
        (package("bad", "bad.r", bad__r__acme_yaml=RECIPE + "imput: a\n"), "unknown key 'imput'"),
        (package("bad", "bad.r", bad__r__acme_yaml="title: a\nsource: b\ntext: '['\nspeaker: c"), "acme.yaml"),
        (package("bad", "bad.r", bad__r__acme_yaml=RECIPE.replace("    gives", "    give")), "'gives'"),
        (package("bad", "bad.missing"), "package bad .*No module named"),
        (package("bad", "os:getcwd"), "package bad "),
        (package("bad", "bad:at") | {"bad/__init__.py": "def at(): return ['/nowhere']"}, "FileNotFound.*'/nowhere'"),
    ],
)  # fmt: skip
def test_a_damaged_recipe_or_package_is_named_and_nothing_else_is_lost(lay, own, caplog, tmp_path, files, reason):
    lay(files)
    (own / "acme_tickets.yaml").write_text(RECIPE)
    (own / "zendesk_tickets.yaml").write_bytes(b"\xff")
    (tmp_path / "tickets.json").write_text(EXPORT)
    assert len(read(tmp_path / "tickets.json")) == 1
    assert re.search(reason, caplog.text)
    # Ours stays where another one of its name is damaged.
    assert "Zendesk" in known.known_recipes()["zendesk_tickets"].title
    assert "your own folder" in caplog.text


def test_your_own_recipe_comes_before_that_of_a_package_and_this_one_before_ours(lay, own):
    other = RECIPE.replace("Acme, tickets", "Other")
    paths = "import pathlib\ndef paths():\n    return [pathlib.Path(__file__).parent / 'r']"
    lay(
        package("more", "more:paths", more__r__acme_tickets_yaml=RECIPE, more__r__zendesk_tickets_yaml=other)
        | {"more/__init__.py": paths}
    )
    (own / "acme_tickets.yaml").write_text(other)
    (own / "notes.txt").write_text("no recipe")
    titles = {name: recipe.title for name, recipe in known.known_recipes().items()}
    assert titles["acme_tickets"] == "Other, from your own folder"
    assert titles["zendesk_tickets"] == "Other, from package more"
    assert "notes.txt" not in titles
    with pytest.raises(CorpusError, match="Did you mean 'acme_tickets'"):
        known.load_recipe("acme_ticket")


def test_the_folder_of_the_user_is_that_of_the_system(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert known.folder_of_user() == Path("/home/ada/.config/dial2vec/recipes")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/etc/ada")
    assert known.folder_of_user() == Path("/etc/ada/dial2vec/recipes")
