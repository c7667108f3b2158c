"""The first archive of a corpus is not believed either: its dialogues are those that this project has read."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from conversations.files import sha256_of
from dial2vec.data.corpora import fetch_corpus as fetch
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora import CORPORA
from dial2vec_papers.corpora import fetch as fetching
from dial2vec_papers.corpora.fetch import PINNED, content_digest
from tests.data.corpora.archives import zipped

ROOT = Path(__file__).parents[2]
FILES = {"train/dialogues_001.json": "[]", "dev/dialogues_001.json": "[ ]", "README.md": "words"}


def packed(path: Path, files: dict[str, str], *, top: str = "sgd-main", method: int = zipfile.ZIP_STORED) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zipped({f"{top}/{name}": content for name, content in files.items()}, method=method))
    return path


@pytest.fixture
def pinned(tmp_path, monkeypatch) -> str:
    pattern = PINNED["sgd"][0]
    digest = content_digest(packed(tmp_path / "first.zip", FILES), pattern)
    monkeypatch.setattr(fetching, "PINNED", {"sgd": (pattern, digest)})
    return digest


def test_the_same_dialogues_are_taken_however_they_are_packed(pinned, tmp_path):
    files = dict(reversed(FILES.items())) | {"README.md": "other words"}
    packed(tmp_path / "mirror" / "sgd" / "x.zip", files, top="sgd-3f2a", method=zipfile.ZIP_DEFLATED)
    assert fetch("sgd", data=tmp_path / "data", mirror=tmp_path / "mirror").path.is_file()


@pytest.mark.parametrize(
    "files",
    [
        FILES | {"train/dialogues_001.json": "[{}]"},
        FILES | {"train/dialogues_002.json": "[]"},
        {name: content for name, content in FILES.items() if "dev" not in name},
    ],
    ids=["changed", "added", "taken out"],
)
def test_other_dialogues_are_refused_at_the_first_fetch(pinned, files, tmp_path):
    packed(tmp_path / "mirror" / "sgd" / "x.zip", files)
    with pytest.raises(CorpusError, match=f"expected {pinned}, .* It was not kept"):
        fetch("sgd", data=tmp_path / "data", mirror=tmp_path / "mirror")
    assert not list((tmp_path / "data" / "sgd").glob("*.zip"))


def test_whoever_trusts_another_archive_says_so_by_its_digest(pinned, tmp_path):
    archive = packed(tmp_path / "mirror" / "sgd" / "x.zip", FILES | {"train/dialogues_001.json": "[{}]"})
    (tmp_path / "data" / "sgd").mkdir(parents=True)
    record = tmp_path / "data" / "sgd" / "sgd.zip.sha256"
    record.write_text(f"{sha256_of(archive).hex()}  x.zip\n")
    assert fetch("sgd", data=tmp_path / "data", mirror=tmp_path / "mirror").path.is_file()


def test_the_manual_says_which_corpora_are_pinned():
    said = re.search(r"Pinned are (.*?)\.", (ROOT / "docs" / "corpora.md").read_text(), re.DOTALL)[1]
    assert set(re.findall(r"`(\w+)`", said)) == set(PINNED)
    assert set(PINNED) <= set(CORPORA)
