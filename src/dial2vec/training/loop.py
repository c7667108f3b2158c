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
from torch.utils.data import DataLoader, Dataset
from tqdm.auto import tqdm
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments, set_seed

from dial2vec.config import Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.cpu.threads import steady_threads
from dial2vec.encoder.tokens import Batch
from dial2vec.errors import Dial2vecError, SettingsError
from dial2vec.files import claim
from dial2vec.training.candidates import save_weights
from dial2vec.training.data import TrainingSet
from dial2vec.training.processes import barrier, gathered, n_processes, on_main_process, rank

WHOLE = "WHOLE"
# Each candidate stores all trained weights, and encodes dev for the choice.
MOST_CANDIDATES = 40
Schedule = Literal["linear", "constant"]
CHECKPOINT_FILES = ("model.safetensors", "optimizer.pt", "scheduler.pt", "trainer_state.json", "training_args.bin")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Names:
    """Words for messages about a training run.

    :param block: Block of params.yaml with its settings.
    :param items: Name of its items, in the plural.
    :param remedy: Advice if the run diverges, without a full stop.
    """

    block: str = "train"
    items: str = "dialogues"
    remedy: str = "Lower train.learning_rate in params.yaml"

    @classmethod
    def of_block(cls, block: str, *, items: str = "dialogues") -> Names:
        """Return the words for a run with rate and temperature in a block."""
        return cls(block, items, f"Lower {block}.learning_rate or raise {block}.temperature in params.yaml")


class _Objective(nn.Module):
    """The encoder with its loss, as the Trainer wants it."""

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
        """Return the number of tokens that all processes read, without padding."""
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


