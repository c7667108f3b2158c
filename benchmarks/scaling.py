"""What a longer dialogue, one more negative and a larger encoder cost: seconds, and a picture of them.

    .venv/bin/python benchmarks/scaling.py --output docs/scaling.png

All with random weights and made-up tokens, in fp32 on the CPU, medians of `--repeats` runs; what is compared takes
turns, and each run that counts follows one that does not.

- length: dial2vec's loss of ten samples and its gradients, without the encoder, at one window; beside it the same by
  n x n matchings, as published, up to 1,024 tokens. Linear means: seconds per token stay.
- negatives: a step of dial2vec on one dialogue of 166 tokens, by MiniLM's architecture with the bottom half frozen.
- encoder: one reading of 8 dialogues of 166 tokens, beside the operations that it takes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from speed import COPIES, TEMPERATURE, WINDOW, matchings
from timing import Works, seconds
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from conversations.files import atomic_path
from dial2vec.training.methods.dial2vec import dial2vec_loss

TURN, WIDTH, TOKENS, DIALOGUES = 16, 384, 166, 8
LENGTHS, LONGEST_PLAIN = (256, 512, 1024, 2048, 4096), 1024
NEGATIVES = (1, 4, 9, 19)
# Layers and width: MiniLM, BERT-base, BERT-large and a small one.
ENCODERS = ((3, 256), (6, 384), (12, 768), (24, 1024))


@dataclass(frozen=True)
class Row:
    """Seconds at one size.

    :param question: "length", "negatives" or "encoder".
    :param size: tokens of a dialogue, dialogues with the negatives of each, or GFLOP of a reading.
    :param way: "ours" or "published".
    """

    question: str
    size: float
    way: str
    seconds: float


def main() -> None:
    """Measure, print a Markdown table, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("docs/scaling.png"))
    arguments = parser.parse_args()
    rows = []
    for measure, sizes in ((lengths, LENGTHS), (negatives, NEGATIVES), (encoders, ENCODERS)):
        rows += measure(sizes, repeats=arguments.repeats)
    sys.stdout.write("| question | size | way | seconds | seconds / size |\n|---|---|---|---|---|\n")
    sys.stdout.write("".join(map(line, rows)))
    draw(rows, arguments.output)
    sys.stdout.write(f"wrote {arguments.output}\n")


def line(row: Row) -> str:
    """Return a Markdown row."""
    return f"| {row.question} | {row.size:,.4g} | {row.way} | {row.seconds:.3f} | {row.seconds / row.size:.2e} |\n"


def samples(n: int, *, copies: int) -> tuple[Tensor, Tensor]:
    """Return turns and roles [copies, n] of dialogues with turns of 16 tokens."""
    turns = (torch.arange(n) // TURN).expand(copies, n)
    return turns, turns % 2


def lengths(sizes: Sequence[int], *, repeats: int) -> list[Row]:
    """Time the loss alone, forwards and backwards, ours and as published."""
    works: Works = {}
    for n in sizes:
        hidden = torch.randn(COPIES, n, WIDTH, requires_grad=True)
        turns, roles = samples(n, copies=COPIES)
        works[f"ours {n}"] = lambda given=(hidden, turns, roles): ours(*given).backward()
        if n <= LONGEST_PLAIN:
            works[f"published {n}"] = lambda given=(hidden, turns, roles): matchings(*given).backward()
    found = seconds(works, repeats=repeats)
    return [Row("length", float(name.split()[1]), name.split()[0], taken) for name, taken in found.items()]


def ours(hidden: Tensor, turns: Tensor, roles: Tensor) -> Tensor:
    """Return the loss of one dialogue with its negatives."""
    return dial2vec_loss(hidden, turns, roles, n_samples=len(hidden), temperature=TEMPERATURE, window=WINDOW)


def negatives(sizes: Sequence[int], *, repeats: int) -> list[Row]:
    """Time a training step on one dialogue with so many negatives."""
    encoder = bert(6, WIDTH)
    for module in (encoder.embeddings, *encoder.encoder.layer[:3]):
        module.requires_grad_(False)
    works: Works = {str(n): lambda n=n: step(encoder, 1 + n) for n in sizes}
    return [Row("negatives", 1 + float(name), "ours", taken) for name, taken in seconds(works, repeats=repeats).items()]


def step(encoder: nn.Module, copies: int) -> None:
    """Read a dialogue with its negatives and compute the gradients."""
    ids = torch.randint(1000, 2000, (copies, TOKENS))
    ours(encoder(input_ids=ids).last_hidden_state, *samples(TOKENS, copies=copies)).backward()


def encoders(sizes: Sequence[tuple[int, int]], *, repeats: int) -> list[Row]:
    """Time a reading by encoders of so many layers and such a width."""
    ids = torch.randint(1000, 2000, (DIALOGUES, TOKENS))
    rows = []
    for layers, width in sizes:
        encoder = bert(layers, width)
        operations = layers * DIALOGUES * (24 * width**2 * TOKENS + 4 * width * TOKENS**2)

        @torch.inference_mode()
        def read(encoder: nn.Module = encoder) -> None:
            encoder(input_ids=ids)

        taken = seconds({"read": read}, repeats=repeats)["read"]
        rows.append(Row("encoder", operations / 1e9, "ours", taken))
    return rows


def bert(layers: int, width: int) -> BertModel:
    """Return an encoder with random weights, in evaluation."""
    config = BertConfig(
        num_hidden_layers=layers, hidden_size=width, intermediate_size=4 * width, num_attention_heads=width // 32
    )
    return BertModel(config, add_pooling_layer=False).eval()


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw a panel per question, both axes logarithmic, with a dotted line where cost is proportional to size."""
    from matplotlib.figure import Figure

    titles = {"length": "tokens of a dialogue", "negatives": "1 + negatives", "encoder": "GFLOP of a reading"}
    figure = Figure(figsize=(9, 3), dpi=130, layout="constrained")
    for panel, (question, title) in zip(figure.subplots(1, len(titles)), titles.items(), strict=True):
        for way in ("ours", "published"):
            places = [(row.size, row.seconds) for row in rows if (row.question, row.way) == (question, way)]
            if places:
                panel.loglog(*zip(*places, strict=True), "o-", markersize=4, label=way)
        own = [row for row in rows if (row.question, row.way) == (question, "ours")]
        line = [own[0].seconds * row.size / own[0].size for row in own]
        panel.loglog([row.size for row in own], line, ":", color="gray", label="proportional")
        panel.set_xticks([row.size for row in own], [f"{row.size:,.0f}" for row in own], fontsize=7)
        panel.minorticks_off()
        panel.set_xlabel(title)
        panel.set_ylabel("seconds")
        panel.legend(fontsize=7, frameon=False)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png")


if __name__ == "__main__":
    main()
