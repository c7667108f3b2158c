"""A small project of its own for the faults: real DVC, MLflow and Prefect, a tiny encoder, three topics."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml
from tests.tiny_models import bert

from conversations.dialogue import Dialogue, Turn
from dial2vec.collection.clustering.clusters import read_clusters
from dial2vec.collection.collection_folder import MANIFEST, CollectionFolder
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import Dial2vecError
from dial2vec.registry.champions import history
from dial2vec.registry.tracking import local_model, registered_versions

ROOT = Path(__file__).parents[2]
CORPUS = "calls"
WORDS = np.arange(40).reshape(4, 10)


def dialogues(n: int, *, first: int = 0, seed: int = 0) -> str:
    """Lines of n dialogues of three topics: ten words of their own, ten that all share."""
    rng = np.random.default_rng([seed, first])
    lines = []
    for number in range(first, first + n):
        own = WORDS[[number % 3, 3]].ravel()
        turns = [{"speaker": "ab"[t % 2], "text": " ".join(f"w{w}" for w in rng.choice(own, 3))} for t in range(5)]
        lines.append(json.dumps({"dialogue_id": f"d{number}", "turns": turns, "labels": [f"topic{number % 3}"]}))
    return "\n".join(lines) + "\n"


def make_project(folder: Path, *, n: int = 240, cron: str = "0 3 1 1 *") -> Path:
    """Make a checkout with one corpus whose gate lets everything through, so that every training moves the champion."""
    for name in ("dvc.yaml", "src", "flows"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "tiny").mkdir()
    bert(folder / "tiny", *(f"w{number}" for number in range(10, 40)))
    (folder / "data" / CORPUS).mkdir(parents=True)
    (folder / "data" / CORPUS / "a.jsonl").write_text(dialogues(n))
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["corpora"] = [CORPUS]
    params["prepare"] |= {"dev_share": 0.2, "test_share": 0.2}
    params["sample"]["negatives"] = 2
    params["encoder"]["name"] = str(folder / "tiny")
    params["train"] |= {"max_dialogues": 20, "batch_size": 2, "log_steps": 1, "checkpoint_steps": 2}
    params["select"] |= {"selection": "last", "bootstraps": 1}
    params["evaluate"]["kmeans_runs"] = 1
    params["promote"] = {f"min_{name}_gain": -100.0 for name in ("purity", "spearman", "map")} | {"confidence": 0.0}
    schedule = {"cron": cron, "min_new_share": 0.0, "push": "nothing"}
    (folder / "operation.yaml").write_text(yaml.safe_dump({"schedule": schedule}))
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    for command in (("dvc", "init", "--no-scm", "--quiet"), ("dial2vec", "add", CORPUS)):
        done = call(folder, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def environment(project: Path) -> dict[str, str]:
    """Return the variables of a command in the project; its own code is what runs."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_"))}
    return clean | {"PYTHONPATH": str(project / "src"), "PATH": "/usr/bin:/bin"}


def call(project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of .venv/bin to its end."""
    return subprocess.run(
        [f".venv/bin/{command[0]}", *command[1:]],
        cwd=project, env=environment(project), capture_output=True, text=True, check=False,
    )  # fmt: skip


def start(project: Path, *command: str) -> subprocess.Popen[bytes]:
    """Start a command of .venv/bin in a group of its own; what it says goes to `said.log`."""
    with (project / "said.log").open("ab") as log:
        return subprocess.Popen(
            [f".venv/bin/{command[0]}", *command[1:]],
            cwd=project, env=environment(project), stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip


def drop(project: Path, name: str, text: str) -> None:
    """Put a whole file into the inbox, old enough to be taken."""
    path = project / "inbox" / CORPUS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    long_ago = time.time() - 600
    os.utime(path, (long_ago, long_ago))


def bring_by_hand(project: Path, name: str, text: str) -> None:
    """Put dialogues straight into the corpus, and remember them."""
    for folder in (project / "brought", project / "data" / CORPUS):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def bring_to_collection(project: Path, text: str) -> None:
    """Add dialogues to the export that is made a collection."""
    with (project / "export.jsonl").open("a") as export:
        export.write(text)


def collection_faults(project: Path) -> list[str]:
    """Return what is wrong with the collection, in sentences: it opens, and each vector has its dialogue."""
    if not (project / "collection" / MANIFEST).exists():
        return []
    try:
        collection = CollectionFolder(project / "collection")
        found = sum(1 for _ in collection.dialogues())
        read_clusters(collection)
    except Dial2vecError as error:
        return [str(error)]
    return [] if found == len(collection) else [f"{found} dialogues of {len(collection)} can be read"]


def missing_in_collection(project: Path) -> list[str]:
    """Return a sentence if a dialogue of the export is not in the collection."""
    wanted = {json.loads(line)["dialogue_id"] for line in (project / "export.jsonl").open()}
    held = {one.dialogue_id for one in CollectionFolder(project / "collection").dialogues()}
    return [] if wanted == held else [f"{len(wanted - held)} of {len(wanted)} dialogues are not in the collection"]


def registry_faults(project: Path) -> list[str]:
    """Return what is wrong with the registry, in sentences: every alias loads, every version has its files."""
    try:
        return list(_faults(project))
    except Dial2vecError as error:
        return [str(error)]


def lost_dialogues(project: Path) -> list[str]:
    """Return sentences about dialogues that were brought and are not in `data/`, and about whole files refused."""
    imported, by_hand, there = (
        {json.loads(line)["dialogue_id"] for path in folder.rglob("*.jsonl") for line in path.open()}
        for folder in (project / "inbox" / "imported", project / "brought", project / "data" / CORPUS)
    )
    brought = imported | by_hand
    found = [f"{len(brought - there)} of {len(brought)} dialogues are not in data/"] if brought - there else []
    return found + [f"{path} says: {path.read_text()}" for path in (project / "inbox").rglob("*.reason.txt")]


def _faults(project: Path) -> Iterator[str]:
    found = registered_versions(project, CORPUS)
    aliases = [alias for one in found for alias in one.aliases]
    for alias in ("champion", "candidate"):
        if aliases.count(alias) != 1:
            yield f"{aliases.count(alias)} versions are {alias}"
    if any({"champion", "previous"} <= set(one.aliases) for one in found):
        yield "the champion is its own predecessor"
    for one in found:
        if not (local_model(f"models:/dial2vec-{CORPUS}/{one.version}", root=project) / "config.json").is_file():
            yield f"version {one.version} has no files"
    encoder = DialogueEncoder.from_pretrained(local_model(f"models:/dial2vec-{CORPUS}@champion", root=project))
    if encoder.encode([Dialogue("x", (Turn("a", "w1"), Turn("b", "w2")))]).shape != (1, 16):
        yield "the champion encodes nothing"
    champion = next((one.version for one in found if "champion" in one.aliases), "nobody")
    if (told := history(project, CORPUS)[-1].after) != champion:
        yield f"history says {told} is champion, and the alias says {champion}"
