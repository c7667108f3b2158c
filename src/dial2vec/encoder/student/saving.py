"""The folder of a saved student, which sentence-transformers and model2vec open too; docs/student.md."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from dial2vec.encoder.folder import CARD_FILE, STUDENT_FILE, damaged, model_folder
from dial2vec.encoder.student.table import Rows, TokenTable
from dial2vec.errors import ModelError

TABLE_FILE = "table.safetensors"
# The name under which the two libraries look for the table.
LIBRARY_FILE = "model.safetensors"
TOKENIZER_FILE = "tokenizer.json"
KEYS = ("name", "teacher", "dimension", "rows")
MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"},
    {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
]
# Version from which sentence-transformers reads the tokens' weights; earlier ones warn that they are older.
LIBRARY = {"__version__": {"sentence_transformers": "6.2.0"}, "similarity_fn_name": "cosine"}
# Without a length, model2vec would cut a text after 512 tokens.
CONFIG = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True, "max_length": None}


def save_student(
    path: str | Path, table: TokenTable, tokenizer: Tokenizer, *, name: str, teacher: str, rows: Rows
) -> None:
    """Write the folder of a student; it replaces the model at `path` as a whole.

    :raises ModelError: if `path` holds other files than a saved model.
    """
    settings = {"name": name, "teacher": teacher, "dimension": table.dimension, "rows": rows}
    with model_folder(path) as folder:
        table.save(folder / TABLE_FILE)
        _link(folder / TABLE_FILE, folder / LIBRARY_FILE)
        tokenizer.save(str(folder / TOKENIZER_FILE))
        written = {STUDENT_FILE: settings, "modules.json": MODULES, "config.json": CONFIG}
        for file, content in (written | {"config_sentence_transformers.json": LIBRARY}).items():
            (folder / file).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        (folder / "1_Normalize").mkdir()
        (folder / CARD_FILE).write_text(_card(table, settings), encoding="utf-8")


def load_student(folder: str | Path) -> tuple[TokenTable, Tokenizer, dict[str, Any]]:
    """Return the table, the tokenizer and the settings of a saved student.

    :raises ModelError: if the folder holds no student, or a damaged one.
    """
    settings = _settings(Path(folder) / STUDENT_FILE)
    table = TokenTable.load(Path(folder) / TABLE_FILE)
    if table.dimension != settings["dimension"]:
        raise ModelError(
            f"{Path(folder) / TABLE_FILE} has vectors of {table.dimension} numbers, but {STUDENT_FILE} says "
            f"{settings['dimension']}. Save the student again."
        )
    path = Path(folder) / TOKENIZER_FILE
    if not path.is_file():
        raise ModelError(f"{path} is missing; expected the tokenizer of a student. Save the student again.")
    with damaged(f"{path} is no whole tokenizer", kind="student"):
        return table, Tokenizer.from_file(str(path)), settings


def _settings(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ModelError(
            f"{path.parent} holds no student: {path.name} is missing. Give a folder made by "
            "StudentEncoder.save_pretrained, or load any encoder with dial2vec.load_encoder."
        )
    with damaged(f"{path} is not whole JSON", kind="student"):
        settings = dict(json.loads(path.read_text(encoding="utf-8")))
    if missing := [key for key in KEYS if key not in settings]:
        raise ModelError(f"{path} lacks {', '.join(missing)}; expected {', '.join(KEYS)}. Save the student again.")
    return settings


def _link(path: Path, name: Path) -> None:
    """Give a file a second name; copy it where the file system has no hard links."""
    try:
        os.link(path, name)
    except OSError:
        shutil.copyfile(path, name)


def _card(table: TokenTable, settings: dict[str, Any]) -> str:
    # Names can be private paths of the machine that trained the model.
    names = {key: Path(settings[key]).name or "another encoder" for key in ("name", "teacher")}
    card = Path(__file__).with_name("card.md").read_text(encoding="utf-8")
    return card.format(dimension=table.dimension, n=len(table), rows=settings["rows"], **names)
