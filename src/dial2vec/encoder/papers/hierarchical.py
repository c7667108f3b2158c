"""Layers that read the turns of a dialogue as turns, on top of any encoder: simpler forms of HSSA and BiDeN.

HSSA and BiDeN are the dialogue encoders of the augmentation paper ("Generating Synthetic Data via Intent-Preserving and
Intent-Corrupting Augmentations for Training Dialogue Embeddings"). Both modules take the token vectors of an encoder
and return token vectors, so that every pooling works on them. Untrained they change nothing: all that they add goes
through a projection that is zero at the start. Each docstring says how its authors' code differs.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from conversations.files import atomic_path
from dial2vec.encoder.folder import damaged
from dial2vec.encoder.inputs import check_name
from dial2vec.encoder.tokens import MAX_TURNS
from dial2vec.errors import ModelError


def reading_order(turns: Tensor, attention: Tensor) -> Tensor:
    """Return the place of each token's turn in its dialogue, 0, 1, 2, ... in reading order; -1 for padding.

    :param turns: number of each token's turn, int64 [b, n]; it counts up or down, and neighbouring turns differ.
    :param attention: 1 for tokens, 0 for padding, [b, n].
    :return: int64 [b, n].
    """
    tokens = attention > 0
    goes_on = (turns[:, 1:] == turns[:, :-1]) & tokens[:, :-1]
    begins = ~functional.pad(goes_on, (1, 0), value=False) & tokens
    return (begins.long().cumsum(1) - 1).masked_fill(~tokens, -1)


class _Attention(nn.Module):
    """Multi-head attention; a mask has a row per token, and a row that shows nothing gives zeros."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        # [b, n, 3 d] -> query, key and value, each [b, heads, n, d / heads]
        query, key, value = self.qkv(states).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        nothing = ~mask.any(2, keepdim=True)
        dropout = self.dropout if self.training else 0.0
        # The softmax over nothing is not a number, and not all kernels correct this: such a row may see all tokens,
        # and its result is dropped.
        mask = (mask | nothing)[:, None]
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
        return seen.transpose(1, 2).flatten(2).masked_fill(nothing, 0)


class Hierarchy(nn.Module):
    """Base of HSSA and BiDeN: token vectors in, token vectors out, padding unchanged.

    :param width: length d of a token vector.
    :param heads: number of attention heads; it divides d.
    :param dropout: dropout in attention and before each sum.
    :raises ModelError: if the number of heads does not divide d.
    """

    def __init__(self, width: int, *, heads: int, dropout: float = 0.1) -> None:
        super().__init__()
        if heads < 1 or width % heads:
            raise ModelError(
                f"the hierarchy has {heads} attention heads, but token vectors of length {width} do not divide among "
                "them. Set a number of heads that does."
            )
        self.width, self.heads = width, heads
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor, turns: Tensor, attention: Tensor) -> Tensor:
        """Return token vectors [b, n, d] in the precision of `hidden`; those of padding are unchanged.

        :param hidden: token vectors of an encoder, [b, n, d].
        :param turns: number of each token's turn, int64 [b, n]; it counts up or down.
        :param attention: 1 for tokens, 0 for padding, [b, n].
        """
        order = reading_order(turns, attention)
        padding = (order < 0)[..., None]
        read = self.read(hidden.masked_fill(padding, 0), order)
        return torch.where(padding, hidden, read.to(hidden.dtype))

    def read(self, states: Tensor, order: Tensor) -> Tensor:
        """Return the new token vectors [b, n, d]; vectors at padding are not used.

        :param states: token vectors [b, n, d], zeros for padding.
        :param order: `reading_order` of the tokens, [b, n].
        """
        raise NotImplementedError


