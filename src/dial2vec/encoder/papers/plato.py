"""PLATO's encoder, from weights converted to PyTorch (Bao et al. 2020; contents of a folder: docs/encoders.md).

A BERT-like transformer whose input is the sum of token, position, role ("type") and turn embeddings, with layer norms
after the sums (post-LN). dial2vec does not use PLATO's latent variable and generation heads (Liu et al. 2022).
Modules have the names of the public conversion `PLATO.pt`, so that its parameters load by name.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from dial2vec.errors import ModelError, did_you_mean

MODEL_TYPE = "plato"
# The first of these files in a folder is read.
WEIGHT_FILES = ("model.safetensors", "PLATO.pt", "pytorch_model.bin")
# Parameters of the latent variable and of generation; the encoder does not need them.
GENERATION = (
    "mask_embed",
    "latent_embeddings",
    "post_network.",
    "bow_predictor.",
    "discriminator.",
    "pre_predictor.",
    "pre_bow_predictor.",
    "predictor.",
)
EPSILON = 1e-12


@dataclass(frozen=True, slots=True)
class PlatoConfig:
    """Sizes; the defaults are PLATO's.

    :param vocab_size: number of tokens; PLATO's vocabulary is that of bert-base-uncased.
    :param max_position_embeddings: longest turn in tokens, since positions restart in every turn.
    :param role_vocab_size: number of roles.
    :param turn_vocab_size: number of turn numbers; 0 is a response to be generated, so 16 stand for 15 turns.
    :param dropout: dropout in attention, feed-forward and before each sum; the embeddings have none.
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    max_position_embeddings: int = 512
    role_vocab_size: int = 2
    turn_vocab_size: int = 16
    dropout: float = 0.1

    @property
    def model_type(self) -> str:
        """Model type in the `config.json` of a PLATO folder."""
        return MODEL_TYPE


class PlatoOutput(NamedTuple):
    """Result of the encoder: token vectors [b, n, d]."""

    last_hidden_state: Tensor


class _Embedder(nn.Module):
    def __init__(self, config: PlatoConfig) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.pos_embedding = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.type_embedding = nn.Embedding(config.role_vocab_size, config.hidden_size)
        self.turn_embedding = nn.Embedding(config.turn_vocab_size, config.hidden_size)


