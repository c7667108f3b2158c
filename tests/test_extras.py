"""A plain install is enough to look into conversations; a command whose extra is missing names the extra."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.errors import EXTRAS

ROOT = Path(__file__).parents[1]
# Distributions whose modules have other names, or that bring modules of their own.
MODULES = {"faiss-cpu": "faiss", "sentence-transformers": "sentence_transformers", "ruamel-yaml": "ruamel"}
BLOCKED = [module for modules in EXTRAS.values() for module in modules]


def test_the_extras_of_the_code_are_those_of_the_package():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(extras) - {"docs"}
    for extra, modules in EXTRAS.items():
        names = [re.split(r"[\[<>=]", requirement)[0] for requirement in extras[extra]]
        declared = {MODULES.get(name, name.replace("-", "_")) for name in names}
        known = {module for others in EXTRAS.values() for module in others}
        # cronsim comes with Prefect, httpx with transformers too; accelerate is in two extras.
        assert set(modules) - {"cronsim"} <= declared - {"httpx"} <= known


@pytest.mark.parametrize(
    ("arguments", "module", "extra"),
    [
        (("run",), "dvc", "pipeline"),
        (("import", "calls.csv", "--name", "calls"), "dvc", "pipeline"),
        (("page", "mlflow"), "mlflow", "pipeline"),
        (("page", "prefect"), "prefect", "pipeline"),
        (("schedule",), "cronsim", "pipeline"),
        (("history", "calls"), "mlflow", "pipeline"),
        (("serve", "calls"), "mlflow", "pipeline"),
        (("embed", "calls.jsonl", "--model", "models:/dial2vec-calls@champion", "--output", "v"), "mlflow", "pipeline"),
    ],
)
def test_a_missing_extra_is_named_in_one_sentence(tmp_path, arguments, module, extra):
    (tmp_path / "params.yaml").write_text("corpora: [calls]")
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "calls.csv").write_text("call_id,speaker,text\nc,a,Hello\nc,b,Hi\n")
    (tmp_path / "calls.jsonl").write_text(json.dumps({"dialogue_id": "d", "turns": [{"speaker": "a", "text": "w1"}]}))
    # In a process of its own, in which no other test has loaded the module.
    script = f"import sys; sys.modules[{module!r}] = None; from dial2vec.cli import main; main({list(arguments)!r})"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines() == [
        f'Error: this command needs the extra "{extra}": pip install "dial2vec[{extra}]"'
    ]
    assert not (tmp_path / "data").exists()


def test_a_bug_in_an_import_is_not_taken_for_a_missing_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "dial2vec.collection.look", None)
    assert isinstance(CliRunner().invoke(main, ["look", "calls.csv"]).exception, ModuleNotFoundError)


def test_a_plain_install_looks_into_conversations(tmp_path, tiny_folder):
    script = textwrap.dedent(f"""
        import sys
        sys.modules.update(dict.fromkeys({BLOCKED!r}))
        from click.testing import CliRunner
        from dial2vec.cli import main
        import dial2vec
        lines = ["call_id,speaker,text"] + [f"c{{i}},{{who}},w{{i % 9}} w1" for i in range(40) for who in "ab"]
        open("calls.csv", "w").write("\\n".join(lines))
        for command in (
            "look calls.csv --static look.html --model {tiny_folder} --redact",
            "import calls.csv --output calls.jsonl",
            "index calls.jsonl --output calls --model {tiny_folder}",
            "search calls w1",
            "cluster calls",
            "explore calls --static map.html",
            "embed calls.jsonl --model {tiny_folder} --output vectors.parquet",
            "explain calls.jsonl --id c1 --model {tiny_folder} --output page.html",
        ):
            done = CliRunner().invoke(main, command.split())
            assert done.exit_code == 0, (command, done.output, done.exception)
        import dial2vec.collection.explorer.server
        dialogues = dial2vec.read("calls.csv")
        assert dial2vec.DialogueEncoder.from_pretrained({tiny_folder!r}).encode(dialogues).shape == (40, 16)
        print("done")
    """)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
