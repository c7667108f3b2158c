"""The rules of the house: which module may import which, one thing per name, and true pages and dvc.yaml."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest
import yaml

from dial2vec.config import Settings

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "dial2vec"
# Bottom to top. A module imports from its own layer and from those below.
LAYERS = (
    "conversations",
    "",
    "html",
    "data",
    "encoder",
    "training",
    "evaluation",
    "registry",
    "pipeline",
    "project",
    "collection",
    "operation",
    "cli",
    "front",
    "dial2vec_papers",
)
OURS = ("conversations", "dial2vec", "dial2vec_papers")
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}


# Carry files and settings about without a say in what a stage computes from them.
PLUMBING = {
    *(f"conversations.{name}" for name in ("errors", "files", "progress")),
    *(f"dial2vec.{name}" for name in ("config", "errors", "extension", "params", "files", "processes", "telemetry")),
    *(f"dial2vec.pipeline.{name}" for name in ("artifacts", "dvc_records", "run_stage")),
}
HEAVY = ("mlflow", "prefect", "dvc", "great_expectations", "ijson")
STAGES = ("validate", "prepare", "sample", "train", "select", "distil", "evaluate", "register")


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


@cache
def imports_of(module: str) -> dict[str, set[str]]:
    """Modules of ours that a module imports, at its top, inside a function or for types, with the imported names."""
    found: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in OURS:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                if submodule in MODULES:
                    found[submodule]
                else:
                    found[node.module].add(alias.name)
    return found


def layer_of(module: str) -> int:
    package, *inner = module.split(".")
    if package != "dial2vec":
        return LAYERS.index(package)
    if inner in ([], ["__main__"]):
        return LAYERS.index("front")
    return LAYERS.index(inner[0] if (PACKAGE / inner[0]).is_dir() else "")


def test_the_first_look_shows_three_packages_and_few_entries_in_each():
    assert {path.name for path in SOURCE.iterdir() if path.is_dir() and "." not in path.name} == set(OURS)
    for package, most in zip(OURS, (28, 23, 8), strict=True):
        entries = {path.name for path in (SOURCE / package).iterdir()} - {"__pycache__", "README.md"}
        assert len(entries) <= most


def test_the_architecture_page_names_every_entry_of_the_first_look():
    page = (ROOT / "docs" / "architecture.md").read_text()
    entries = {path.name for path in PACKAGE.iterdir()} - {"__pycache__", "py.typed"}
    missing = {name for name in (entries | set(OURS)) if f"`{name}`" not in page}
    assert missing == set()


def test_the_folder_of_the_stages_holds_them_and_what_runs_a_stage():
    runs_a_stage = {"__init__", "artifacts", "dvc_records", "free_space", "run_stage", "scoring"}
    assert {path.stem for path in (PACKAGE / "pipeline").glob("*.py")} == {*STAGES, *runs_a_stage}


def test_nothing_is_imported_from_a_higher_layer():
    upward = {
        (module, target) for module in MODULES for target in imports_of(module) if layer_of(target) > layer_of(module)
    }
    assert upward == set()


def test_the_reader_of_exports_needs_neither_numpy_nor_torch_nor_the_rest():
    script = """
        import importlib, pkgutil, sys
        sys.modules.update(dict.fromkeys(("numpy", "pandas", "torch", "dial2vec", "dial2vec_papers")))
        import conversations
        for module in pkgutil.walk_packages(conversations.__path__, "conversations."):
            importlib.import_module(module.name)
        print(conversations.read)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("<function read"), done.stderr


@pytest.mark.parametrize("wall", [("collection", room) for room in ("pipeline", "project", "evaluation.report")])
def test_rooms_with_a_wall_between_them_do_not_know_each_other(wall):
    def inside(module, room):
        return f"{module}.".startswith(f"dial2vec.{room}.")

    through = {
        (module, target)
        for module in MODULES
        for target in imports_of(module)
        for one, other in (wall, wall[::-1])
        if inside(module, one) and inside(target, other)
    }
    assert through == set()


def test_no_modules_import_each_other_in_a_circle():
    # A module that no other one in the rest imports cannot be in a circle; what is left after removing these is.
    rest = {module: set(imports_of(module)) - {module} for module in MODULES if module not in OURS}
    while True:
        free = {module for module, targets in rest.items() if not targets & rest.keys()}
        if not free:
            break
        rest = {module: targets for module, targets in rest.items() if module not in free}
    assert rest == {}


