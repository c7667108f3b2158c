"""The rules of the house: what may import what, and that dvc.yaml tells the truth about it."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from dial2vec.config import Settings

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "dial2vec"
# Carry files and settings about without a say in what a stage computes from them.
PLUMBING = {
    "__init__",
    "pipeline.artifacts",
    "config",
    "errors",
    "params",
    "files",
    "pipeline.dvc_records",
    "telemetry",
    "data.progress",
    "pipeline.run_stage",
}
HEAVY = ("mlflow", "prefect", "dvc", "great_expectations", "ijson")
STAGES = ("validate", "prepare", "sample", "train", "select", "evaluate", "register")


def module_path(name: str) -> Path:
    path = PACKAGE.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def imported_modules(name: str) -> set[str]:
    """Modules of the package that a module names anywhere in its code, without what it needs for types only."""
    found = set()
    for node in ast.walk(ast.parse(module_path(name).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dial2vec"):
            below = node.module.removeprefix("dial2vec").lstrip(".")
            found.add(below or "__init__")
            found |= {f"{below}.{alias.name}".lstrip(".") for alias in node.names}
    return {module for module in found if module_path(module).is_file()}


def closure(name: str) -> set[str]:
    seen, todo = set(), [name]
    while todo:
        module = todo.pop()
        if module not in seen:
            seen.add(module)
            todo += imported_modules(module) - PLUMBING
            # MLflow is given this file by its path.
            todo += ["registry.registered_model"] if module == "registry.tracking" else []
    return seen


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_declares_exactly_the_code_that_it_imports(stage):
    block = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"][stage]
    declared = {ROOT / dep for dep in block["deps"] if dep.startswith("src/")}
    files = {module_path(module) for module in closure(f"pipeline.{stage}")} - {PACKAGE / "pipeline" / "__init__.py"}
    needed = {next((folder for folder in declared if folder in path.parents), path) for path in files}
    assert needed == declared


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_declares_the_settings_that_it_reads(stage):
    block = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"][stage]
    of_no_stage = {"corpora", "processes", "promote"}
    names = {field.name for field in fields(Settings)} - of_no_stage
    files = [PACKAGE / "pipeline" / f"{stage}.py", *(PACKAGE.glob("training/methods/*.py") if stage == "train" else ())]
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text()))]
    read = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("settings", "given.settings")
    }
    if any(isinstance(node, ast.Name) and node.id == "flat" for node in nodes) and stage == "register":
        read = names
    assert read & names == set(block["params"])


def test_what_a_gpu_machine_needs_runs_without_the_pipelines_tools(tiny_folder, tmp_path):
    script = textwrap.dedent(f"""
        import sys
        # What is None here can neither be imported nor found.
        sys.modules.update(dict.fromkeys({HEAVY!r}))
        import dial2vec, dial2vec.data.splits, dial2vec.data.corpora, dial2vec.training.methods, dial2vec.cli
        import dial2vec.collection.embedding
        sys.path.insert(0, {str(ROOT / "tests")!r})
        from pathlib import Path
        from training.test_loop import corpus, run
        from dial2vec.evaluation.measure import measure
        from dataclasses import replace
        encoder, result = run({tiny_folder!r}, Path({str(tmp_path)!r}))
        labelled = [replace(d, labels=("even" if i % 2 else "odd",)) for i, d in enumerate(corpus())]
        found = measure(encoder, labelled, runs=2, seed=1, batch_size=4, progress=False)
        assert 0 <= found.scores["map"] <= 100
        assert not [name for name, m in sys.modules.items() if m and name.split(".")[0] in {HEAVY!r}]
        print("ran", result.steps)
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "ran 12", done.stderr


def test_help_imports_nothing_heavy():
    names = ("torch", "transformers", "sklearn", "pandas", *HEAVY)
    script = f"import sys, dial2vec.cli; print([name for name in {names!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_only_the_registrys_rooms_import_mlflow():
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(line.strip().startswith(("import mlflow", "from mlflow")) for line in path.read_text().splitlines())
    }
    assert {user for user in users if not user.startswith("registry/")} == {"operation/serving/worker.py"}


def test_no_file_is_over_four_hundred_lines():
    long = {p.name: n for p in ROOT.glob("src/**/*.py") if (n := len(p.read_text().splitlines())) > 400}
    assert long == {}
