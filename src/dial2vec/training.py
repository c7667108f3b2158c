"""Training on the `transformers` Trainer: length-grouped dynamic padding, whole checkpoints, exact resume."""

from __future__ import annotations

import json
import logging
import math
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import Dataset
from tqdm.auto import tqdm
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments, set_seed

from dial2vec.config import Train
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ArtifactError, Dial2vecError, SettingsError
from dial2vec.files import read_json, write_json
from dial2vec.objectives import OBJECTIVES
from dial2vec.sampling import Samples
from dial2vec.tokens import Batch, DialogueTokenizer, TokenSequence, Utterances

WHOLE = "WHOLE"
CHECKPOINT_FILES = ("model.safetensors", "optimizer.pt", "scheduler.pt", "trainer_state.json", "training_args.bin")

log = logging.getLogger(__name__)


class TrainingSet(Dataset[list[TokenSequence]]):
    """Every training item of the whole run in the order in which it is trained on: epochs, passes, dialogues.

    One item is a dialogue with its negatives, `[positive, negative, ...]`, put together from token ids that were
    made once. The order is fixed beforehand, so a resumed run goes on with the very next item.

    :param order: int64 [items, 2]: (pass, place in `samples.dialogues`).
    """

    def __init__(
        self, train: Sequence[Dialogue], samples: Samples, tokenizer: DialogueTokenizer, order: NDArray[np.int64]
    ) -> None:
        self.samples, self.tokenizer, self.order = samples, tokenizer, order
        self.roles = [train[i].roles for i in samples.dialogues]
        self.first = np.concatenate([[0], np.cumsum([len(dialogue.turns) for dialogue in train])])
        self.places, self.tokens = self._tokenise(train)

    def _tokenise(self, train: Sequence[Dialogue]) -> tuple[NDArray[np.int32], Utterances]:
        """Tokenise the turns that occur in `order`, each once; `places` maps a turn's number to its utterance."""
        needed = np.zeros(self.first[-1], dtype=bool)
        for index, place in np.unique(self.order, axis=0):
            for turns in self._turn_numbers(index, place):
                needed[turns] = True
        places = np.cumsum(needed, dtype=np.int32) - 1
        texts = (turn.text for dialogue in train for turn in dialogue.turns)
        return places, self.tokenizer.utterances(text for text, keep in zip(texts, needed, strict=True) if keep)

    def _turn_numbers(self, index: int, place: int) -> NDArray[np.int64]:
        """Turn numbers of the positive and its negatives, [N, turns]."""
        begin, end = self.samples.first_turn[place], self.samples.first_turn[place + 1]
        own = self.first[self.samples.dialogues[place]] + np.arange(end - begin)
        return np.vstack([own, self.samples.negatives[index, :, begin:end]])

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, item: int) -> list[TokenSequence]:
        index, place = self.order[item]
        rows = self.places[self._turn_numbers(index, place)]
        return [self.tokenizer.assemble([self.tokens[u] for u in row], self.roles[place]) for row in rows]

    def collate(self, items: list[list[TokenSequence]]) -> dict[str, Tensor]:
        """Pad items to their longest sequence: `ids`, `attention`, `turns`, `roles`, each int64 [items, N, n]."""
        batch = self.tokenizer.pad([sequence for item in items for sequence in item])
        # Items first, so that a batch that is shared out over several GPUs is never cut inside an item.
        return {name: getattr(batch, name).unflatten(0, (len(items), -1)) for name in Batch.__slots__}

    def count_cut(self) -> int:
        """Return how many dialogues do not fit into the encoder's limit, they themselves or a negative of theirs."""
        cut = set()
        for index, place in np.unique(self.order, axis=0):
            words = self.tokens.lengths[self.places[self._turn_numbers(index, place)]]
            if words.sum(1).max() + self.tokenizer.n_special(words.shape[1]) > self.tokenizer.max_length:
                cut.add(place)
        return len(cut)


