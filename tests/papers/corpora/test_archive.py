import contextlib
import random
import struct
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from conversations.formats import archives
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora import source_files
from dial2vec_papers.corpora.archive import damage, open_archive, open_nested
from dial2vec_papers.corpora.file_corpus import CorpusFiles
from dial2vec_papers.corpora.source_files import bytes_of, lines_of
from tests.data.corpora.archives import zipped

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
    with open_archive(folder) as found:
        assert list(found) == ["a.txt", "train/b.txt"]
        assert bytes_of(found["train/b.txt"]) == TEXT.encode()


@pytest.mark.parametrize(
    ("packed", "found"),
    [
        (["train/1", "test/1", "README", "LICENSE"], ["LICENSE", "README", "test/1", "train/1"]),
        (["top/train/1", "README", "LICENSE"], ["LICENSE", "README", "train/1"]),
        (["a/train/1", "b/train/1"], ["a/train/1", "b/train/1"]),
        (["top/1", "__MACOSX/top/._1", "top/._1", "top/__MACOSX/._1"], ["1"]),
    ],
)
def test_archives_without_one_top_folder_keep_their_paths_and_nothing_is_lost(
    tmp_path: Path, packed: list[str], found: list[str]
):
    (tmp_path / "a.zip").write_bytes(zipped({name: name for name in packed}))
    with open_archive(tmp_path) as files:
        assert list(files) == found


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
    with open_archive(folder) as files:
        assert len(files) == 2


def test_truncated_archive_is_refused_when_opened(folder: Path):
    path = folder / "whatever.zip"
    path.write_bytes(path.read_bytes()[:-30])
    assert damage(path) is not None
    with pytest.raises(CorpusError, match=r"whatever.zip cannot be read as a zip archive"), open_archive(folder):
        pass


def test_flipped_byte_is_found_when_the_member_is_read(folder: Path):
    path = folder / "whatever.zip"
    path.write_bytes(zipped({"top-main/a.txt": TEXT}).replace(b"quick", b"quack", 1))
    assert damage(path) == "bad checksum in top-main/a.txt"
    with open_archive(folder) as files, pytest.raises(CorpusError, match=r"whatever.zip/top-main/a.txt is damaged"):
        bytes_of(files["a.txt"])


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
        with contextlib.suppress(CorpusError), open_archive(folder) as files:
            for file in files.values():
                bytes_of(file)


def test_what_macos_adds_is_no_file_and_of_one_name_the_least_deep_counts(folder: Path):
    names = ("a/b/data.json", "z/data.json", "__MACOSX/data.json", "__MACOSX/z/._data.json", "read.me")
    (folder / "whatever.zip").write_bytes(zipped({name: name.encode() for name in names}))
    with open_archive(folder) as files:
        assert list(files) == ["a/b/data.json", "read.me", "z/data.json"]
        found = CorpusFiles(files, folder, "there").by_name()
        assert bytes_of(found["data.json"]) == b"z/data.json"
        assert sorted(found) == ["data.json", "read.me"]


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "..\\x", "\\\\host\\x", "C:\\x", "c:x", "\\x"])
def test_member_whose_name_leads_out_is_refused(folder: Path, name: str):
    (folder / "whatever.zip").write_bytes(zipped({"top/a.txt": b"a", name: b"x"}))
    with pytest.raises(CorpusError) as raised, open_archive(folder):
        pass
    assert f"whatever.zip was not read: its member {name!r} names a place outside the archive." in str(raised.value)
    assert "Remove the archive and run `dial2vec fetch sgd`" in str(raised.value)
    assert "names a place outside" in str(damage(folder / "whatever.zip"))


@pytest.mark.parametrize("name", ["top/a..b.txt", "top/...", "top/sub:part.txt", "top/~"])
def test_odd_but_harmless_names_are_read(folder: Path, name: str):
    (folder / "whatever.zip").write_bytes(zipped({name: b"x"}))
    with open_archive(folder) as files:
        assert [file.address for file in files.values()] == [f"{folder}/whatever.zip/{name}"]


def test_archive_that_unpacks_to_too_much_is_refused_unread(folder: Path, monkeypatch: pytest.MonkeyPatch):
    path = folder / "whatever.zip"
    path.write_bytes(zipped({"top/a": bytes(3 << 20), "top/b": bytes(3 << 20)}, method=zipfile.ZIP_DEFLATED))
    monkeypatch.setattr(archives, "SMALL", 5 << 20)
    with pytest.raises(CorpusError, match=r"unpacks from 0.0 MiB to 6.0 MiB, expected at most 4,096.0 MiB and 200 tim"):
        open_archive(folder).__enter__()
    monkeypatch.setattr(archives, "SMALL", 7 << 20)
    assert damage(path) is None
    monkeypatch.setattr(archives, "MOST", 5 << 20)
    assert "unpacks from" in str(damage(path))


def test_archive_within_the_archive_is_held_to_the_same_limits(folder: Path, monkeypatch: pytest.MonkeyPatch):
    bomb, out = zipped({"a": bytes(6 << 20)}, method=zipfile.ZIP_DEFLATED), zipped({"/a": b"x"})
    (folder / "whatever.zip").write_bytes(zipped({"bomb.zip": bomb, "out.zip": out, "no.zip": b"x", "zero": bytes(99)}))
    monkeypatch.setattr(archives, "SMALL", 5 << 20)
    with open_archive(folder) as inner:
        for name, message in {
            "bomb.zip": r"whatever.zip/bomb.zip was not read: it unpacks .*`dial2vec fetch sgd`",
            "out.zip": r"whatever.zip/out.zip was not read: its member '/a'",
            "no.zip": r"whatever.zip/no.zip cannot be read as a zip archive .*`dial2vec fetch sgd`",
        }.items():
            with pytest.raises(CorpusError, match=message), open_nested(inner[name]):
                pass
        monkeypatch.setattr(source_files, "MOST_WHOLE", 50)
        with pytest.raises(CorpusError, match=r"whatever.zip/zero unpacks to 0.0 MiB; expected 0.0 MiB at most"):
            bytes_of(inner["zero"])


def test_member_that_hides_its_size_is_never_unpacked_beyond_what_it_declares(folder: Path):
    path, true, false = folder / "whatever.zip", struct.pack("<I", 64 << 20), struct.pack("<I", 10)
    path.write_bytes(zipped({"top/a": bytes(64 << 20)}, method=zipfile.ZIP_DEFLATED).replace(true, false))
    tracemalloc.start()
    with open_archive(folder) as files, pytest.raises(CorpusError, match=r"top/a is damaged \(Bad CRC-32"):
        bytes_of(files["a"])
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_packing_methods_that_cannot_be_bounded_are_refused(folder: Path):
    (folder / "whatever.zip").write_bytes(zipped({"top/a": b"x"}, method=zipfile.ZIP_LZMA))
    with pytest.raises(CorpusError, match=r"'top/a' is packed by method 14, expected none or deflate"):
        open_archive(folder).__enter__()


def test_member_is_streamed_in_blocks_and_damage_is_named_when_it_is_met(folder: Path):
    text = f"{TEXT}\n".encode() * 40
    content = zipped({"top/a": text}).replace(b"lazy", b"hazy", 1)
    (folder / "whatever.zip").write_bytes(content)
    with open_archive(folder) as files:
        lines = lines_of(files["a"])
        assert next(lines)[1].startswith("the quick")
        with pytest.raises(CorpusError, match=r"whatever.zip/top/a is damaged \(Bad CRC"):
            list(lines)
