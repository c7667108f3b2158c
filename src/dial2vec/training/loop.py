"""Training on the `transformers` Trainer: length-grouped dynamic padding, whole checkpoints, exact resume."""

from __future__ import annotations

import json
import logging
import math
import shutil
import sys
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader
from tqdm.auto import tqdm
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments, set_seed

from dial2vec.config import Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.tokens import Batch
from dial2vec.errors import Dial2vecError, SettingsError
from dial2vec.files import claim
from dial2vec.training.candidates import save_weights
from dial2vec.training.data import TrainingSet
from dial2vec.training.processes import ProcessBatches, by_the_first, gathered, meet, n_processes, rank

WHOLE = "WHOLE"
# Each candidate is all trained weights on disk, and encodes dev for the choice.
MOST_CANDIDATES = 40
Schedule = Literal["linear", "constant"]
CHECKPOINT_FILES = ("model.safetensors", "optimizer.pt", "scheduler.pt", "trainer_state.json", "training_args.bin")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Names:
    """How a training run is spoken of.

    :param block: of params.yaml, that its settings are from.
    :param items: what it trains on, in the plural.
    :param remedy: what to do when it diverges, without a full stop.
    """

    block: str = "train"
    items: str = "dialogues"
    remedy: str = "Lower train.learning_rate in params.yaml"

    @classmethod
    def of_block(cls, block: str, *, items: str = "dialogues") -> Names:
        """Return the names of a run whose rate and temperature are a block's."""
        return cls(block, items, f"Lower {block}.learning_rate or raise {block}.temperature in params.yaml")


class _Objective(nn.Module):
    """What the Trainer trains: the encoder with its loss."""

    def __init__(self, encoder: DialogueEncoder, settings: Train, data: TrainingSet) -> None:
        super().__init__()
        self.encoder = encoder
        self.settings, self.data = settings, data
        self.auxiliary = None if data.auxiliary is None else data.auxiliary.to(encoder.device)
        self.read: Tensor | int = 0
        self.counts: Tensor | bool = True
        self.counting = encoder.backbone.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _: nn.Module, positional: Any, named: dict[str, Any]) -> None:
        self.read = self.read + named["attention_mask"].sum() * self.counts

    def tokens_read(self) -> float:
        """Return the tokens that all processes read, padding left out."""
        return float(gathered(torch.as_tensor(self.read, device=self.encoder.device).reshape(1)).sum())

    def forward(
        self,
        ids: Tensor,
        attention: Tensor,
        turns: Tensor,
        roles: Tensor,
        share: Tensor | float = 1.0,
        **extra: Tensor,
    ) -> dict[str, Tensor]:
        batch = Batch(*(tensor.flatten(0, 1) for tensor in (ids, attention, turns, roles)))
        self.counts = share > 0
        with self.encoder.autocast(self.settings.precision):
            return {"loss": self.data.loss(self.encoder, self.settings, batch, extra) * share}


class _Trainer(Trainer):
    """The Trainer, whose processes share each batch: a step is as large with several of them as with one."""

    def get_train_dataloader(self) -> DataLoader[Any]:
        if n_processes() == 1:
            return super().get_train_dataloader()
        data = ProcessBatches(
            self.train_dataset,
            batch_size=self.args.per_device_train_batch_size,
            n_processes=n_processes(),
            rank=rank(),
        )
        # Batches of one, which are batches already: without a batch size the Trainer cannot skip what is done.
        return DataLoader(data, batch_size=1, collate_fn=itemgetter(0), pin_memory=self.args.dataloader_pin_memory)


class _MarkWhole(TrainerCallback):
    """Keeps the weights of every checkpoint as a candidate, and writes a mark last into the checkpoint.

    A checkpoint without the mark was being written when the process was killed.
    """

    def __init__(self, encoder: DialogueEncoder) -> None:
        self.encoder = encoder

    def on_step_end(self, args: TrainingArguments, state: Any, control: Any, **_: Any) -> None:
        # A checkpoint does not keep the losses since the last log, so a resumed run would log another mean.
        control.should_log |= state.global_step % args.save_steps == 0

    def on_save(self, args: TrainingArguments, state: Any, control: Any, **_: Any) -> None:
        # Every process has put what is its own into the checkpoint.
        meet()
        if not state.is_world_process_zero:
            return
        folder = Path(args.output_dir)
        save_weights(self.encoder, folder / f"weights-{state.global_step}.safetensors")
        (folder / f"checkpoint-{state.global_step}" / WHOLE).touch()


