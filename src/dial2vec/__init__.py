"""One vector per whole dialogue, speakers kept apart: `DialogueEncoder.from_pretrained(...).encode(dialogues)`."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from conversations import dialogue
from conversations.dialogue import Dialogue, Turn

if TYPE_CHECKING:
    from conversations.reading import read
    from dial2vec.collection.topics import DialogueTopics
    from dial2vec.encoder import DialogueEncoder, StudentEncoder, load_encoder
    from dial2vec.encoder.vectorizer import DialogueVectorizer

__all__ = [
    "Dialogue",
    "DialogueEncoder",
    "DialogueTopics",
    "DialogueVectorizer",
    "StudentEncoder",
    "Turn",
    "load_encoder",
    "read",
]


# Versions in a registry that were stored before `conversations` was a package import it by this name.
sys.modules["dial2vec.dialogue"] = dialogue


# Imported when they are asked for, so that the shell command starts at once: torch comes with an encoder only.
LATER = {
    **dict.fromkeys(("DialogueEncoder", "StudentEncoder", "load_encoder"), "dial2vec.encoder"),
    "DialogueTopics": "dial2vec.collection.topics",
    "DialogueVectorizer": "dial2vec.encoder.vectorizer",
    "read": "conversations.reading",
}


def __getattr__(name: str) -> Any:
    if name in LATER:
        return getattr(import_module(LATER[name]), name)
    raise AttributeError(f"module 'dial2vec' has no attribute {name!r}")


def __dir__() -> list[str]:
    # Names that are imported when they are asked for count too, so that an editor or a notebook completes them.
    return sorted({*globals(), *__all__})
