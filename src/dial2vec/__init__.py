"""One vector per whole dialogue, speakers kept apart: `DialogueEncoder.from_pretrained(...).encode(dialogues)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dial2vec.dialogue import Dialogue, Turn

if TYPE_CHECKING:
    from dial2vec.data.read import read
    from dial2vec.encoder import DialogueEncoder, StudentEncoder, load_encoder
    from dial2vec.encoder.vectorizer import DialogueVectorizer

__all__ = [
    "Dialogue",
    "DialogueEncoder",
    "DialogueVectorizer",
    "StudentEncoder",
    "Turn",
    "load_encoder",
    "read",
]


def __getattr__(name: str) -> Any:
    # torch is imported with the encoder only, so that the shell command starts at once.
    if name in ("DialogueEncoder", "StudentEncoder", "load_encoder"):
        from dial2vec import encoder

        return getattr(encoder, name)
    if name == "DialogueVectorizer":
        from dial2vec.encoder.vectorizer import DialogueVectorizer

        return DialogueVectorizer
    if name == "read":
        from dial2vec.data.read import read

        return read
    raise AttributeError(f"module 'dial2vec' has no attribute {name!r}")


def __dir__() -> list[str]:
    # Names that are imported when they are asked for count too, so that an editor or a notebook completes them.
    return sorted({*globals(), *__all__})


def registered_folder(address: str) -> str:
    """Return the encoder folder of a registry address such as "models:/dial2vec-demo@champion".

    It stands here because the front of the package may name any room, and the encoder must not name the registry.

    :raises ModelError: if the address names nothing that is registered.
    """
    from dial2vec.registry.tracking import local_model

    return str(local_model(address, root=None))