class _Attention(nn.Module):
    def __init__(self, config: PlatoConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.num_attention_heads, config.dropout
        self.linear_qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.linear_out = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        # [b, n, 3 d] -> query, key and value, each [b, heads, n, d / heads]
        query, key, value = self.linear_qkv(hidden).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        dropout = self.dropout if self.training else 0.0
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
        return self.linear_out(seen.transpose(1, 2).flatten(2))


class _FeedForward(nn.Module):
    def __init__(self, config: PlatoConfig) -> None:
        super().__init__()
        self.linear_hidden = nn.Sequential(nn.Linear(config.hidden_size, 4 * config.hidden_size), nn.GELU())
        self.linear_out = nn.Linear(4 * config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.linear_out(self.dropout(self.linear_hidden(hidden)))


class _Layer(nn.Module):
    def __init__(self, config: PlatoConfig) -> None:
        super().__init__()
        self.attn, self.ff = _Attention(config), _FeedForward(config)
        self.attn_norm = nn.LayerNorm(config.hidden_size, eps=EPSILON)
        self.ff_norm = nn.LayerNorm(config.hidden_size, eps=EPSILON)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        hidden = self.attn_norm(hidden + self.dropout(self.attn(hidden, mask)))
        return self.ff_norm(hidden + self.dropout(self.ff(hidden)))


class PlatoModel(nn.Module):
    """PLATO's transformer; every token sees all others. Weights are random until some are loaded.

    :param config: sizes.
    """

    def __init__(self, config: PlatoConfig) -> None:
        super().__init__()
        self.config = config
        self.embedder = _Embedder(config)
        self.embed_layer_norm = nn.LayerNorm(config.hidden_size, eps=EPSILON)
        self.layers = nn.ModuleList([_Layer(config) for _ in range(config.num_hidden_layers)])
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the table of the tokens."""
        return self.embedder.token_embedding

    def forward(
        self,
        *,
        position_ids: Tensor,
        turn_ids: Tensor,
        role_ids: Tensor,
        attention_mask: Tensor,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
    ) -> PlatoOutput:
        """Encode a padded batch; every tensor but the last is int64 [b, n].

        :param role_ids: roles, -1 for padding; a third speaker, whose role the table lacks, gets its last row.
        :param attention_mask: 1 for tokens, 0 for padding.
        :param inputs_embeds: token embeddings [b, n, d] in place of `input_ids`.
        """
        embedder = self.embedder
        summed = embedder.token_embedding(input_ids) if inputs_embeds is None else inputs_embeds
        summed = summed + embedder.pos_embedding(position_ids) + embedder.turn_embedding(turn_ids)
        summed = summed + embedder.type_embedding(role_ids.clamp(0, self.config.role_vocab_size - 1))
        hidden, mask = self.embed_layer_norm(summed), attention_mask[:, None, None, :].bool()
        for layer in self.layers:
            hidden = layer(hidden, mask)
        return PlatoOutput(hidden)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> PlatoModel:
        """Load a folder of converted weights, or one that `save_pretrained` wrote.

        :raises ModelError: if a file is missing or its parameters are not those of this encoder.
        """
        model = cls(_config(Path(folder) / "config.json"))
        path = next((Path(folder) / name for name in WEIGHT_FILES if (Path(folder) / name).is_file()), None)
        if path is None:
            raise ModelError(f"{folder} holds no weights; expected {' or '.join(WEIGHT_FILES)} (docs/encoders.md).")
        weights = {name: value for name, value in _read(path).items() if not name.startswith(GENERATION)}
        expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
        for name, shape in expected.items():
            if name not in weights or tuple(weights[name].shape) != shape:
                problem = f"of shape {tuple(weights[name].shape)}" if name in weights else "missing"
                raise ModelError(f"{path}: parameter {name} is {problem}; expected {shape}. {_ADVICE}")
        unknown = next((name for name in weights if name not in expected), None)
        if unknown:
            raise ModelError(f"{path}: PLATO's encoder has no parameter {unknown}. {_ADVICE}")
        model.load_state_dict(weights)
        return model.float()

    def save_pretrained(self, folder: str | Path) -> None:
        """Write `config.json` and `model.safetensors`."""
        from safetensors.torch import save_file

        Path(folder).mkdir(parents=True, exist_ok=True)
        text = json.dumps({"model_type": MODEL_TYPE} | asdict(self.config), indent=2) + "\n"
        (Path(folder) / "config.json").write_text(text, encoding="utf-8")
        weights = {name: value.detach().cpu().contiguous() for name, value in self.state_dict().items()}
        save_file(weights, Path(folder) / WEIGHT_FILES[0])


_ADVICE = "Compare the folder's config.json and the names in docs/encoders.md with how the weights were converted."


def is_plato(folder: str | Path) -> bool:
    """Return whether a folder holds PLATO: `"model_type": "plato"` in its `config.json`."""
    path = Path(folder) / "config.json"
    try:
        return bool(json.loads(path.read_text(encoding="utf-8")).get("model_type") == MODEL_TYPE)
    except (OSError, ValueError, AttributeError):
        return False


def _config(path: Path) -> PlatoConfig:
    raw = json.loads(path.read_text(encoding="utf-8"))
    names = {field.name: field.type for field in fields(PlatoConfig)}
    sizes = {key: value for key, value in raw.items() if key != "model_type"}
    for key, value in sizes.items():
        if key not in names:
            raise ModelError(f"{path}: unknown key {key!r}.{did_you_mean(key, names)} Valid: {', '.join(names)}.")
        number = type(value) in (int, float)
        if not (number and 0 <= value < 1 if key == "dropout" else type(value) is int and value > 0):
            raise ModelError(f"{path}: {key} is {value!r}; expected a size of at least 1, or a dropout in [0, 1).")
    config = PlatoConfig(**sizes)
    if config.hidden_size % config.num_attention_heads:
        raise ModelError(
            f"{path}: hidden_size {config.hidden_size} does not divide among {config.num_attention_heads} attention "
            "heads. Correct one of them."
        )
    return config


def _read(path: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    if path.suffix == ".safetensors":
        return load_file(path)
    # Tensors only: a pickle could run code.
    return dict(torch.load(path, map_location="cpu", weights_only=True))
