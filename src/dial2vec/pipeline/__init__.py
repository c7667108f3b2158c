"""The stages, and what runs them: they alone open and write the files of a run."""

import gc
import sys

# `python -m` imports a stage: looking for garbage, of which imports leave none, takes a third of that time. The stage's
# `run_stage.main` goes on with it.
if sys.argv[0] == "-m":
    gc.disable()
