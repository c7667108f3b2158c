"""DSE at its own budget: all pairs of several corpora, 15 epochs (Zhou et al. 2022, App. A).

    .venv/bin/python benchmarks/dse_budget.py sgd self_dialogue --seconds 60          # how long the whole would take
    .venv/bin/python benchmarks/dse_budget.py sgd self_dialogue --output artifacts/dse
    .venv/bin/python benchmarks/dse_budget.py sgd self_dialogue --pairs 64000 --epochs 1 --output artifacts/part
    .venv/bin/dial2vec papers evaluate --model artifacts/dse/model --intents FOLDER --corpus sgd

Needs the train splits of the corpora (`make run` with them in `corpora`, or `dvc repro` of stage prepare). It trains
the encoder of params.yaml by the preset dse-paper on the pairs of all corpora together, mixed, with the batch of
`--batch`: the paper's 1,024 pairs need a large GPU. `--pairs` and `--rate` make a part of it that fits a CPU, and
`--encoder` names another start, such as the weak one of weak_start.py. Each epoch ends with a checkpoint, whose weights
stay in OUTPUT/checkpoints; a killed command continues from the last one. The model of the last epoch goes to
OUTPUT/model.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from conversations.dialogue import Dialogue, read_dialogues
from dial2vec import telemetry
from dial2vec.config import Settings
from dial2vec.encoder import DialogueEncoder
from dial2vec.files import code_hash, find_root
from dial2vec.params import load_settings
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.training.methods import METHODS
from dial2vec.training.methods.dse import consecutive_pairs
from dial2vec.training.negatives import Samples
from dial2vec.training.plan import Given, Plan, carry_out
from dial2vec_papers.presets import with_preset

# Steps with which the speed is first guessed, and the most that are timed.
WARM_STEPS, MOST_STEPS = 3, 2000


def main() -> None:
    """Time the training, or carry it out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--batch", type=int, default=128, help="pairs, negatives of each other; default: 128")
    parser.add_argument("--epochs", type=int, default=15, help="default: 15, the paper's")
    parser.add_argument("--pairs", type=int, help="pairs per epoch; default: all")
    parser.add_argument("--rate", type=float, help="learning rate; default: the preset's")
    parser.add_argument("--encoder", help="name or folder of the start; default: encoder.name of params.yaml")
    parser.add_argument("--seconds", type=float, help="only time about so many seconds of it")
    parser.add_argument("--output", type=Path, help="folder of the checkpoints and of the model")
    arguments = parser.parse_args()
    if not arguments.seconds and arguments.output is None:
        parser.error("--output is missing; give it, or --seconds")
    telemetry.switch_off()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    root = find_root()
    settings = of_budget(
        load_settings(root / "params.yaml"),
        batch=arguments.batch,
        epochs=arguments.epochs,
        pairs=arguments.pairs,
        rate=arguments.rate,
    )
    start = replace(settings.encoder, name=arguments.encoder or settings.encoder.name)
    settings = replace(settings, encoder=start)
    dialogues = [
        dialogue for corpus in arguments.corpora for dialogue in read_dialogues(Artifacts(root, corpus).split("train"))
    ]
    if arguments.seconds:
        sys.stdout.write(timed(dialogues, settings, seconds=arguments.seconds) + "\n")
    else:
        sys.stdout.write(trained(dialogues, settings, arguments.output) + "\n")


def of_budget(
    settings: Settings, *, batch: int, epochs: int, pairs: int | None = None, rate: float | None = None
) -> Settings:
    """Return the settings of the preset with a batch, epochs, and pairs per epoch (None is all) and a rate if given."""
    paper = with_preset(settings, "dse-paper", corpus="")
    dse = replace(paper.dse, batch_size=batch, epochs=epochs, max_pairs=pairs)
    return replace(paper, dse=replace(dse, learning_rate=rate or dse.learning_rate))


def planned(dialogues: list[Dialogue], settings: Settings) -> tuple[DialogueEncoder, Plan]:
    """Return the start and its plan."""
    encoder = DialogueEncoder.start(settings.encoder)
    nothing = np.zeros((1, 1, 0), np.int32)
    samples = Samples(nothing[0, 0], np.zeros(1, np.int64), nothing, nothing.astype(np.int16))
    return encoder, METHODS["dse"](Given(encoder, dialogues, samples, settings, Path("vectors")))


def timed(dialogues: list[Dialogue], settings: Settings, *, seconds: float) -> str:
    """Return the pairs per second of a part of the training, and the hours of the whole."""
    merged = [dialogue.merged() for dialogue in dialogues if dialogue.n_speakers > 1]
    options = settings.dse
    pairs = len(consecutive_pairs(merged, variant="1-1", min_words=options.min_words))
    # Enough for the steps that are timed: only utterances that train are tokenised. No checkpoint is written between.
    few = replace(
        settings,
        dse=replace(options, epochs=1, max_pairs=min(pairs, MOST_STEPS * options.batch_size)),
        train=replace(settings.train, checkpoint_steps=MOST_STEPS),
    )
    encoder, plan = planned(dialogues, few)
    assert plan.data is not None
    order, batch = plan.data.order, plan.train.batch_size

    def rate(steps: int) -> float:
        assert plan.data is not None
        plan.data.order = order[: steps * batch]
        with tempfile.TemporaryDirectory() as folder:
            where = {"checkpoints": Path(folder) / "last", "adaptation": Path(folder) / "before"}
            result = carry_out(plan, encoder, seed=settings.seed, fingerprint="timed", **where)[1]
        return result.steps * batch / result.seconds

    steps = min(len(order) // batch, max(WARM_STEPS, int(seconds * rate(WARM_STEPS) / batch)))
    speed = rate(steps)
    whole = pairs - pairs % options.batch_size
    hours = whole * options.epochs / speed / 3600
    return (
        f"{steps} steps of {batch} pairs: {speed:.0f} pairs per second on {encoder.device.type}; "
        f"{options.epochs} epochs of {whole} pairs need {hours:.1f} hours"
    )


def trained(dialogues: list[Dialogue], settings: Settings, output: Path) -> str:
    """Train, write the model, and return a sentence about it."""
    encoder, plan = planned(dialogues, settings)
    result = carry_out(
        plan,
        encoder,
        seed=settings.seed,
        checkpoints=output / "checkpoints",
        adaptation=output / "adaptation",
        fingerprint=f"{settings.dse} {settings.encoder} {settings.seed} {len(dialogues)} {code_hash()}",
    )[1]
    encoder.save_pretrained(output / "model")
    return f"{output / 'model'}: {result.steps} steps over {result.items} pairs in {result.seconds / 3600:.1f} hours"


if __name__ == "__main__":
    main()
