import contextlib
import random
import zipfile
from pathlib import Path

import pytest

from dial2vec.corpora.archive import damage, members, open_archive, read_member
from dial2vec.errors import CorpusError

TEXT = "the quick brown fox jumps over the lazy dog, " * 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "sgd"
    folder.mkdir()
    with zipfile.ZipFile(folder / "whatever.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("top-main")
        archive.writestr("top-main/train/b.txt", TEXT)
        archive.writestr("top-main/a.txt", "a")
    return folder


def test_members_are_found_below_the_top_folder_in_the_order_of_their_names(folder: Path):
    with open_archive(folder) as archive:
        found = members(archive)
        assert list(found) == ["a.txt", "train/b.txt"]
        assert read_member(archive, found["train/b.txt"]) == TEXT.encode()


def test_missing_folder_says_which_command_fetches_it(tmp_path: Path):
    with (
        pytest.raises(CorpusError, match=r"sgd does not exist; .* Run `dial2vec fetch sgd`"),
        open_archive(tmp_path / "sgd"),
    ):
        pass


def test_folder_without_archive_says_which_command_fetches_it(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"holds no \*.zip; .* Run `dial2vec fetch"), open_archive(tmp_path):
        pass


def test_two_archives_are_refused_by_name(folder: Path):
    (folder / "another.zip").write_bytes(b"")
    with pytest.raises(CorpusError, match=r"2 archives \(another.zip, whatever.zip\)"), open_archive(folder):
        pass


def test_hidden_and_partial_files_are_no_archives(folder: Path):
    (folder / "._whatever.zip").write_bytes(b"left by a file manager")
    (folder / "new.zip.part").write_bytes(b"half of a download")
    with open_archive(folder) as archive:
        assert len(members(archive)) == 2


def test_truncated_archive_is_refused_when_opened(folder: Path):
    path = folder / "whatever.zip"
    path.write_bytes(path.read_bytes()[:-30])
    assert damage(path) is not None
    with pytest.raises(CorpusError, match=r"whatever.zip cannot be read as a zip archive"), open_archive(folder):
        pass


def test_flipped_byte_is_found_when_the_member_is_read(folder: Path):
    path = folder / "whatever.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("top-main/a.txt", TEXT)
    path.write_bytes(path.read_bytes().replace(b"quick", b"quack", 1))
    assert damage(path) == "bad checksum in top-main/a.txt"
    with open_archive(folder) as archive, pytest.raises(CorpusError, match=r"whatever.zip/top-main/a.txt is damaged"):
        read_member(archive, members(archive)["a.txt"])


def test_error_of_the_reading_code_passes_unchanged(folder: Path):
    with pytest.raises(ValueError, match="mine"), open_archive(folder):
        raise ValueError("mine")


def test_random_damage_never_raises_anything_but_a_corpus_error(folder: Path):
    path = folder / "whatever.zip"
    whole = path.read_bytes()
    assert damage(path) is None
    draw = random.Random(0)
    for _ in range(300):
        broken = bytearray(whole[: draw.randrange(len(whole))] if draw.random() < 0.3 else whole)
        if broken:
            broken[draw.randrange(len(broken))] = draw.randrange(256)
        path.write_bytes(broken)
        damage(path)
        with contextlib.suppress(CorpusError), open_archive(folder) as archive:
            for info in members(archive).values():
                read_member(archive, info)