class _Progress(TrainerCallback):
    """A bar with loss and learning rate on a terminal; a line per logged step in a log file."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def on_train_begin(self, args: TrainingArguments, state: Any, control: Any, **_: Any) -> None:
        if rank() > 0:
            # Other items, other dropout. A run that is resumed takes up its own draws behind this.
            torch.manual_seed(args.seed + rank())
        self.bar = tqdm(
            total=state.max_steps, initial=state.global_step, unit="step", disable=rank() > 0 or not sys.stderr.isatty()
        )

    def on_step_end(self, args: TrainingArguments, state: Any, control: Any, **_: Any) -> None:
        self.bar.update(state.global_step - self.bar.n)

    def on_log(self, args: TrainingArguments, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        if "loss" not in logs:
            return
        loss, rate = float(logs["loss"]), float(logs["learning_rate"])
        if not math.isfinite(loss):
            raise _diverged(f"the loss became {loss} at step {state.global_step}; expected a finite number", self.names)
        self.bar.set_postfix_str(f"loss {loss:.4f}, learning rate {rate:.2e}")
        if self.bar.disable and rank() == 0:
            log.info("step %d of %d: loss %.4f, learning rate %.2e", state.global_step, state.max_steps, loss, rate)

    def on_train_end(self, args: TrainingArguments, state: Any, control: Any, **_: Any) -> None:
        self.bar.close()


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training run leaves behind.

    :param history: one entry per logged step: "step", "loss", "learning_rate", "grad_norm".
    :param steps: optimiser steps.
    :param items: different items that were trained on.
    :param items_are: what they are: "dialogues", "pairs".
    :param cut: those among them of which something was longer than the training's limit and was left out.
    :param resumed_from: step of the checkpoint that this process began with, 0 for a fresh start.
    :param seconds: wall-clock seconds of this process's part.
    :param tokens: that the encoder read per step, padding left out; mean over this process's steps.
    """

    history: list[dict[str, float]]
    steps: int
    items: int
    items_are: str
    cut: int
    resumed_from: int
    seconds: float
    tokens: float

    @classmethod
    def nothing(cls) -> Trained:
        """Return what a run without items leaves."""
        return cls([], steps=0, items=0, items_are="dialogues", cut=0, resumed_from=0, seconds=0.0, tokens=0.0)


def train(
    encoder: DialogueEncoder,
    data: TrainingSet,
    *,
    settings: Train,
    seed: int,
    checkpoints: Path,
    fingerprint: str,
    auxiliary_rate: float | None = None,
    schedule: Schedule = "linear",
    names: Names | None = None,
) -> Trained:
    """Train `encoder` in place on `data`; a killed run resumes from its last whole checkpoint.

    Each checkpoint's weights stay as `weights-<step>.safetensors` in `checkpoints`, from the first to the last step.

    :param data: the items of the whole run, in order, with their loss.
    :param checkpoints: folder of this run's checkpoints; emptied when it belongs to another `fingerprint`.
    :param fingerprint: identifies data, settings and starting encoder.
    :param auxiliary_rate: learning rate of what `data` trains beside the encoder; None is the encoder's.
    :param schedule: of the learning rate, behind the warm-up.
    :param names: how the run is spoken of; None is as of block `train`.
    :raises SettingsError: when every weight is frozen.
    :raises Dial2vecError: when loss or weights are no longer finite.
    """
    names = names or Names()
    start = by_the_first(lambda: last_whole_checkpoint(checkpoints, fingerprint))
    if not len(data):
        return Trained.nothing()
    set_seed(seed)
    _freeze(encoder, settings.frozen_share, names)
    encoder.attention_dropout = settings.attention_dropout
    objective = _Objective(encoder, settings, data)
    trainer = _Trainer(
        model=objective,
        args=_arguments(_with_few_candidates(settings, len(data)), seed, checkpoints, schedule),
        train_dataset=data,
        data_collator=data.collate,
        callbacks=[_MarkWhole(encoder), _Progress(names)],
    )
    trainer.remove_callback(PrinterCallback)
    if objective.auxiliary is not None and auxiliary_rate is not None:
        _give_a_rate_of_their_own(objective.auxiliary, trainer.create_optimizer(), auxiliary_rate)
    result = trainer.train(resume_from_checkpoint=str(start) if start else None)
    objective.counting.remove()
    encoder.eval()
    # Steps after the last log can diverge unseen.
    if not all(bool(torch.isfinite(weights).all()) for weights in encoder.parameters()):
        raise _diverged("the encoder's weights are no longer finite after the last step", names)
    if rank() == 0:
        save_weights(encoder, checkpoints / f"weights-{trainer.state.global_step}.safetensors")
    resumed_from = int(start.name.split("-")[1]) if start else 0
    return Trained(
        _history(trainer),
        steps=trainer.state.global_step,
        items=len(np.unique(data.order[:, 1])),
        items_are=names.items,
        cut=data.count_cut(),
        resumed_from=resumed_from,
        seconds=result.metrics["train_runtime"],
        tokens=objective.tokens_read() / max(1, trainer.state.global_step - resumed_from),
    )


