"""What every stage does around its work."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import gc, sys
sys.argv = [*sys.argv[1:], "calls"]
import dial2vec.pipeline
print(gc.isenabled())
from dial2vec.pipeline import run_stage
try:
    run_stage.main(lambda *_: "done")
except SystemExit:
    print(gc.isenabled(), gc.get_freeze_count() > 0)
"""


def test_garbage_is_not_looked_for_while_a_stage_is_imported_and_is_while_it_works(tmp_path):
    said = [
        subprocess.run([sys.executable, "-c", SCRIPT, name], cwd=tmp_path, capture_output=True, text=True, check=True)
        for name in ("-m", "train.py")
    ]
    assert [done.stdout.split() for done in said] == [["False", "True", "True"], ["True", "True", "True"]]
