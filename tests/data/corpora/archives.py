"""Archives and readers that the tests of the corpora share."""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from conversations.dialogue import Dialogue, Quarantined
from dial2vec.data.corpora.corpus import Corpus


def zipped(files: Mapping[str, str | bytes], *, method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip, always the same, whose members have exactly these names."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, text in files.items():
            # As ZipInfo would mend the name while it is made, it is set afterwards.
            info = zipfile.ZipInfo("placeholder")
            info.filename, info.compress_type = name, method
            archive.writestr(info, text)
    return content.getvalue()


def write_archive(path: Path, files: Mapping[str, object], *, top: str) -> Path:
    """Write a zip with texts, bytes and JSON below a top folder, without the files that are None; return its folder."""
    path.parent.mkdir(exist_ok=True)
    contents = {
        name if name.startswith("__MACOSX") else f"{top}/{name}": (
            content if isinstance(content, str | bytes) else json.dumps(content)
        )
        for name, content in files.items()
        if content is not None
    }
    path.write_bytes(zipped(contents))
    return path.parent


def read_corpus(corpus: Corpus, folder: Path) -> tuple[list[Dialogue], list[Quarantined]]:
    quarantine: list[Quarantined] = []
    return list(corpus.read(folder, quarantine=quarantine)), quarantine
