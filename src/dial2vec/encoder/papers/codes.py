"""Codes of a Poly-encoder: they read a context in several ways, of which each response weighs its own mixture.

Humeau et al. 2020, section 4.4 ("learnt codes"); Poddar et al. 2022 train it beside the bi-encoder (section 5.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from dial2vec.errors import ModelError

if TYPE_CHECKING:
    from dial2vec.encoder.network import Network

# Standard deviation of new codes. Equal codes would read a context in the same way, and train alike.
SPREAD = 0.2


def new_codes(n: int, dimension: int, *, seed: int) -> Tensor:
    """Return n random codes, float32 [n, d], which depend only on the seed."""
    return SPREAD * torch.randn(n, dimension, generator=torch.Generator().manual_seed(seed))


def give_codes(network: Network, codes: Tensor) -> None:
    """Give an encoder's network codes of its own [m, d]; they are trained and saved with it."""
    network.codes = nn.Parameter(codes.detach().clone().to(network.device))


def code_vectors(hidden: Tensor, roles: Tensor, codes: Tensor) -> Tensor:
    """Return the vectors of a context by code, [b, m, d], in fp32 or the codes' precision if that is higher.

    Code c attends to the tokens t of a context: `y_c = Σ_t softmax_t(c · h_t) h_t`.

    :param hidden: token vectors [b, n, d].
    :param roles: role of each token [b, n], -1 for padding, which no code attends to.
    :param codes: codes [m, d].
    """
    with torch.autocast(hidden.device.type, enabled=False):
        hidden, codes = (part.to(torch.promote_types(part.dtype, torch.float32)) for part in (hidden, codes))
        logits = torch.einsum("md,bnd->bmn", codes, hidden)
        attention = logits.masked_fill((roles < 0)[:, None], float("-inf")).softmax(2)
        return attention @ hidden


def poly_scores(contexts: Tensor, responses: Tensor) -> Tensor:
    """Return how well each response answers each context, [q, r].

    A response r attends to the code vectors y of a context: `Σ_c softmax_c(r · y_c) (r · y_c)`, which is the dot
    product of r with its own mixture of them.

    :param contexts: code vectors [q, m, d].
    :param responses: vectors [r, d].
    """
    products = torch.einsum("qmd,rd->qrm", contexts, responses)
    return (products.softmax(2) * products).sum(2)


def codes_of(network: Network, *, name: str) -> Tensor:
    """Return the codes of an encoder.

    :param name: name of the encoder.
    :raises ModelError: if it has none.
    """
    if network.codes is None:
        raise ModelError(
            f"{name} has no codes, which the similarity poly needs; expected an encoder trained with dialaug.scoring "
            "poly. Take the similarity dot or cosine."
        )
    return network.codes
