"""The type that the fit of a baseline returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue

# Dialogues -> vectors [n, d], a row per dialogue; nothing is learnt from these dialogues.
Encode = Callable[[Sequence[Dialogue]], NDArray[np.float32]]
