"""Training steps on a CPU whose values for the gradients would not fit into memory: layers are computed again instead.

A batch of the published recipe, 50 sequences of up to 512 tokens, keeps 25 GB of an encoder of BERT's size. Computed
again part by part, it keeps little more than one part, gives the same gradients, and takes up to a third longer. Masked
words are trained without this, and so is an encoder without a list of layers.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any

from dial2vec.encoder.backbone import attention_heads, layers
from dial2vec.encoder.cpu.free_memory import free_bytes
from dial2vec.errors import Dial2vecError

# Bytes that a layer keeps per token and number of its vector, and per score of attention, in bf16 and in fp32: a
# little above what was counted for all-MiniLM-L6-v2 and all-mpnet-base-v2, with dropout of attention.
PER_NUMBER, PER_SCORE = {True: 64, False: 80}, {True: 6, False: 10}
# Share of the free memory that sequences read together may keep; a step of some methods reads three times.
SHARE = 0.3

log = logging.getLogger(__name__)


def kept_bytes(backbone: Any, lengths: Sequence[int], *, lower: bool, whole: bool = False) -> int:
    """Return about how many bytes the layers that train keep for the gradients of sequences.

    :param lengths: number of tokens of each sequence.
    :param lower: True in bf16, False in fp32.
    :param whole: True if something below the layers trains, so that frozen ones keep values, too.
    """
    try:
        stack = layers(backbone)
    except Dial2vecError:
        # An encoder without a list of layers is read at once, as ever.
        return 0
    trained = (
        len(stack) if whole else sum(any(weight.requires_grad for weight in layer.parameters()) for layer in stack)
    )
    width, heads = int(backbone.config.hidden_size), attention_heads(backbone)
    per_layer = sum(n * (width * PER_NUMBER[lower] + heads * n * PER_SCORE[lower]) for n in lengths)
    return trained * per_layer


class StepMemory:
    """Decides whether a step is computed again for its gradients; looks at the free memory once, at the first step."""

    def __init__(self) -> None:
        self._free: int | None = None
        self._looked = self._said = False

    def is_too_small(self, backbone: Any, lengths: Sequence[int], *, lower: bool, whole: bool = False) -> bool:
        """Return whether a step would keep more than its share of the memory that was free at the first one."""
        if not self._looked:
            # Later ones would count what earlier steps have freed, but not given back to the system.
            self._free, self._looked = free_bytes(), True
        kept = kept_bytes(backbone, lengths, lower=lower, whole=whole)
        # The processes of a training on this machine share its memory.
        if self._free is None or kept <= SHARE * self._free / int(os.environ.get("LOCAL_WORLD_SIZE", "1")):
            return False
        if not self._said:
            log.info(
                "a step needs about %.1f GB, and %.1f GB were free: layers are computed again for the gradients, with "
                "the same result, in up to a third more time; a smaller train.batch_size needs less",
                *(value / 1e9 for value in (kept, self._free)),
            )
            self._said = True
        return True
