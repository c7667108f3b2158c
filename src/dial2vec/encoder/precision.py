"""What an encoder computes with: bf16 where the machine has instructions for it."""

from __future__ import annotations

from typing import Literal

import torch

from dial2vec.errors import SettingsError

Precision = Literal["auto", "fp32", "bf16"]


def resolved(precision: Precision, device: str) -> Literal["fp32", "bf16"]:
    """Return what is computed with on a kind of device.

    :param precision: "auto" is bf16 where GPU or CPU has instructions for it, else fp32.
    :param device: "cpu", "cuda", ...
    :raises SettingsError: for "bf16" without such instructions: emulated, it is slower by orders of magnitude.
    """
    has = has_bf16(device)
    if precision == "bf16" and not has:
        raise SettingsError(
            f"precision is bf16, but this machine's {device} has no instructions for it. Set it to auto: "
            "bf16 where there are any, else fp32."
        )
    return "bf16" if has and precision != "fp32" else "fp32"


def has_bf16(device: str) -> bool:
    """Tell whether a kind of device has instructions for bf16."""
    if device == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device == "cpu" and torch.cpu._is_avx512_bf16_supported()