def _freeze(encoder: DialogueEncoder, share: float, names: Names) -> None:
    encoder.freeze_bottom(share)
    if not any(weights.requires_grad for weights in encoder.parameters()):
        raise SettingsError(
            f"{names.block}.frozen_share is {share:g}, which leaves nothing to train. Lower it in params.yaml."
        )


def _history(trainer: Trainer) -> list[dict[str, float]]:
    return [
        {key: float(entry[key]) for key in ("step", "loss", "learning_rate", "grad_norm") if key in entry}
        for entry in trainer.state.log_history
        if "loss" in entry
    ]


def _diverged(found: str, names: Names) -> Dial2vecError:
    return Dial2vecError(f"{found}. {names.remedy}.")


def _give_a_rate_of_their_own(module: nn.Module, optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Move a module's weights out of the Trainer's groups into like ones (with decay, without) of another rate."""
    own = {id(weights) for weights in module.parameters()}
    for group in list(optimizer.param_groups):
        moved = [weights for weights in group["params"] if id(weights) in own]
        group["params"] = [weights for weights in group["params"] if id(weights) not in own]
        if moved:
            optimizer.add_param_group({**group, "params": moved, "lr": rate})


def _with_few_candidates(settings: Train, n_items: int) -> Train:
    """Return the settings with as many steps between checkpoints as leave no more than `MOST_CANDIDATES` of them."""
    steps = math.ceil(math.ceil(n_items / settings.batch_size) / settings.gradient_accumulation)
    least = math.ceil(steps / MOST_CANDIDATES)
    if settings.checkpoint_steps >= least:
        return settings
    log.info("a checkpoint every %d steps, not %d: at most %d", least, settings.checkpoint_steps, MOST_CANDIDATES)
    return replace(settings, checkpoint_steps=least)


def _arguments(settings: Train, seed: int, checkpoints: Path, schedule: Schedule) -> TrainingArguments:
    arguments = TrainingArguments(
        output_dir=str(checkpoints),
        seed=seed,
        # All epochs are laid out in the training set already, in order.
        num_train_epochs=1,
        train_sampling_strategy="sequential",
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.gradient_accumulation,
        learning_rate=settings.learning_rate,
        warmup_steps=settings.warmup_share,
        lr_scheduler_type="linear" if schedule == "linear" else "constant_with_warmup",
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_gradient_norm,
        # A loss that is no number must be seen, not replaced by the mean of those before.
        logging_nan_inf_filter=False,
        logging_steps=settings.log_steps,
        logging_first_step=True,
        save_strategy="steps",
        save_steps=settings.checkpoint_steps,
        save_total_limit=2,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        disable_tqdm=True,
        report_to=[],
        # Several processes without a GPU have to be told so.
        use_cpu=n_processes() > 1 and not torch.cuda.is_available(),
    )
    # One GPU: several would make each step that many times as large. Asking first lets the Trainer set up its device.
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1
    return arguments


def last_whole_checkpoint(folder: Path, fingerprint: str) -> Path | None:
    """Return the newest checkpoint that was written to its end and belongs to this run; delete all others."""
    if not claim(folder, fingerprint):
        return None
    found = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]), reverse=True)
    whole = next((path for path in found if _is_whole(path)), None)
    for path in found:
        if path != whole:
            shutil.rmtree(path)
    if whole:
        log.warning("resuming from %s", whole)
    return whole


def _is_whole(checkpoint: Path) -> bool:
    if not all((checkpoint / name).is_file() for name in (*CHECKPOINT_FILES, WHOLE)):
        return False
    try:
        json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True
