"""How fast training, encoding and evaluating are, beside the published way, sentence-transformers and the machine.

    .venv/bin/python benchmarks/speed.py --quick         # the main ratios, into docs/benchmarks.json
    .venv/bin/python benchmarks/speed.py --repeats 5
    PYTHONPATH=src python benchmarks/speed.py --device cuda --encoder FOLDER   # needs torch and transformers only

Same text (the demo corpus), encoder and machine; what is compared takes turns, and medians are shown with the lowest
and the highest run. In fp32, and in bf16 as well if the device has instructions for it. The peers:

- published: what Liu et al. 2022 describe, written here as described: every sample padded to 512 tokens, dropout
  everywhere, one n x n matching after the other; ten encodings of each dialogue that is evaluated.
- library: `encode` of sentence-transformers on the joined turns, at its defaults except 512 tokens, and at the best of
  several batch sizes, precisions and backends (benchmarks/peers.py); left out if it is not installed.
- the library again, at all its defaults, beside a student with random rows: benchmarks/student.py has all about it.
- machine: the product of two matrices of 2,048 x 2,048. Fractions of it count useful operations: tokens that are no
  padding, layers that are not frozen.
- kernels: other implementations of attention, beside the one that is used (`sdpa`).
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from peers import WIDTH, of_library, torchs_own
from timing import Figure, Times, Works, machine, peak_fraction, products, rate, ratio, times
from torch import Tensor
from torch.nn import functional

from conversations.dialogue import Dialogue
from conversations.files import write_json
from dial2vec import telemetry
from dial2vec.config import Train
from dial2vec.data.corpora.demo import generate_demo
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.backbone import layers
from dial2vec.encoder.network import has_bf16
from dial2vec.encoder.tokens import Batch
from dial2vec.files import find_root
from dial2vec.training.data import training_order
from dial2vec.training.methods.dial2vec import SelfGuidedSet, dial2vec_loss
from dial2vec.training.methods.neighbours import NeighbourSet, neighbour_loss
from dial2vec.training.negatives import draw_samples
from dial2vec_papers.tables.systems import PAPER_SAMPLES

ENCODER, WINDOW, TEMPERATURE, COPIES = "all-MiniLM-L6-v2", 10, 0.2, 10
FLASH = ("flash_attention_2",) if importlib.util.find_spec("flash_attn") else ()
KERNELS = ("eager", "flex_attention", *FLASH)
RECIPE = Train()
Found = dict[str, Figure]
Loss = Callable[[DialogueEncoder, Batch], Tensor]


def main() -> None:
    """Measure and print a table; with --quick write the ratios as JSON, too."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="use fewer dialogues and runs, and write docs/benchmarks.json"
    )
    parser.add_argument("--repeats", type=int, help="number of runs; default: 3, with --quick 1")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--encoder", default=ENCODER, help=f"name or folder of the encoder; default: {ENCODER}")
    given = parser.parse_args()
    telemetry.switch_off()
    logging.disable(logging.WARNING)
    repeats, dialogues = (
        given.repeats or (1 if given.quick else 3),
        [one for one in generate_demo() if one.n_speakers > 1],
    )
    counts = (3, 120) if given.quick else (5, 200) if given.device == "cpu" else (20, 2000)
    encoder = DialogueEncoder.from_pretrained(given.encoder, input="separators", device=given.device)
    found = training(encoder, dialogues[:400], n=counts[0], repeats=repeats)
    encoder = DialogueEncoder.from_pretrained(given.encoder, device=given.device)
    found |= encoding(encoder, given.encoder, dialogues[: counts[1]], repeats=repeats)
    if given.device == "cpu":
        # Imported here: on a GPU this script needs torch and transformers only.
        import student

        static, n = student.model2vec(find_root()), student.TIMED
        found |= student.against_library(dialogues[:n], dialogues[n:], static, name=given.encoder)
    if not given.quick:
        found |= kernels(encoder, dialogues[:24], repeats=repeats)
    sys.stdout.write(f"{machine(given.device)}; {repeats} runs\n\n| figure | median (lowest to highest) |\n|---|---|\n")
    sys.stdout.write("".join(f"| {name.replace('_', ' ')} | {figure} |\n" for name, figure in found.items()))
    if given.quick:
        path = find_root() / "docs" / "benchmarks.json"
        medians = {name: figure.median for name, figure in found.items()}
        write_json(path, {"machine": machine(given.device), "runs": repeats} | medians)
        sys.stdout.write(f"wrote {path}\n")


def kinds(device: str) -> dict[str, str]:
    """Return precision -> suffix in the names of works and figures."""
    return {"fp32": ""} | ({"bf16": "_bf16"} if has_bf16(device) else {})


