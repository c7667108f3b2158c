"""How fast training, encoding and evaluating are, beside the published way, sentence-transformers and the machine.

    .venv/bin/python benchmarks/speed.py --quick         # the main ratios, into docs/benchmarks.json
    .venv/bin/python benchmarks/speed.py --repeats 5

Same text (the demo corpus), encoder and machine, fp32, all processors; what is compared takes turns, and medians are
shown. The peers:

- published: what Liu et al. 2022 describe, written here as described: every sample padded to 512 tokens, dropout
  everywhere, one n x n matching after the other; ten encodings of each dialogue that is evaluated.
- library: `encode` of sentence-transformers on the joined turns, at its defaults but for 512 tokens, and at the best of
  several batch sizes.
- machine: the product of two matrices of 2,048 x 2,048. Fractions of it count useful operations: tokens that are no
  padding, layers that are not frozen.
"""

from __future__ import annotations

import argparse
import logging
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from dial2vec import telemetry
from dial2vec.artifacts import find_root
from dial2vec.backbone import layers, resolve
from dial2vec.benchmark.systems import PAPER_SAMPLES
from dial2vec.config import Train
from dial2vec.corpora.demo import generate_demo
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.files import write_json
from dial2vec.objectives.dial2vec import dial2vec_loss
from dial2vec.sampling import draw_samples
from dial2vec.tokens import Batch
from dial2vec.training_data import SelfGuidedSet, training_order

ENCODER, WIDTH, WINDOW, TEMPERATURE, COPIES = "all-MiniLM-L6-v2", 512, 10, 0.2, 10
BATCH_SIZES = (4, 8, 16, 64)
PRODUCTS = 10
Works = dict[str, Callable[[], object]]


def main() -> None:
    """Measure and print a table; with --quick write the ratios as JSON, too."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer dialogues and runs, and docs/benchmarks.json")
    parser.add_argument("--repeats", type=int, help="default: 3, with --quick 1")
    arguments = parser.parse_args()
    telemetry.switch_off()
    logging.disable(logging.WARNING)
    repeats = arguments.repeats or (1 if arguments.quick else 3)
    dialogues = [one for one in generate_demo() if one.n_speakers > 1]
    found = {"machine": machine()}
    found |= training(dialogues[:100], n=3 if arguments.quick else 10, repeats=repeats)
    found |= encoding(dialogues[: 120 if arguments.quick else 300], n_evaluated=3, repeats=repeats)
    sys.stdout.write("".join(f"{name}: {value}\n" for name, value in found.items()))
    if arguments.quick:
        path = find_root() / "docs" / "benchmarks.json"
        write_json(path, found)
        sys.stdout.write(f"wrote {path}\n")


def machine() -> str:
    """Return processor, number of threads, instructions that matter, and the version of torch."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []
    named = {line.split(":")[0].strip(): line.split(":", 1)[1] for line in reversed(lines) if ":" in line}
    flags = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in named.get("flags", "").split()]
    name = named.get("model name", platform.processor()).strip()
    return f"{name}, {torch.get_num_threads()} threads, {' '.join(flags)}, torch {torch.__version__}"


def seconds(works: Works, *, repeats: int) -> dict[str, float]:
    """Return the median time of each work; they take turns, after one run of each that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(repeats + 1):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            if turn:
                taken[name].append(time.perf_counter() - began)
    return {name: statistics.median(times) for name, times in taken.items()}


def products() -> Callable[[], None]:
    """Return the work that others are measured by; it takes turns with them, because a machine's speed changes."""
    one, other = torch.randn(2, 2048, 2048)

    def multiply() -> None:
        for _ in range(PRODUCTS):
            one @ other

    return multiply


def peak(found: dict[str, float]) -> float:
    """Return the operations per second of these products."""
    return PRODUCTS * 2 * 2048**3 / found["product"]


def operations(encoder: DialogueEncoder, lengths: Sequence[int], *, trained: float = 0.0) -> float:
    """Return the useful operations of reading sequences, and of training so large a share of the layers from the top.

    A weight is used twice for a token forwards, and four times backwards; each pair of tokens four times per width.
    """
    width, depth = encoder.dimension, len(layers(encoder.backbone))
    weights = sum(weight.numel() for weight in layers(encoder.backbone)[0].parameters() if weight.ndim == 2)
    forward = sum(depth * (2 * weights * length + 4 * width * length**2) for length in lengths)
    return forward * (1 + 2 * trained)


