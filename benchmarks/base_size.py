"""Every method for three steps with an encoder of BERT-base's size and random weights, in fp32 and in bf16.

    .venv/bin/python benchmarks/base_size.py            # all methods; a few minutes and 4 GB on two cores
    .venv/bin/python benchmarks/base_size.py dse dialaug

110 million parameters: 12 layers, width 768, the vocabulary of the packaged encoder. It shows that a method runs and
stays finite at that size, on a GPU if there is one, and what a step costs; the weights have learnt nothing. Every row
runs in its own process, so that its peak memory is its own.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from study import names_or_all

from dial2vec import telemetry
from dial2vec.config import Settings
from dial2vec.data.corpora.demo import generate_demo
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.names import resolve
from dial2vec.training.methods import METHODS
from dial2vec.training.negatives import draw_samples
from dial2vec.training.plan import Given, carry_out

ITEMS, BATCH = 12, 4
BLOCKS = {"dse": "max_pairs", "dialoguecse": "max_responses", "dialaug": "max_responses"}


def main() -> None:
    """Print a line for each method and precision."""
    methods = names_or_all(__doc__, METHODS)
    sys.stdout.write("| method | precision | device | losses of three steps | seconds per step | peak memory, GB |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        alone(write_base, base)
        for name in methods:
            for precision in ("fp32", "bf16"):
                sys.stdout.write(alone(measured, str(base), name, precision) + "\n")
                sys.stdout.flush()


def alone(work: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function returns in a new process, which shares no memory with this one."""
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=begin) as pool:
        return pool.submit(work, *arguments).result()


def begin() -> None:
    """Set up a process of its own."""
    telemetry.switch_off()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")


def peak_memory() -> int:
    """Return the most memory that this process has had, in bytes."""
    # Not getrusage: its peak starts at the peak of the parent process.
    [peak] = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
    return int(peak) * 1024


def write_base(folder: Path) -> None:
    """Write an encoder of BERT-base's size with random weights."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    torch.manual_seed(1)
    tokenizer = AutoTokenizer.from_pretrained(resolve("all-MiniLM-L6-v2"))
    BertModel(BertConfig(vocab_size=len(tokenizer)), add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def measured(base: str, method: str, precision: Any) -> str:
    """Train for three steps, and return the line."""
    few = {"epochs": 1, "batch_size": BATCH}
    settings = Settings()
    settings = replace(
        settings,
        encoder=replace(settings.encoder, name=base),
        train=replace(
            settings.train,
            **few,
            method=method,
            max_dialogues=ITEMS,
            gradient_accumulation=1,
            precision=precision,
            log_steps=1,
            max_length=128,
        ),
        intent_augmentation=replace(settings.intent_augmentation, **few, max_dialogues=ITEMS, max_length=128),
        **{name: replace(getattr(settings, name), **few, **{limit: ITEMS}) for name, limit in BLOCKS.items()},
    )
    dialogues = list(generate_demo(n_dialogues=120))
    samples = draw_samples(dialogues, negatives=3, passes=1, keep_role="random", min_turns=5, seed=1)
    encoder = DialogueEncoder.start(settings.encoder)
    with tempfile.TemporaryDirectory() as folder:
        plan = METHODS[method](Given(encoder, dialogues, samples, settings, Path(folder) / "vectors"))
        assert plan.data is not None, plan.note
        _, result = carry_out(
            plan,
            encoder,
            seed=settings.seed,
            checkpoints=Path(folder) / "last",
            adaptation=Path(folder) / "before",
            fingerprint="base",
        )
    losses = " ".join(f"{entry['loss']:.3f}" for entry in result.history)
    on_gpu = encoder.device.type == "cuda"
    peak = torch.cuda.max_memory_allocated() if on_gpu else peak_memory()
    seconds = result.seconds / max(1, result.steps)
    return f"| {method} | {precision} | {encoder.device.type} | {losses} | {seconds:.1f} | {peak / 1e9:.1f} |"


if __name__ == "__main__":
    main()
