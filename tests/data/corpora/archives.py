"""Archives and readers that the tests of the corpora share."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from conversations.dialogue import Dialogue, Quarantined
from dial2vec.data.corpora.corpus import Corpus


def write_archive(path: Path, files: Mapping[str, object], *, top: str) -> Path:
    """Write a zip with texts, bytes and JSON below a top folder, without the files that are None; return its folder."""
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            if content is not None:
                whole = content if isinstance(content, str | bytes) else json.dumps(content)
                archive.writestr(name if name.startswith("__MACOSX") else f"{top}/{name}", whole)
    return path.parent


def read_corpus(corpus: Corpus, folder: Path) -> tuple[list[Dialogue], list[Quarantined]]:
    quarantine: list[Quarantined] = []
    return list(corpus.read(folder, quarantine=quarantine)), quarantine