class SegmentAttention(Hierarchy):
    """A simpler form of HSSA: within turns, then between turns, then back to the tokens.

    In plain words: every token looks at the tokens of its own turn; the mean of a turn's tokens is its summary; the
    summaries look at one another; each summary's result is added to every token of its turn; a feed-forward layer
    then changes each token by itself. Three residual steps, with a layer norm before each:
    `x += W1 attention(x | same turn)`, `s = mean of x by turn`, `x += W2 attention(s + place)`, `x += W4 gelu(W3 x)`;
    W1, W2, W4 and the table of places are zero at the start.

    Source: the hierarchical segment-wise self-attention network of Zhang et al. 2023 ("Dialog-Post", ACL 2023), with
    one turn per segment. The code of the augmentation paper's author (voorhs/hssa) replaces every layer of the encoder:
    attention within turns; a summary by softmax(token · mean) and a dense layer; the same attention between turns; an
    update weighted by a softmax; a layer norm. Here one block stands on top of the encoder, with attention weights of
    its own between turns; the summary is the mean, with its place in the dialogue, the update is a sum, and layer norms
    come first.

    Relations: the hierarchy is strict with input "turns", with which the encoder reads each turn alone: turns are then
    connected by the summaries only. With other inputs the encoder has already mixed the turns.
    """

    def __init__(self, width: int, *, heads: int, dropout: float = 0.1) -> None:
        super().__init__(width, heads=heads, dropout=dropout)
        self.inner_norm, self.inter_norm, self.ff_norm = (nn.LayerNorm(width) for _ in range(3))
        self.inner, self.inter = (_Attention(width, heads, dropout) for _ in range(2))
        self.inner_out, self.inter_out = (_zero_linear(width, width) for _ in range(2))
        self.place = nn.Embedding(MAX_TURNS, width)
        nn.init.zeros_(self.place.weight)
        self.ff_hidden, self.ff_out = nn.Linear(width, 4 * width), _zero_linear(4 * width, width)

    def read(self, states: Tensor, order: Tensor) -> Tensor:
        """Return the new token vectors [b, n, d]."""
        same = order[:, :, None] == order[:, None, :]
        states = states + self.dropout(self.inner_out(self.inner(self.inner_norm(states), same)))
        # Products with 0/1 matrices, no scatter: on a GPU their gradients do not depend on the order of additions.
        places = torch.arange(int(order.max().clamp(min=0)) + 1, device=order.device)
        members = (order[:, None, :] == places[None, :, None]).to(states.dtype)
        sizes = members.sum(2, keepdim=True)
        with torch.autocast(states.device.type, enabled=False):
            summaries = torch.bmm(members, states) / sizes.clamp(min=1)
        summaries = self.inter_norm(summaries) + self.place(places.clamp(max=MAX_TURNS - 1))
        spoken = (sizes > 0).transpose(1, 2).expand(-1, len(places), -1)
        learnt = self.inter_out(self.inter(summaries, spoken))
        states = states + self.dropout(torch.bmm(members.transpose(1, 2), learnt))
        return states + self.dropout(self.ff_out(functional.gelu(self.ff_hidden(self.ff_norm(states)))))


