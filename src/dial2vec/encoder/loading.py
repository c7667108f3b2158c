"""Any saved encoder by name: a `DialogueEncoder`, or what another kind of folder holds, such as a student's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dial2vec.encoder.folder import is_lens, is_student
from dial2vec.encoder.names import OF_LENSES, function_of, is_multilingual, resolve
from dial2vec.encoder.protocol import Encoder
from dial2vec.encoder.student import StudentEncoder
from dial2vec.errors import require_module

if TYPE_CHECKING:
    from dial2vec.encoder.network import Precision


def load_encoder(name: str | Path, *, device: str | None = None, precision: Precision = "auto") -> Encoder:
    """Load the encoder or the student that a name stands for; torch is imported only for an encoder.

    :param name: see `DialogueEncoder.from_pretrained` and `StudentEncoder.from_pretrained`.
    :param device: "cpu", "cuda", ...; None takes a GPU if there is one. A student computes on the CPU.
    :param precision: precision that an encoder reads in: "auto" is bf16 if the device has instructions for it, as
        commands read (cosine to fp32: 0.9999); "fp32" or "bf16". A student always computes in fp32.
    :raises ModelError: if the name cannot be loaded.
    :raises MissingExtraError: if it is an encoder, and torch is not installed.
    """
    folder = resolve(name)
    if is_student(folder):
        return StudentEncoder.from_pretrained(folder)
    if is_lens(folder):
        encoder: Encoder = function_of(OF_LENSES)(folder)
        return encoder
    if is_multilingual(folder):
        from dial2vec.encoder.multilingual import MultilingualEncoder

        return MultilingualEncoder()
    require_module("torch")
    from dial2vec.encoder.encoder import DialogueEncoder

    # Not the folder: a short name of the paper also stands for an input.
    encoder = DialogueEncoder.from_pretrained(name, device=device)
    encoder.network.precision = precision
    return encoder