def training(dialogues: Sequence[Dialogue], *, n: int, repeats: int) -> dict[str, Any]:
    """Time a step of dial2vec on n dialogues with nine negatives each, ours and as published."""
    samples = draw_samples(
        dialogues, **{name: PAPER_SAMPLES[name] for name in PAPER_SAMPLES if name != "among"}, seed=1
    )
    encoder = DialogueEncoder.from_pretrained(ENCODER, input="separators", device="cpu")
    order = training_order(
        np.ones(len(samples.dialogues), dtype=np.int64), passes=1, settings=Train(max_dialogues=None), seed=1
    )
    data = SelfGuidedSet(list(dialogues), samples, encoder.tokens, order)
    encoder.freeze_bottom(0.5)
    batch = encoder.tokens.pad([sequence for item in range(n) for sequence in data[item]])
    optimizer = torch.optim.AdamW([one for one in encoder.parameters() if one.requires_grad], lr=0.0, fused=True)

    def step(loss: Callable[[DialogueEncoder, Batch], Tensor], *, attention_dropout: bool) -> None:
        encoder.attention_dropout = attention_dropout
        encoder.train()
        optimizer.zero_grad()
        loss(encoder, batch).backward()
        optimizer.step()

    encoder.eval()
    with torch.inference_mode():
        losses = [float(loss(encoder, batch)) for loss in (our_loss, published_loss)]
    if abs(losses[0] - losses[1]) > 1e-3:
        sys.exit(f"the loss is {losses[0]:.5f}, and as published {losses[1]:.5f}; expected the same")
    works: Works = {
        "ours": lambda: step(our_loss, attention_dropout=False),
        "product": products(),
        "published": lambda: step(published_loss, attention_dropout=True),
    }
    found = seconds(works, repeats=repeats)
    useful = operations(encoder, batch.attention.sum(1).tolist(), trained=0.5)
    return {
        "train_dialogues_per_second": round(n / found["ours"], 3),
        "train_vs_published": round(found["published"] / found["ours"], 2),
        "train_peak_fraction": round(useful / found["ours"] / peak(found), 3),
    }


def our_loss(encoder: DialogueEncoder, batch: Batch) -> Tensor:
    """Return the loss of a batch of samples as dial2vec computes it."""
    hidden = encoder.hidden_states(batch)
    return dial2vec_loss(
        hidden, batch.turns, batch.roles, n_samples=COPIES, temperature=TEMPERATURE, window=WINDOW, mean="dialogues"
    )


def published_loss(encoder: DialogueEncoder, batch: Batch) -> Tensor:
    """Return the same as it is described: samples of 512 tokens, each with its n x n matchings."""
    hidden, wide = padded_states(encoder, batch)
    return matchings(hidden, wide.turns, wide.roles)


def matchings(hidden: Tensor, turns: Tensor, roles: Tensor) -> Tensor:
    """Return dial2vec's loss by one n x n matching after the other, of samples [b x copies, n, d]."""
    logits = []
    for states, numbers, who in zip(hidden, turns, roles, strict=True):
        first, second = ((who == role)[:, None] * states for role in (0, 1))
        met = first @ second.T * ((numbers[:, None] - numbers[None, :]).abs() <= WINDOW)
        pairs = ((first.sum(0), (met.T @ first).sum(0)), (second.sum(0), (met @ second).sum(0)))
        logits.append(torch.stack([functional.cosine_similarity(own, cross, dim=0) for own, cross in pairs]))
    scaled = torch.stack(logits).unflatten(0, (-1, COPIES)) / TEMPERATURE
    return -functional.log_softmax(scaled, dim=1)[:, 0].sum(1).mean()


def padded_states(encoder: DialogueEncoder, batch: Batch) -> tuple[Tensor, Batch]:
    """Return the token vectors of a batch that is padded to 512 tokens, and that batch."""
    empty = {"ids": 0, "attention": 0, "turns": 0, "roles": -1}
    width = WIDTH - batch.ids.shape[1]
    wide = Batch(*(functional.pad(getattr(batch, name), (0, width), value=value) for name, value in empty.items()))
    return encoder.backbone(input_ids=wide.ids, attention_mask=wide.attention).last_hidden_state, wide


def encoding(dialogues: Sequence[Dialogue], *, n_evaluated: int, repeats: int) -> dict[str, Any]:
    """Time encoding, ours, the library's, and as published."""
    from sentence_transformers import SentenceTransformer

    encoder = DialogueEncoder.from_pretrained(ENCODER, device="cpu")
    library = SentenceTransformer(resolve(ENCODER), device="cpu")
    library.max_seq_length = WIDTH
    texts = [" ".join(turn.text for turn in dialogue.turns) for dialogue in dialogues]
    few = encoder.tokens.pad(encoder.tokens.dialogues(list(dialogues[:n_evaluated])))
    ten = Batch(*(getattr(few, name).repeat_interleave(COPIES, 0) for name in Batch.__slots__))

    @torch.inference_mode()
    def published() -> None:
        padded_states(encoder.eval(), ten)

    works: Works = {"ours": lambda: encoder.encode(dialogues), "product": products()}
    works["default"] = lambda: library.encode(texts)
    works |= {str(size): lambda size=size: library.encode(texts, batch_size=size) for size in BATCH_SIZES}
    works["published"] = published
    found = seconds(works, repeats=repeats)
    best = min(found[name] for name in ("default", *map(str, BATCH_SIZES)))
    lengths = [len(sequence.ids) for sequence in encoder.tokens.dialogues(list(dialogues))]
    each = found["ours"] / len(dialogues)
    return {
        "tokens_per_dialogue": round(sum(lengths) / len(lengths), 1),
        "encode_dialogues_per_second": round(1 / each, 2),
        "encode_vs_library_default": round(found["default"] / found["ours"], 2),
        "encode_vs_library_best": round(best / found["ours"], 2),
        "evaluate_vs_published": round(found["published"] / n_evaluated / each, 1),
        "encode_peak_fraction": round(operations(encoder, lengths) / found["ours"] / peak(found), 3),
    }


if __name__ == "__main__":
    main()