class DecoupledAttention(Hierarchy):
    """A simpler form of BiDeN: past, present and future turns, each read by its own attention.

    In plain words: every token looks three times, each time with other weights: at the tokens of earlier turns, of its
    own turn and of later turns. A gate weights these views for each token (`softmax(G [x, present, past, future])` over
    the views that exist: a first turn has no past, a last turn no future). Their weighted sum is projected and added:
    `x += W Σ gate_v view_v`, with a layer norm first. G and W are zero at the start: the views count alike, and nothing
    is added.

    Source: Li et al. 2022 ("Back to the Future: Bidirectional Information Decoupling Network for Multi-turn Dialogue
    Modeling", EMNLP 2022). Their code (EricLee8/BiDeN) has a whole BERT layer for each view; joins view o and token i
    by [o, i, o - i, o * i] and ReLU; has a gate for each dimension; and takes the maximum of an utterance's tokens,
    then a bidirectional GRU over utterances. Here a view is an attention alone, the gate is a number for each view, and
    the result is token vectors, for the encoder's pooling.

    Relations: unlike in HSSA, every token sees single tokens of other turns, n x n of them, and the direction matters.
    """

    def __init__(self, width: int, *, heads: int, dropout: float = 0.1) -> None:
        super().__init__(width, heads=heads, dropout=dropout)
        self.norm = nn.LayerNorm(width)
        self.present, self.past, self.future = (_Attention(width, heads, dropout) for _ in range(3))
        self.gate, self.out = _zero_linear(4 * width, 3), _zero_linear(width, width)

    def read(self, states: Tensor, order: Tensor) -> Tensor:
        """Return the new token vectors [b, n, d]."""
        seeing, seen = order[:, :, None], order[:, None, :]
        masks = (seen == seeing, (seen >= 0) & (seen < seeing), seen > seeing)
        normed = self.norm(states)
        attentions = zip((self.present, self.past, self.future), masks, strict=True)
        views = [attention(normed, mask) for attention, mask in attentions]
        logits = self.gate(torch.cat([normed, *views], dim=2))
        missing = torch.stack([~mask.any(2) for mask in masks], dim=2)
        shares = logits.masked_fill(missing, torch.finfo(logits.dtype).min).softmax(2)
        mixed = (torch.stack(views, dim=2) * shares[..., None]).sum(2)
        return states + self.dropout(self.out(mixed))


# Name in `encoder.hierarchy` -> class.
HIERARCHIES: dict[str, type[Hierarchy]] = {"hssa": SegmentAttention, "biden": DecoupledAttention}


def new_hierarchy(name: str, width: int, *, heads: int, dropout: float = 0.1) -> Hierarchy:
    """Return an untrained hierarchy, which changes no vector. Its random weights are the same every time.

    :param name: name of a hierarchy, one of `HIERARCHIES`.
    :param width: length d of a token vector.
    :param heads: number of attention heads; it divides d.
    :raises ModelError: if the name is unknown, or the number of heads does not divide d.
    """
    check_name("hierarchy", name, HIERARCHIES)
    # The caller's own random draws stay the same.
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return HIERARCHIES[name](width, heads=heads, dropout=dropout)


def name_of(hierarchy: Hierarchy | None) -> str:
    """Return the name of a hierarchy in `encoder.hierarchy`, "none" for None."""
    return next((name for name, kind in HIERARCHIES.items() if type(hierarchy) is kind), "none")


def save_hierarchy(hierarchy: Hierarchy, path: Path) -> None:
    """Write weights, name and sizes to one safetensors file; atomic."""
    about = {
        "hierarchy": name_of(hierarchy),
        "width": str(hierarchy.width),
        "heads": str(hierarchy.heads),
        "dropout": str(hierarchy.dropout.p),
    }
    weights = {key: value.detach().cpu().contiguous() for key, value in hierarchy.state_dict().items()}
    with atomic_path(path) as temporary:
        save_file(weights, temporary, metadata=about)


def load_hierarchy(path: Path, width: int) -> Hierarchy:
    """Read a file that `save_hierarchy` wrote: in fp32, on the CPU and in evaluation mode.

    :param width: length d of the encoder's token vectors.
    :raises ModelError: if the file is missing, damaged or made for another d.
    """
    with damaged(f"{path} is not a whole hierarchy"):
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            weights = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        trained, heads, dropout = int(about["width"]), int(about["heads"]), float(about["dropout"])
        hierarchy = new_hierarchy(about["hierarchy"], trained, heads=heads, dropout=dropout)
        hierarchy.load_state_dict(weights)
    if trained != width:
        raise ModelError(
            f"{path} holds a hierarchy for token vectors of length {trained}, but the encoder's have length {width}. "
            "Load it with the encoder that it was trained on."
        )
    return hierarchy.eval()


def _zero_linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
