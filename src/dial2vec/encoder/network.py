"""The network: dialogues' tokens to token vectors. A backbone, tables before it and a hierarchy on top of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from dial2vec.encoder.backbone import attention_heads, extra_inputs, layers, limits
from dial2vec.encoder.cpu.attention import use_cpu_attention
from dial2vec.encoder.cpu.packed import PackedLayers, can_pack, frozen_layers, packed_bottom, position_bias
from dial2vec.encoder.cpu.recomputing import StepMemory
from dial2vec.encoder.cpu.threads import fitting_threads
from dial2vec.encoder.inputs import input_style
from dial2vec.encoder.papers.hierarchical import Hierarchy, new_hierarchy
from dial2vec.encoder.reading import EncoderOptions
from dial2vec.encoder.tokens import MAX_ROLES, MAX_TURNS, Batch, DialogueTokenizer, TokenSequence
from dial2vec.errors import Dial2vecError, SettingsError

Precision = Literal["auto", "fp32", "bf16"]
# Names of the modules that make the input embeddings, beside the table of the tokens.
EMBEDDING = ("embeddings", "embed_positions", "embedder", "embed_layer_norm")
# Tokens that a CPU reads at a time, padding included: ten times as many took 1.7 times as long (docs/log.md).
CPU_TOKENS = 1536


class Network(nn.Module):
    """All weights of a `DialogueEncoder` but the head's, and the tokenizer that feeds them.

    :param backbone: Hugging Face encoder that returns `last_hidden_state` [b, n, d], or a `PlatoModel`.
    :param tokenizer: fast tokenizer of the backbone.
    :param options: all options but the pooling are used.
    :raises ModelError: if the backbone cannot read the input.

    Attributes: `attention_dropout`, whether attention drops weights in training; `precision`, in which dialogues are
    read; `codes` [m, d], those of a Poly-encoder (`dial2vec.encoder.papers.codes`), None without them.
    """

    def __init__(self, backbone: Any, tokenizer: Any, options: EncoderOptions) -> None:
        super().__init__()
        self.backbone = backbone
        use_cpu_attention(backbone)
        self.tokens = self.tokens_for(options, tokenizer)
        self.turn_table = _zero_table(MAX_TURNS, backbone) if options.turn_embeddings else None
        self.role_table = _zero_table(MAX_ROLES, backbone) if options.role_embeddings else None
        self.codes: nn.Parameter | None = None
        self.hierarchy: Hierarchy | None = None
        if options.hierarchy != "none":
            self.hierarchy = new_hierarchy(options.hierarchy, self.dimension, heads=attention_heads(backbone))
        self._frozen: list[nn.Module] = []
        self.attention_dropout = True
        self.precision: Precision = "fp32"
        self._packed: PackedLayers | None = None
        self._step_memory = StepMemory()

    def tokens_for(self, options: EncoderOptions, tokenizer: Any) -> DialogueTokenizer:
        """Return the tokenizer of dialogues for these options, within the limits of the backbone."""
        style = input_style(options.input, options.last_turns)
        longest, longest_turn = limits(self.backbone, tokenizer, style, name=options.input)
        return DialogueTokenizer(
            tokenizer,
            max_length=min(options.max_length, longest),
            input=options.input,
            last_turns=options.last_turns,
            max_turn=longest_turn,
        )

    @property
    def dimension(self) -> int:
        """Length d of a vector."""
        return int(self.backbone.config.hidden_size)

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return next(self.backbone.parameters()).device

    @property
    def tables(self) -> dict[str, nn.Embedding | None]:
        """The tables that are added to the input, "turn" and "role"; None for one that is not."""
        return {"turn": self.turn_table, "role": self.role_table}

    def forward(self, batch: Batch) -> Tensor:
        """Return the token vectors [b, n, d] of a padded batch of dialogues."""
        if self.tokens.style.apart:
            turns = batch.turns_apart()
            rows = turns.batch
            if self.tokens.style.count_down:
                # A turn that is read alone counts down to 1; `attention` is 1 at its tokens.
                rows = replace(rows, turns=rows.attention)
            alone = self.sequence_states(rows)
            hidden = alone.new_zeros(*batch.ids.shape, alone.shape[2]).masked_scatter(
                (batch.attention > 0)[..., None], alone[turns.rows, turns.places]
            )
        else:
            hidden = self.sequence_states(batch)
        return hidden if self.hierarchy is None else self.hierarchy(hidden, batch.turns, batch.attention)

    def sequence_states(self, batch: Batch) -> Tensor:
        """Return the token vectors [b, n, d] of rows that are one sequence each, with every input.

        The hierarchy is left out: it reads the turns of dialogues. On a CPU a few rows of similar length are read
        together: less padding, and their vectors stay in its caches. Padded places may hold anything.
        """
        if batch.ids.device.type != "cpu":
            return self._states(batch)
        parts, width, packed = batch.tight_parts(CPU_TOKENS), batch.ids.shape[1], self._current_layers()
        read = partial(checkpoint, self._states, use_reentrant=False) if self._recomputes(batch) else self._states
        states = [read(part, packed) for _, part in parts]
        padded = [functional.pad(some, (0, 0, 0, width - some.shape[1])) for some in states]
        return padded[0] if len(parts) == 1 else torch.cat(padded)[torch.cat([rows for rows, _ in parts]).argsort()]

    def _recomputes(self, batch: Batch) -> bool:
        """Return whether this is a training step that would keep too much memory for its gradients."""
        if not (self.training and torch.is_grad_enabled()):
            return False
        lengths, whole = batch.attention.sum(1).tolist(), any(table is not None for table in self.tables.values())
        return self._step_memory.is_too_small(self.backbone, lengths, lower=_cpu_computes_in_bf16(), whole=whole)

    def _states(self, batch: Batch, packed: PackedLayers | None = None) -> Tensor:
        inputs = extra_inputs(self.backbone, self.tokens.style, batch) | self._tokens_in(batch)
        if packed is None:
            return self.backbone(attention_mask=batch.attention, **inputs).last_hidden_state
        if self.training:
            with packed_bottom(self.backbone, packed, batch.attention):
                return self.backbone(attention_mask=batch.attention, **inputs).last_hidden_state
        embedded = self.backbone.embeddings(**inputs)
        return packed(embedded, batch.attention, position_bias(self.backbone, embedded)).float()

    def _tokens_in(self, batch: Batch) -> dict[str, Tensor]:
        """Return the tokens' ids, or their vectors if tables are added to these."""
        if self.turn_table is None and self.role_table is None:
            return {"input_ids": batch.ids}
        embedded = self.backbone.get_input_embeddings()(batch.ids)
        if self.turn_table is not None:
            embedded = embedded + self.turn_table(batch.turns.clamp(max=MAX_TURNS - 1))
        if self.role_table is not None:
            embedded = embedded + self.role_table(batch.roles.clamp(min=0, max=MAX_ROLES - 1))
        return {"inputs_embeds": embedded}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a copy or another process, which pack their layers and look at the memory themselves."""
        return self.__dict__ | {"_packed": None, "_step_memory": StepMemory()}

    def _current_layers(self) -> PackedLayers | None:
        """Return the layers that this call reads packed, from the bottom; None if there are none."""
        count = self._packable()
        if not count:
            self._packed = None
        elif self._packed is None or not self._packed.is_current(self.backbone, count):
            self._packed = PackedLayers(self.backbone, count)
        return self._packed

    def _packable(self) -> int:
        """Return how many layers from the bottom can be packed: all in reading, the frozen ones in training."""
        if not (_cpu_computes_in_bf16() and can_pack(self.backbone)):
            return 0
        if not (self.training or torch.is_grad_enabled()):
            return len(self.backbone.encoder.layer)
        learns_below = any(table is not None for table in self.tables.values())
        return 0 if learns_below or not self.training else frozen_layers(self.backbone)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Evaluate without gradients, in `precision`, inside a `with`; the mode before is restored at its end.

        An autocast around it that computes in bf16 stays.
        """
        was_training, kind = self.training, self.device.type
        lower = torch.is_autocast_enabled(kind) or resolved(self.precision, kind) == "bf16"
        self.eval()
        try:
            with torch.inference_mode(), torch.autocast(kind, torch.bfloat16, enabled=lower):
                yield
        finally:
            self.train(was_training)

    def batches(self, sequences: Sequence[TokenSequence], batch_size: int) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """Yield row numbers and batches of similar length, longest first, so that too little memory shows at once.

        :param batch_size: rows per batch.
        :raises Dial2vecError: if `batch_size` is below 1.
        """
        if batch_size < 1:
            raise Dial2vecError(f"batch_size is {batch_size}; expected at least 1.")
        order = np.argsort([-len(sequence.ids) for sequence in sequences], kind="stable")
        with fitting_threads(self.device.type) as adapt:
            for first in range(0, len(order), batch_size):
                adapt()
                rows = order[first : first + batch_size]
                yield rows, self.tokens.pad([sequences[row] for row in rows]).to(self.device)

    def freeze_bottom(self, share: float) -> int:
        """Freeze the input embeddings and the bottom `share` of the layers, and return how many layers were frozen.

        :param share: 0 freezes nothing at all, 0.5 the bottom half (the paper: 6 of 12), 1 every layer. The turn
            and role tables and the hierarchy stay trainable.
        :raises Dial2vecError: if the share is above 0 and the encoder has no list of layers.
        """
        # Some encoders have a pooler of their own; no vector of ours uses it.
        if getattr(self.backbone, "pooler", None) is not None:
            self.backbone.pooler.requires_grad_(False)
        if share == 0:
            return 0
        stack = layers(self.backbone)
        n_frozen = int(len(stack) * share)
        blocks = [block for name in EMBEDDING if isinstance(block := getattr(self.backbone, name, None), nn.Module)]
        self._frozen = [self.backbone.get_input_embeddings(), *blocks, *stack[:n_frozen]]
        for module in self._frozen:
            module.requires_grad_(False)
        return n_frozen

    def train(self, mode: bool = True) -> Self:
        """Switch to training; frozen layers stay in evaluation mode, without dropout.

        With `attention_dropout` False attention has no dropout: torch's fast kernels for a CPU do not support it, and
        drawing it takes longer than the attention itself (docs/benchmarks.md).
        """
        super().train(mode)
        for module in self._frozen:
            module.eval()
        if not self.attention_dropout:
            for module in self.modules():
                if "Attention" in type(module).__name__:
                    # Not its submodules: they may have dropout of another kind.
                    module.training = False
        return self


def _cpu_computes_in_bf16() -> bool:
    """Return whether an autocast around the caller makes a CPU compute in bf16."""
    return torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16


def resolved(precision: Precision, device: str) -> Literal["fp32", "bf16"]:
    """Return the precision that a kind of device computes with.

    :param precision: "auto" is bf16 if the GPU or CPU has instructions for it, else fp32.
    :param device: "cpu", "cuda", ...
    :raises SettingsError: if "bf16" is requested without such instructions: emulation is orders of magnitude slower.
    """
    has = has_bf16(device)
    if precision == "bf16" and not has:
        raise SettingsError(
            f"precision is bf16, but this machine's {device} has no instructions for it. Set it to auto: "
            "bf16 if there are any, else fp32."
        )
    return "bf16" if has and precision != "fp32" else "fp32"


def has_bf16(device: str) -> bool:
    """Return whether a kind of device has instructions for bf16."""
    if device == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device == "cpu" and torch.cpu._is_avx512_bf16_supported()


def _zero_table(size: int, backbone: Any) -> nn.Embedding:
    table = nn.Embedding(size, backbone.get_input_embeddings().embedding_dim)
    nn.init.zeros_(table.weight)
    return table