class ProcessBatches(Dataset[dict[str, Tensor]]):
    """The batches of a training run; each process reads every n-th item of a batch.

    A short batch can leave a process without an item; that process takes the first item, with weight 0. `share` in a
    batch is the factor of its loss: with it, the mean over the processes is the mean over the whole batch.

    :param batch_size: Items of a whole batch, all processes together.
    """

    def __init__(self, data: TrainingSet, *, batch_size: int, n_processes: int, rank: int) -> None:
        self.data, self.batch_size, self.n_processes, self.rank = data, batch_size, n_processes, rank

    def __len__(self) -> int:
        return -(-len(self.data) // self.batch_size)

    def __getitem__(self, step: int) -> dict[str, Tensor]:
        items = range(step * self.batch_size, min((step + 1) * self.batch_size, len(self.data)))
        own = items[self.rank :: self.n_processes]
        share = torch.tensor(len(own) * self.n_processes / len(items))
        return self.data.collate([self.data[item] for item in own or items[:1]]) | {"share": share}


class _Trainer(Trainer):
    """A Trainer whose processes share each batch: a step has the same size with any number of processes."""

    def get_train_dataloader(self) -> DataLoader[Any]:
        if n_processes() == 1:
            return super().get_train_dataloader()
        data = ProcessBatches(
            self.train_dataset,
            batch_size=self.args.per_device_train_batch_size,
            n_processes=n_processes(),
            rank=rank(),
        )
        # An item is a whole batch already; without a batch size the Trainer cannot skip finished steps.
        return DataLoader(data, batch_size=1, collate_fn=itemgetter(0), pin_memory=self.args.dataloader_pin_memory)


class _MarkWhole(TrainerCallback):
    """Keeps the weights of every checkpoint as a candidate, then marks the checkpoint as whole.

    A checkpoint without the mark was not finished when the process was killed.
    """

    def __init__(self, encoder: DialogueEncoder) -> None:
        self.encoder = encoder

    def on_step_end(self, args: TrainingArguments, state: Any, control: Any, **_: Any) -> None:
        # A checkpoint does not keep the losses since the last log; a resumed run would log another mean.
        control.should_log |= state.global_step % args.save_steps == 0

    def on_save(self, args: TrainingArguments, state: Any, control: Any, **_: Any) -> None:
        # All processes have written their parts of the checkpoint.
        barrier()
        if not state.is_world_process_zero:
            return
        folder = Path(args.output_dir)
        save_weights(self.encoder, folder / f"weights-{state.global_step}.safetensors")
        (folder / f"checkpoint-{state.global_step}" / WHOLE).touch()


class _Progress(TrainerCallback):
    """Shows a bar with loss and learning rate on a terminal; writes a line per logged step to a log file."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def on_train_begin(self, args: TrainingArguments, state: Any, control: Any, **_: Any) -> None:
        if rank() > 0:
            # Other items, other dropout. A resumed run restores its own random state later.
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
    """Record of a training run.

    :param history: One entry per logged step: "step", "loss", "learning_rate", "grad_norm".
    :param items: Number of different items.
    :param items_are: Name of the items: "dialogues", "pairs".
    :param cut: Number of items with a part that was cut at the length limit.
    :param resumed_from: Step of the checkpoint that this process started from, 0 for a fresh start.
    :param seconds: Wall-clock seconds of this process's part.
    :param tokens: Tokens per step, without padding; mean over this process's steps.
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
        """Return the record of a run without items."""
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

    :param data: Items of the whole run, in order, with their loss.
    :param checkpoints: Folder of this run's checkpoints; emptied if it belongs to another `fingerprint`.
    :param fingerprint: Identity of data, settings and base encoder.
    :param auxiliary_rate: Learning rate of `data.auxiliary`; None is the encoder's.
    :param schedule: Learning rate after the warm-up.
    :param names: Words for messages about the run; None is those for block `train`.
    :raises SettingsError: if every weight is frozen.
    :raises Dial2vecError: if loss or weights are no longer finite.
    """
    names = names or Names()
    start = on_main_process(lambda: last_whole_checkpoint(checkpoints, fingerprint))
    if not len(data):
        return Trained.nothing()
    set_seed(seed)
    _freeze(encoder, settings.frozen_share, names)
    encoder.network.attention_dropout = settings.attention_dropout
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
        _set_rate(objective.auxiliary, trainer.create_optimizer(), auxiliary_rate)
    with steady_threads(checkpoints / "threads.json", encoder.device.type):
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
    encoder.network.freeze_bottom(share)
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


def _diverged(reason: str, names: Names) -> Dial2vecError:
    return Dial2vecError(f"{reason}. {names.remedy}.")


def _set_rate(module: nn.Module, optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Give a module's weights a learning rate of their own: move them to new groups, with and without decay."""
    own = {id(weights) for weights in module.parameters()}
    for group in list(optimizer.param_groups):
        moved = [weights for weights in group["params"] if id(weights) in own]
        group["params"] = [weights for weights in group["params"] if id(weights) not in own]
        if moved:
            optimizer.add_param_group({**group, "params": moved, "lr": rate})


def _with_few_candidates(settings: Train, n_items: int) -> Train:
    """Return the settings with enough steps between checkpoints for at most `MOST_CANDIDATES` of them."""
    steps = math.ceil(math.ceil(n_items / settings.batch_size) / settings.gradient_accumulation)
    interval = math.ceil(steps / MOST_CANDIDATES)
    if settings.checkpoint_steps >= interval:
        return settings
    log.info("a checkpoint every %d steps, not %d: at most %d", interval, settings.checkpoint_steps, MOST_CANDIDATES)
    return replace(settings, checkpoint_steps=interval)


def _arguments(settings: Train, seed: int, checkpoints: Path, schedule: Schedule) -> TrainingArguments:
    arguments = TrainingArguments(
        output_dir=str(checkpoints),
        seed=seed,
        # The training set already contains all epochs, in order.
        num_train_epochs=1,
        train_sampling_strategy="sequential",
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.gradient_accumulation,
        learning_rate=settings.learning_rate,
        warmup_steps=settings.warmup_share,
        lr_scheduler_type="linear" if schedule == "linear" else "constant_with_warmup",
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_gradient_norm,
        # A loss that is NaN must be seen, not replaced by the mean of earlier ones.
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
        # Several processes do not find out by themselves that there is no GPU.
        use_cpu=n_processes() > 1 and not torch.cuda.is_available(),
    )
    # One GPU per process: more would multiply the size of each step. Reading n_gpu first sets up the device.
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1
    return arguments


def last_whole_checkpoint(folder: Path, fingerprint: str) -> Path | None:
    """Return the newest whole checkpoint of this run; delete all others."""
    if not claim(folder, fingerprint):
        return None
    newest_first = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]), reverse=True)
    whole = next((path for path in newest_first if _is_whole(path)), None)
    for path in newest_first:
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
