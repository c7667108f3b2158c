"""From reading to evaluation, up to a million dialogues: seconds, peak memory, and their growth.

    .venv/bin/python benchmarks/growth.py --sizes 10000 100000 1000000

Writes made-up dialogues, one in ten a near copy of the one before it, into a scratch project and runs the stages there,
each in its own process, like `make run`. An encoder of one layer of width 32 that reads 64 words embeds the dialogues
and is evaluated on the three tasks, so that everything except the encoder is measured. Evaluation compares all pairs
of dialogues, and is left out above 100,000. Prints seconds, microseconds per dialogue and peak
resident memory of each, and the growth per dialogue from the smallest size to the largest. A million dialogues take 3
GB of disk for a while.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from dial2vec.files import find_root

CORPUS = "made_up"
READ = f"""
from pathlib import Path
from dial2vec.data.corpora.transcripts import Transcripts
for _ in Transcripts().read(Path("data/{CORPUS}"), quarantine=[]):
    pass
"""
NARROW = """
import json, sys
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
words = {name: n for n, name in enumerate(["[PAD]", "[UNK]", *(f"word{n}" for n in range(int(sys.argv[1])))])}
tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]").save_pretrained("narrow")
sizes = {"vocab_size": len(words), "hidden_size": 32, "intermediate_size": 32, "max_position_embeddings": 64}
BertModel(BertConfig(num_hidden_layers=1, num_attention_heads=2, **sizes)).save_pretrained("narrow")
"""
EVALUATE = f"""
from pathlib import Path
from conversations.dialogue import read_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.evaluation.measure import measure
dialogues = list(read_dialogues(Path("data/{CORPUS}/dialogues.jsonl"), quarantine=[]))
measured = measure(DialogueEncoder.from_pretrained("narrow"), dialogues, runs=None, seed=42, batch_size=32)
assert {{"purity", "map", "spearman"}} <= set(measured.scores)
"""
EMBED = ("embed", f"data/{CORPUS}/dialogues.jsonl", "--model", "narrow", "--output", "vectors.parquet")
SNIPPETS = {"read": READ, "evaluate": EVALUATE}
STEPS = ("read", "validate", "prepare", "sample", "embed", "evaluate")
SIZES, MOST_EVALUATED = [10_000, 100_000, 1_000_000], 100_000
WORDS, BLOCK, COPY_EVERY = 20_000, 2000, 10


def main() -> None:
    """Measure every size, the smallest first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of dialogues")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=STEPS, help="default: all, in this order")
    parser.add_argument("--folder", type=Path, help="folder of the scratch project; default: the temporary folder")
    arguments = parser.parse_args()
    measured = {}
    sys.stdout.write("| dialogues | step | seconds | µs per dialogue | peak memory, MiB |\n|---|---|---|---|---|\n")
    for size in sorted(arguments.sizes):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            project = scratch_project(Path(folder), size)
            measured[size] = {
                step: run(step, project) for step in arguments.steps if step != "evaluate" or size <= MOST_EVALUATED
            }
        sys.stdout.write(lines(size, measured[size]))
        sys.stdout.flush()
    sys.stdout.write(growth(measured))


def scratch_project(folder: Path, n_dialogues: int) -> Path:
    """Write a project with `n_dialogues` made-up dialogues, and return its folder."""
    root = find_root()
    shutil.copyfile(root / "dvc.yaml", folder / "dvc.yaml")
    params = (root / "params.yaml").read_text().splitlines(keepends=True)
    changed = [f"corpora: [{CORPUS}]\n" if line.startswith("corpora:") else line for line in params]
    (folder / "params.yaml").write_text("".join(changed))
    data = folder / "data" / CORPUS
    data.mkdir(parents=True)
    with (data / "dialogues.jsonl").open("w") as out:
        for first in range(0, n_dialogues, BLOCK):
            out.write(made_up(first, min(BLOCK, n_dialogues - first)))
    # In its own process: memory of this one would count for the processes that it starts.
    subprocess.run([sys.executable, "-c", NARROW, str(WORDS)], cwd=folder, check=True)
    return folder


def made_up(first: int, count: int) -> str:
    """Return dialogues as JSON Lines: 6 to 24 turns of 2 to 18 words, some frequent and most rare (Zipf)."""
    rng = np.random.default_rng(first)
    vocabulary = np.array([f"word{n}" for n in range(WORDS)])
    turns = rng.integers(6, 25, size=count)
    lengths = rng.integers(2, 19, size=turns.sum())
    drawn = vocabulary[rng.zipf(1.2, size=lengths.sum()) % WORDS].tolist()
    ends = np.cumsum(lengths).tolist()
    texts = [" ".join(drawn[end - length : end]) for end, length in zip(ends, lengths.tolist(), strict=True)]
    found, taken = [], 0
    said: list[str] = []
    for number, n_turns in enumerate(turns.tolist()):
        said = [*said[:-1], "once more"] if number % COPY_EVERY == 1 else texts[taken : taken + n_turns]
        taken += n_turns
        record = {
            "dialogue_id": f"call-{first + number:08d}",
            "turns": [{"speaker": ("agent", "caller")[place % 2], "text": text} for place, text in enumerate(said)],
            "labels": [f"topic{(first + number) % 40}"],
        }
        found.append(json.dumps(record) + "\n")
    return "".join(found)


def run(step: str, project: Path) -> tuple[float, float]:
    """Run one step in a process of its own, and return its seconds and its peak resident memory in MiB."""
    command = [sys.executable, "-m", f"dial2vec.pipeline.{step}", CORPUS]
    if step in SNIPPETS:
        command = [sys.executable, "-c", SNIPPETS[step]]
    elif step == "embed":
        command = [sys.executable, "-m", "dial2vec.cli", *EMBED]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=project, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} in {project} ended with status {process.returncode}; the reason stands above.")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def lines(size: int, measured: dict[str, tuple[float, float]]) -> str:
    """Return one Markdown row per step."""
    return "".join(
        f"| {size:,} | {step} | {seconds:.1f} | {1e6 * seconds / size:.0f} | {mebibytes:,.0f} |\n"
        for step, (seconds, mebibytes) in measured.items()
    )


def growth(measured: dict[int, dict[str, tuple[float, float]]]) -> str:
    """Return the time per dialogue of the largest size over that of the smallest, for all steps that both have."""
    small, large = min(measured), max(measured)
    seconds = {size: sum(measured[size][step][0] for step in measured[large]) for size in (small, large)}
    ratio = seconds[large] / large / (seconds[small] / small)
    peak = max(mebibytes for _, mebibytes in measured[large].values())
    return f"{large:,} against {small:,}: {ratio:.2f} times as long per dialogue; peak {peak:,.0f} MiB\n"


if __name__ == "__main__":
    main()