def definitions(module: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in tree_of(module).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node


def test_a_name_that_other_modules_import_stands_for_one_thing():
    users = {(target, name) for module in MODULES for target, names in imports_of(module).items() for name in names}
    places = defaultdict(set)
    for module in MODULES:
        for node in definitions(module):
            if (module, node.name) in users and ".cli" not in module:
                places[node.name].add(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


def test_every_public_name_is_used():
    texts = {
        path: path.read_text()
        for folder in ("src", "flows", "benchmarks", "docs")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".html", ".ipynb"}
    }
    words = {path: set(re.findall(r"\w+", text)) for path, text in texts.items()}
    unused = set()
    for module, path in MODULES.items():
        for node in definitions(module):
            decorated = any("command" in ast.unparse(decorator) for decorator in node.decorator_list)
            own = len(re.findall(rf"\b{node.name}\b", texts[path])) > 1
            if not decorated and not own and not any(node.name in words[other] for other in texts if other != path):
                unused.add(f"{module}.{node.name}")
    assert unused == set()


def test_no_function_is_over_fifty_lines():
    long = {
        f"{module}.{node.name}": lines
        for module in MODULES
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (lines := code_lines(node)) > 50
    }
    assert long == {}


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring."""
    first = function.body[0]
    docstring = ast.get_docstring(function) is not None
    return function.end_lineno - function.lineno + 1 - (first.end_lineno - first.lineno + 1 if docstring else 0)


def finished_studies() -> tuple[str, set[str]]:
    """The commit that has the code of finished studies, and their scripts."""
    page = (ROOT / "benchmarks" / "studies" / "README.md").read_text()
    [commit] = set(re.findall(r"\b[0-9a-f]{40}\b", page))
    scripts = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    return commit[:8], {f"benchmarks/{name}" for cell in scripts for name in re.findall(r"\w+\.py", cell)}


def test_a_page_that_names_a_finished_study_names_its_commit():
    commit, finished = finished_studies()
    assert len(finished) > 20
    for page in {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")} - {ROOT / "docs" / "log.md"}:
        for paragraph in page.read_text().split("\n\n"):
            named = finished & set(re.findall(r"\bbenchmarks/\w+\.py", paragraph))
            assert not named or commit in paragraph, f"{page.name}: {named}"


def test_every_module_that_a_page_names_exists():
    # The log and the changelog name what there was.
    pages = {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")} - {ROOT / "CHANGELOG.md", ROOT / "docs" / "log.md"}
    known = {
        path.name
        for folder in ("src", "tests", "benchmarks", "flows", "docs")
        for path in (ROOT / folder).rglob("*.py")
    }
    missing, (_, finished) = set(), finished_studies()
    for page in pages:
        text = page.read_text()
        for path in set(re.findall(r"\b(?:src|tests|benchmarks|flows|docs)/[\w/]+\.py", text)) - finished:
            missing |= {f"{page.name}: {path}"} if not (ROOT / path).is_file() else set()
        for name in re.findall(r"`((?:[\w]+/)*\w+\.py)`", text):
            missing |= {f"{page.name}: {name}"} if Path(name).name not in known and name not in finished else set()
        for module in re.findall(r"(?:from|import|-m|`) ?(dial2vec(?:\.[a-z_0-9]+)+)", text):
            room = PACKAGE / module.split(".")[1]
            missing |= (
                {f"{page.name}: {module}"} if not room.is_dir() and not room.with_suffix(".py").is_file() else set()
            )
    assert missing == set()


def closure(module: str) -> set[str]:
    """Modules that a module needs, itself among them, without the plumbing."""
    seen, todo = set(), [module]
    while todo:
        module = todo.pop()
        if module not in seen:
            seen.add(module)
            todo += imports_of(module).keys() - PLUMBING
            # Found by its entry point.
            todo += ["dial2vec_papers.corpora"] if module == "dial2vec.data.corpora" else []
            # MLflow is given this file by its path.
            todo += ["dial2vec.registry.registered_model"] if module == "dial2vec.registry.tracking" else []
    return seen


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_declares_exactly_the_code_that_it_imports(stage):
    block = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"][stage]
    declared = {ROOT / dep for dep in block["deps"] if dep.startswith("src/")}
    files = {MODULES[module] for module in closure(f"dial2vec.pipeline.{stage}")} - {
        PACKAGE / "pipeline/__init__.py",
        SOURCE / "conversations/__init__.py",
    }
    needed = {next((folder for folder in declared if folder in path.parents), path) for path in files}
    assert needed == declared


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_declares_the_settings_that_it_reads(stage):
    block = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"][stage]
    of_no_stage = {"corpora", "processes", "promote"}
    names = {field.name for field in fields(Settings)} - of_no_stage
    # Stage distil chooses with the functions of stage select.
    others = {"train": PACKAGE.glob("training/methods/*.py"), "distil": [PACKAGE / "pipeline" / "select.py"]}
    files = [PACKAGE / "pipeline" / f"{stage}.py", *others.get(stage, ())]
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
        sys.path.insert(0, {str(ROOT)!r})
        from pathlib import Path
        from tests.training.test_loop import corpus, run
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


def test_a_promotion_by_known_figures_and_a_night_without_news_import_no_torch():
    night = ROOT / "src" / "dial2vec" / "operation" / "schedule" / "retrain.py"
    rooms = {"dial2vec.project.promotion"} | {
        node.module
        for node in ast.parse(night.read_text()).body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("dial2vec.")
    }
    script = f"""
        import importlib, sys
        for name in {sorted(rooms)!r}:
            importlib.import_module(name)
        print([name for name in ("torch", "transformers", "sklearn") if name in sys.modules])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_only_the_registry_imports_mlflow():
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(line.strip().startswith(("import mlflow", "from mlflow")) for line in path.read_text().splitlines())
    }
    assert {user for user in users if not user.startswith("registry/")} == set()


def test_no_file_is_over_four_hundred_lines():
    long = {p.name: n for p in ROOT.glob("src/**/*.py") if (n := len(p.read_text().splitlines())) > 400}
    assert long == {}