def training_order(words: NDArray[np.int64], *, passes: int, settings: Train, seed: int) -> NDArray[np.int64]:
    """Return the items of all epochs in training order, int64 [items, 2]: (pass, place).

    A seeded shuffle per epoch; within each run of 50 batches items of similar length share a batch, and the batches
    of a run are shuffled again, so that no run goes from long to short. With `max_dialogues`, the first of a seeded
    permutation are used: the same ones in every epoch, and a smaller number is a subset of a larger one.

    :param words: length of each dialogue that can train, int64 [m], in any unit.
    """
    chosen = np.random.default_rng([seed, 0]).permutation(len(words))[: settings.max_dialogues]
    items = np.stack(np.meshgrid(np.arange(passes), np.sort(chosen), indexing="ij"), axis=-1).reshape(-1, 2)
    epochs = []
    for epoch in range(settings.epochs):
        rng = np.random.default_rng([seed, 1, epoch])
        shuffled = items[rng.permutation(len(items))]
        for start in range(0, len(shuffled), 50 * settings.batch_size):
            run = shuffled[start : start + 50 * settings.batch_size]
            run = run[np.argsort(-words[run[:, 1]], kind="stable")]
            batches = [run[i : i + settings.batch_size] for i in range(0, len(run), settings.batch_size)]
            # The short batch, if any, stays last: batches are cut again by the loader.
            tail = [batches.pop()] if len(batches[-1]) < settings.batch_size else []
            epochs += [batches[i] for i in rng.permutation(len(batches))] + tail
    return np.concatenate(epochs) if epochs else np.zeros((0, 2), np.int64)


