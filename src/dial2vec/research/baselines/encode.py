"""What the fit of a baseline gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dial2vec.dialogue import Dialogue

# Dialogues to vectors [n, d], a row per dialogue, as often as it is called; nothing is learnt from them.
Encode = Callable[[Sequence[Dialogue]], NDArray[np.float32]]