def operations(encoder: DialogueEncoder, lengths: Sequence[int], *, trained: float = 0.0) -> float:
    """Return the useful operations of reading sequences, and of training so large a share of the layers from the top.

    A weight is used twice for a token forwards, and four times backwards; each pair of tokens four times per width.
    """
    width, depth = encoder.dimension, len(layers(encoder.backbone))
    weights = sum(weight.numel() for weight in layers(encoder.backbone)[0].parameters() if weight.ndim == 2)
    forward = sum(depth * (2 * weights * length + 4 * width * length**2) for length in lengths)
    return forward * (1 + 2 * trained)


def training(encoder: DialogueEncoder, dialogues: Sequence[Dialogue], *, n: int, repeats: int) -> Found:
    """Time a step of dial2vec on n dialogues with nine negatives each, ours and as published, and one of the recipe."""
    kind, few, many = encoder.device.type, self_guided(encoder, dialogues, n=n), recipe_batch(encoder, dialogues, n=n)
    encoder.network.freeze_bottom(RECIPE.frozen_share)
    encoder.eval()
    with torch.inference_mode():
        losses = [float(loss(encoder, few)) for loss in (our_loss, published_loss)]
    if abs(losses[0] - losses[1]) > 1e-3:
        sys.exit(f"the loss is {losses[0]:.5f}, and as published {losses[1]:.5f}; expected the same")
    optimizer = torch.optim.AdamW([one for one in encoder.parameters() if one.requires_grad], lr=0.0, fused=True)

    def step(loss: Loss, batch: Batch, precision: Any, *, attention_dropout: bool = False) -> None:
        encoder.network.attention_dropout = attention_dropout
        encoder.train()
        optimizer.zero_grad()
        with encoder.autocast(precision):
            value = loss(encoder, batch)
        value.backward()
        optimizer.step()

    works: Works = {}
    for precision, end in kinds(kind).items():
        works |= {
            f"ours{end}": lambda p=precision: step(our_loss, few, p),
            f"recipe{end}": lambda p=precision: step(recipe_loss, many, p),
            f"product{end}": products(kind, torch.bfloat16 if end else torch.float32),
            f"published{end}": lambda p=precision: step(published_loss, few, p, attention_dropout=True),
        }
    found = times(works, repeats=repeats, device=kind)
    return training_figures(encoder, found, few, many, kind)


def training_figures(encoder: DialogueEncoder, found: Times, few: Batch, many: Batch, kind: str) -> Found:
    """Return rates, ratios and fractions of what `training` timed."""
    n, figures, share = len(few.ids) // COPIES, {}, RECIPE.frozen_share
    useful = {
        name: operations(encoder, batch.attention.sum(1).tolist(), trained=1 - share)
        for name, batch in (("ours", few), ("recipe", many))
    }
    for end in kinds(kind).values():
        ours, recipe, product = (found[f"{name}{end}"] for name in ("ours", "recipe", "product"))
        each = len(many.ids) / n
        figures |= {
            f"train_dialogues_per_second{end}": rate(n, ours),
            f"train_tokens_per_second{end}": rate(int(few.attention.sum()), ours),
            f"train_vs_published{end}": ratio(found["published"], ours),
            f"train_peak_fraction{end}": peak_fraction(useful["ours"], ours, product),
            f"recipe_dialogues_per_second{end}": rate(len(many.ids), recipe),
            f"recipe_vs_published{end}": ratio(found["published"], recipe, times=each),
            f"recipe_peak_fraction{end}": peak_fraction(useful["recipe"], recipe, product),
        }
        if end:
            figures[f"train{end}_vs_published{end}"] = ratio(found[f"published{end}"], ours)
    return figures


def self_guided(encoder: DialogueEncoder, dialogues: Sequence[Dialogue], *, n: int) -> Batch:
    """Return n dialogues with nine negatives each."""
    options = {name: value for name, value in PAPER_SAMPLES.items() if name != "among"}
    samples = draw_samples(dialogues, **options, seed=1)
    order = training_order(
        np.ones(len(samples.dialogues), dtype=np.int64), passes=1, settings=Train(max_dialogues=None), seed=1
    )
    data = SelfGuidedSet(list(dialogues), samples, encoder.tokens, order)
    return encoder.tokens.pad([sequence for item in range(n) for sequence in data[item]]).to(encoder.device)


def recipe_batch(encoder: DialogueEncoder, dialogues: Sequence[Dialogue], *, n: int) -> Batch:
    """Return ten times n dialogues as the default recipe reads them: cut to its length, without negatives."""
    chosen = encoder.tokens.dialogues(list(dialogues[: COPIES * n]))
    order, none = np.zeros((0, 2), dtype=np.int64), np.zeros((0, encoder.dimension), dtype=np.float32)
    data = NeighbourSet(chosen, none, encoder.tokens, order, max_length=RECIPE.max_length)
    return encoder.tokens.pad([one.first(data.max_length) for one in chosen]).to(encoder.device)


def our_loss(encoder: DialogueEncoder, batch: Batch) -> Tensor:
    """Return the loss of a batch of samples as dial2vec computes it."""
    hidden = encoder.hidden_states(batch)
    return dial2vec_loss(
        hidden, batch.turns, batch.roles, n_samples=COPIES, temperature=TEMPERATURE, window=WINDOW, mean="dialogues"
    )