class _Objective(nn.Module):
    """What the Trainer trains: the encoder with its loss."""

    def __init__(self, encoder: DialogueEncoder, settings: Train, n_samples: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.settings, self.n_samples = settings, n_samples

    def forward(self, ids: Tensor, attention: Tensor, turns: Tensor, roles: Tensor) -> dict[str, Tensor]:
        batch = Batch(*(tensor.flatten(0, 1) for tensor in (ids, attention, turns, roles)))
        hidden = self.encoder.hidden_states(batch)
        loss = OBJECTIVES[self.settings.method](
            hidden,
            batch.turns,
            batch.roles,
            n_samples=self.n_samples,
            temperature=self.settings.temperature,
            window=self.settings.window,
        )
        return {"loss": loss}


class _MarkWhole(TrainerCallback):
    """Writes a mark last into every checkpoint: one without it was being written when the process was killed."""

    def on_save(self, args: TrainingArguments, state: Any, control: Any, **_: Any) -> None:
        (Path(args.output_dir) / f"checkpoint-{state.global_step}" / WHOLE).touch()


class _Progress(TrainerCallback):
    """A bar with loss and learning rate on a terminal; a line per logged step in a log file."""

    def on_train_begin(self, args: TrainingArguments, state: Any, control: Any, **_: Any) -> None:
        self.bar = tqdm(total=state.max_steps, initial=state.global_step, unit="step", disable=not sys.stderr.isatty())

    def on_step_end(self, args: TrainingArguments, state: Any, control: Any, **_: Any) -> None:
        self.bar.update(state.global_step - self.bar.n)

    def on_log(self, args: TrainingArguments, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        if "loss" not in logs:
            return
        loss, rate = float(logs["loss"]), float(logs["learning_rate"])
        if not math.isfinite(loss):
            raise Dial2vecError(
                f"the loss became {loss} at step {state.global_step}; expected a finite number. "
                "Lower train.learning_rate or raise train.temperature in params.yaml."
            )
        self.bar.set_postfix_str(f"loss {loss:.4f}, learning rate {rate:.2e}")
        if self.bar.disable:
            log.info("step %d of %d: loss %.4f, learning rate %.2e", state.global_step, state.max_steps, loss, rate)

    def on_train_end(self, args: TrainingArguments, state: Any, control: Any, **_: Any) -> None:
        self.bar.close()


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training run leaves behind.

    :param history: one entry per logged step: "step", "loss", "learning_rate", "grad_norm".
    :param steps: optimiser steps.
    :param dialogues: different dialogues that were trained on.
    :param cut: those among them that were longer than the encoder's limit, or had a negative that was; their end
        was left out.
    :param resumed_from: step of the checkpoint that this process began with, 0 for a fresh start.
    :param seconds: wall-clock seconds of this process's part.
    """

    history: list[dict[str, float]]
    steps: int
    dialogues: int
    cut: int
    resumed_from: int
    seconds: float


def train(
    encoder: DialogueEncoder,
    dialogues: Sequence[Dialogue],
    samples: Samples,
    *,
    settings: Train,
    seed: int,
    checkpoints: Path,
    fingerprint: str,
) -> Trained:
    """Train `encoder` in place by its method's objective; a killed run resumes from its last whole checkpoint.

    :param dialogues: the training split.
    :param samples: its negatives, from `draw_samples`.
    :param checkpoints: folder of this run's checkpoints; emptied when it belongs to another `fingerprint`.
    :param fingerprint: identifies data, settings and starting encoder.
    :raises ArtifactError: when no dialogue can train.
    """
    words = np.array(
        [sum(len(turn.text.split()) for turn in dialogues[i].turns) for i in samples.dialogues], dtype=np.int64
    )
    order = training_order(words, passes=len(samples.negatives), settings=settings, seed=seed)
    if not len(order):
        raise ArtifactError(
            f"none of the {len(dialogues)} training dialogues can train: each needs two speakers and sample.min_turns "
            "turns. Lower sample.min_turns in params.yaml or bring longer dialogues."
        )
    set_seed(seed)
    encoder.freeze_bottom(settings.frozen_share)
    data = TrainingSet(dialogues, samples, encoder.tokens, order)
    start = _last_whole_checkpoint(checkpoints, fingerprint)
    trainer = Trainer(
        model=_Objective(encoder, settings, samples.negatives.shape[1] + 1),
        args=_arguments(settings, seed, checkpoints),
        train_dataset=data,
        data_collator=data.collate,
        callbacks=[_MarkWhole(), _Progress()],
    )
    trainer.remove_callback(PrinterCallback)
    result = trainer.train(resume_from_checkpoint=str(start) if start else None)
    encoder.eval()
    history = [
        {key: float(entry[key]) for key in ("step", "loss", "learning_rate", "grad_norm") if key in entry}
        for entry in trainer.state.log_history
        if "loss" in entry
    ]
    resumed_from = int(start.name.split("-")[1]) if start else 0
    n_dialogues = len(np.unique(order[:, 1]))
    seconds = result.metrics["train_runtime"]
    return Trained(history, trainer.state.global_step, n_dialogues, data.count_cut(), resumed_from, seconds)


def _arguments(settings: Train, seed: int, checkpoints: Path) -> TrainingArguments:
    has_bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    if settings.precision == "bf16" and not has_bf16:
        raise SettingsError(
            "train.precision is bf16, but no GPU has bf16. Set it to auto: bf16 where a GPU has it, else fp32."
        )
    return TrainingArguments(
        output_dir=str(checkpoints),
        seed=seed,
        # All epochs are laid out in the training set already, in order.
        num_train_epochs=1,
        train_sampling_strategy="sequential",
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.gradient_accumulation,
        learning_rate=settings.learning_rate,
        warmup_steps=settings.warmup_share,
        lr_scheduler_type="linear",
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_gradient_norm,
        # A loss that is no number must be seen, not replaced by the mean of those before.
        logging_nan_inf_filter=False,
        bf16=has_bf16 and settings.precision != "fp32",
        logging_steps=settings.log_steps,
        logging_first_step=True,
        save_strategy="steps",
        save_steps=settings.checkpoint_steps,
        save_total_limit=2,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        disable_tqdm=True,
        report_to=[],
    )


def _last_whole_checkpoint(folder: Path, fingerprint: str) -> Path | None:
    """Return the newest checkpoint that was written to its end and belongs to this run; delete all others."""
    owner = folder / "fingerprint.json"
    try:
        ours = owner.is_file() and read_json(owner) == fingerprint
    except ArtifactError:
        ours = False
    if not ours:
        shutil.rmtree(folder, ignore_errors=True)
        write_json(owner, fingerprint)
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
