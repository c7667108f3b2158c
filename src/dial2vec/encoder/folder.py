"""The folder of a saved encoder or student: its mark, its hash, and its replacement as a whole."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conversations.files import atomic_path, sha256_of
from dial2vec.encoder.checksums import CHECKSUMS, damaged_files, write_checksums
from dial2vec.errors import ModelError

SETTINGS_FILE = "dialogue_encoder.json"
STUDENT_FILE = "dialogue_student.json"
MULTILINGUAL_FILE = "dialogue_multilingual.json"
LENS_FILE = "dialogue_lens.json"
# A folder with one of these files is a saved model of dial2vec.
MARKS = (SETTINGS_FILE, STUDENT_FILE, MULTILINGUAL_FILE, LENS_FILE)
# Files for other libraries and for readers. All they say is also in the other files.
CARD_FILE = "README.md"
RETOLD = {
    CARD_FILE,
    CHECKSUMS,
    "modules.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "1_Pooling",
    "1_Normalize",
    "2_Normalize",
    "3_Dense",
    "4_Normalize",
}


def is_student(folder: str | Path) -> bool:
    """Return whether a folder holds a student (`dial2vec.encoder.student`)."""
    return (Path(folder) / STUDENT_FILE).is_file()


def is_lens(folder: str | Path) -> bool:
    """Return whether a folder holds the encoder of lenses (`dial2vec.collection.lenses.encoder`)."""
    return (Path(folder) / LENS_FILE).is_file()


def folder_hash(folder: Path) -> str:
    """Return a SHA-256 over all that decides the vectors of a saved encoder: weights, vocabulary, our settings.

    The other files also carry versions of libraries, and an upgrade makes no new encoder.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        retold = path.relative_to(folder).parts[0] in RETOLD
        if not retold and path.name not in ("config.json", "tokenizer_config.json"):
            digest.update(f"{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(sha256_of(path))
    return digest.hexdigest()


@contextmanager
def model_folder(path: str | Path) -> Iterator[Path]:
    """Give a new folder inside a `with`; at the end it gets its checksums and replaces the model at `path`.

    :raises ModelError: if `path` holds other files than a saved model.
    """
    path = Path(path).resolve()
    if path.is_dir() and any(path.iterdir()) and not any((path / name).is_file() for name in MARKS):
        raise ModelError(f"{path} holds other files, which saving would remove. Give a new or an empty folder.")
    with atomic_path(path) as folder:
        folder.mkdir()
        yield folder
        # A card is edited.
        write_checksums(folder, without=(CARD_FILE,))


AGAIN = f"Bring it back from a backup, or save the model again; if it was changed on purpose, remove {CHECKSUMS}."


def check_files(folder: str | Path, mend: str = AGAIN) -> None:
    """Raise `ModelError` if a file of a model differs from its checksum; a model without checksums passes.

    :param mend: sentence on what to do then.
    """
    for problem in damaged_files(Path(folder)):
        raise ModelError(f"{problem}. {mend}")


@contextmanager
def damaged(problem: str, *, kind: str = "encoder") -> Iterator[None]:
    """Turn any error inside a `with` into a ModelError: the problem, its reason, and which kind of model to save."""
    try:
        yield
    except Exception as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise ModelError(f"{problem} ({reason}). Save the {kind} again.") from error