def recipe_loss(encoder: DialogueEncoder, batch: Batch) -> Tensor:
    """Return the loss of the default recipe, with one target for all, which does not change the time."""
    return neighbour_loss(encoder(batch), torch.ones(len(batch.ids), encoder.dimension, device=batch.ids.device))


def published_loss(encoder: DialogueEncoder, batch: Batch) -> Tensor:
    """Return the same as it is described: samples of 512 tokens, each with its n x n matchings."""
    with torchs_own(encoder):
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


def encoding(encoder: DialogueEncoder, name: str, dialogues: Sequence[Dialogue], *, repeats: int) -> Found:
    """Time encoding, ours, the library's, and as published, and compare vectors of lower precision."""
    kind = encoder.device.type
    n_evaluated = 3 if kind == "cpu" else 100
    few = encoder.tokens.pad(encoder.tokens.dialogues(list(dialogues[:n_evaluated]))).to(encoder.device)
    ten = Batch(*(getattr(few, part).repeat_interleave(COPIES, 0) for part in Batch.__slots__))
    size = 32 if kind == "cpu" else 256

    @torch.inference_mode()
    def published() -> None:
        with torchs_own(encoder):
            padded_states(encoder.eval(), ten)

    def ours(precision: Any) -> Any:
        with encoder.autocast(precision):
            return encoder.encode(dialogues, batch_size=size)

    works: Works = {}
    for precision, end in kinds(kind).items():
        works |= {
            f"ours{end}": lambda p=precision: ours(p),
            f"product{end}": products(kind, torch.bfloat16 if end else torch.float32),
        }
    works |= of_library(name, dialogues, kind, ends=list(kinds(kind).values())) | {"published": published}
    found = times(works, repeats=repeats, device=kind)
    lengths = [len(sequence.ids) for sequence in encoder.tokens.dialogues(list(dialogues))]
    figures = encoding_figures(found, len(dialogues), n_evaluated, operations(encoder, lengths), kind)
    if len(kinds(kind)) > 1:
        figures["encode_bf16_lowest_cosine"] = Figure.of([lowest_cosine(ours("fp32"), ours("bf16"))], digits=5)
    return {"tokens_per_dialogue": Figure.of([sum(lengths) / len(lengths)], digits=1)} | figures


def encoding_figures(found: Times, n: int, n_evaluated: int, useful: float, kind: str) -> Found:
    """Return rates, ratios and fractions of what `encoding` timed."""
    figures: Found = {}
    for end in kinds(kind).values():
        taken = found[f"ours{end}"]
        figures[f"encode_dialogues_per_second{end}"] = rate(n, taken)
        if "library" in found:
            # In fp32 the peers compute in fp32, too; in bf16 any setting is one.
            peers = [name for name in found if name.startswith("library") and (end or "_bf16" not in name)]
            best = min(peers, key=lambda name: sum(found[name]))
            figures[f"encode_vs_library_default{end}"] = ratio(found["library"], taken)
            figures[f"encode_vs_library_best{end}"] = ratio(found[best], taken)
            figures |= {
                f"{setting}_dialogues_per_second": rate(n, found[name]) for setting, name in settings(peers, found)
            }
        figures[f"evaluate_vs_published{end}"] = ratio(found["published"], taken, times=n / n_evaluated)
        figures[f"encode_peak_fraction{end}"] = peak_fraction(useful, taken, found[f"product{end}"])
    return figures


def settings(peers: Sequence[str], found: Times) -> list[tuple[str, str]]:
    """Return each precision and backend of the library, and the fastest batch size of it."""
    named: dict[str, list[str]] = {}
    for name in peers:
        named.setdefault("_".join(part for part in name.split() if not part.isdigit()), []).append(name)
    return [(setting, min(names, key=lambda name: sum(found[name]))) for setting, names in named.items()]


def lowest_cosine(one: Any, other: Any) -> float:
    """Return the lowest cosine of two rows that belong together."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return float(((one * other).sum(axis=1) / lengths).min())


def kernels(encoder: DialogueEncoder, dialogues: Sequence[Dialogue], *, repeats: int) -> Found:
    """Time reading by other implementations of attention; one that does not run here is left out, and says why."""
    kind, works = encoder.device.type, {}

    def read(name: str) -> None:
        with torchs_own(encoder, name), encoder.autocast("bf16" if name in FLASH else "fp32"):
            encoder.encode(dialogues)

    for name in KERNELS:
        try:
            read(name)
        except Exception as error:  # Any error of a kernel that is not made for this machine.
            sys.stdout.write(f"{name} does not run here: {str(error).splitlines()[0][:120]}\n")
        else:
            works[name] = lambda name=name: read(name)
    found = times(works | {"sdpa": lambda: read("sdpa")}, repeats=repeats, device=kind)
    return {f"{name}_to_sdpa": ratio(found[name], found["sdpa"]) for name in works}


if __name__ == "__main__":
    main()
