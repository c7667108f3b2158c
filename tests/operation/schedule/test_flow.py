"""The flow of a project, told by the steps that it takes; `pipeline/test_dvc.py` runs it with all of its parts."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dial2vec.project.new import make_project

SCRIPT = """
import runpy, sys
from contextlib import contextmanager
from unittest.mock import create_autospec
from dial2vec.config import Operation, Prune, Schedule, ScheduledCollection
from dial2vec.operation.schedule.collections import CollectionResult
from dial2vec.operation.schedule import retrain as tasks
from dial2vec.operation.schedule.inbox import Arrival
from dial2vec.operation.schedule.reasons import Reason
from dial2vec.operation.schedule.result import Retraining
from dial2vec.registry.promotion import Verdict

collections = (ScheduledCollection("topics"), ScheduledCollection("themes"))
options = Operation(Schedule(push="all", embed="new"), collections, prune=Prune(nightly=True))
steps = []

@contextmanager
def night(corpora):
    yield corpora, options, done

def step(name, answer):
    of = getattr(tasks, name)
    def take(*arguments):
        steps.append([name, *(one for one in arguments if isinstance(one, str))])
        return answer(*arguments) if callable(answer) else answer
    # A task is called with the arguments that it takes.
    return create_autospec(getattr(of, "fn", of), side_effect=take)

done = Retraining()
module = runpy.run_path("flows/retrain.py")
module["retrain"].fn.__globals__.update(
    night=night, reconcile=lambda root, names: [], registered_models=lambda root, name: [name],
    sentence=str,
    bring_data=step("bring_data", [Arrival("calls", "a.csv", dialogues=3)]),
    decide=step("decide", lambda corpus: Reason(corpus == "calls", "new data")),
    run_stage=step("run_stage", lambda stage, corpus: 1 / 0 if stage == sys.argv[1] else None),
    update_collection=step("update_collection", lambda entry, corpora: steps[-1].append(entry.folder)
                           or CollectionResult(entry.folder, failed=sys.argv[2] * (entry.folder == "topics"))),
    promote=step("promote", Verdict(True, [])), push=step("push", ["nothing was pushed"]),
    embed=step("embed", None), prune_old=step("prune_old", ["version 1 went"]),
)
try:
    print(module["retrain"].fn(["calls", "chats"]), file=sys.stderr)
except Exception as error:
    print("raised", error, file=sys.stderr)
print([steps, done.notes])
"""


@pytest.mark.parametrize(("failing", "damage"), [("", ""), ("select", ""), ("", "it is damaged")])
def test_the_flow_tells_the_story(tmp_path: Path, failing: str, damage: str):
    make_project(tmp_path)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    command = [sys.executable, "-c", SCRIPT, failing, damage]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    steps, notes = ast.literal_eval(done.stdout)
    stages = ["validate", "prepare", "sample", "train", "select", "distil", "evaluate", "register"]
    ran = stages[: stages.index(failing) + 1] if failing else stages
    trained = [["decide", "calls"], *(["run_stage", stage, "calls"] for stage in ran)]
    # An error does not stop the other corpora.
    trained += [["promote", "calls"]] * (not failing) + [["decide", "chats"], ["promote", "chats"]]
    # Neither does that of a collection, which delays nothing else.
    trained += [["update_collection", "topics"], ["update_collection", "themes"]]
    assert steps == [["bring_data"], *trained, ["push", "all"], *([["embed", "new"], ["prune_old"]] * (not failing))]
    assert notes == ["nothing was pushed"] + ["version 1 went"] * (not failing)
    reason = "calls: division by zero" if failing else f"topics: {damage}" if damage else ""
    told = f"raised {reason}" if reason else "'calls': 'trained: new data. Promoted"
    assert told in done.stderr
