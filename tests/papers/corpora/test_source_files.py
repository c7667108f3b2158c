import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.source_files import json_of, lines_of, matching_files, open_sources, records_of
from tests.data.corpora.archives import zipped
from tests.papers.corpora.upstream import FORMS, pack

FILES = {"part/a.json": [1, {"x": 2}], "part/b.txt": "one\r\ntwo\u2028three\n", "c.json": "[]"}


def opened(folder: Path, pattern: str):
    with open_sources(folder, source="there") as sources:
        return [file.path for file, _ in matching_files(sources, pattern, folder=folder, source="there")]


def everything(folder: Path):
    with open_sources(folder, source="there") as sources:
        return [list(records_of(file)) for file in sources.values()]


@pytest.mark.parametrize("form", FORMS)
def test_files_are_read_the_same_in_every_form(tmp_path: Path, form: str):
    folder = pack(tmp_path / "corpus", FILES, form=form)
    with open_sources(folder, source="there") as sources:
        ((found, _),) = matching_files(sources, r"a\.json", folder=folder, source="there")
        assert list(records_of(found)) == [(1, 1), (2, {"x": 2})]
        assert json_of(found) == [1, {"x": 2}]
        ((text, _),) = matching_files(sources, r"b\.txt", folder=folder, source="there")
        assert list(lines_of(text)) == [(1, "one"), (2, "two\u2028three")]
        ((empty, _),) = matching_files(sources, r"c\.json", folder=folder, source="there")
        with pytest.raises(CorpusError, match="is no JSON list with elements"):
            list(records_of(empty))


def test_gzip_files_lose_their_ending_within_archives_too(tmp_path: Path):
    pack(tmp_path / "zip", {"a.json.gz": gzip.compress(b"[1]")}, form="zip")
    pack(tmp_path / "plain", {"a.json.gz": gzip.compress(b"[1]")})
    for folder in (tmp_path / "zip", tmp_path / "plain"):
        with open_sources(folder, source="there") as sources:
            ((found, _),) = matching_files(sources, r"a\.json", folder=folder, source="there")
            assert list(records_of(found)) == [(1, 1)]


def test_pattern_matches_whole_names_at_the_end_of_a_path(tmp_path: Path):
    folder = pack(tmp_path / "corpus", {"x/train.csv": "a", "x/other_train.csv": "b", "x/train.csv.md": "c"})
    assert opened(folder, r"train\.csv") == ["x/train.csv"]


def test_equal_copy_counts_once_and_a_different_one_is_refused(tmp_path: Path):
    folder = pack(tmp_path / "corpus", {"a.json": "[1]"}, form="zip")
    pack(folder, {"unpacked/a.json": "[1]"})
    assert len(opened(folder, r"a\.json")) == 1
    pack(folder, {"unpacked/a.json": "[2]"})
    with pytest.raises(CorpusError, match=r"holds two different a.json, .*corpus.zip/name-main/a.json and .*unpacked"):
        opened(folder, r"a\.json")


def test_hidden_files_digests_and_half_downloads_are_ignored(tmp_path: Path):
    pack(tmp_path / "corpus", {".a.json": "x", "a.json.part": "x", "corpus.zip.sha256": "x"})
    with (
        pytest.raises(CorpusError, match="holds no files; expected those of there"),
        open_sources(tmp_path / "corpus", source="there"),
    ):
        pass


@pytest.mark.parametrize("name", ["corpus.zip", "corpus.tar.gz", "corpus.tgz", "corpus.tar"])
def test_damaged_archive_is_refused_by_name(tmp_path: Path, name: str):
    (tmp_path / name).write_bytes(b"half an archive" * 50)
    with pytest.raises(CorpusError, match=f"{name} cannot be read as a"), open_sources(tmp_path, source="there"):
        pass


def test_archive_cut_in_the_middle_is_refused_and_never_read_as_a_shorter_one(tmp_path: Path):
    content = json.dumps([{"text": f"{n} " * 50} for n in range(500)])
    for form, name in (("zip", "corpus.zip"), ("tar.gz", "corpus.tar.gz")):
        folder = pack(tmp_path / form, {"a.json": content}, form=form)
        whole = (folder / name).read_bytes()
        for share in (0.3, 0.6, 0.95):
            (folder / name).write_bytes(whole[: int(share * len(whole))])
            with pytest.raises(CorpusError):
                everything(folder)


def test_names_that_lead_out_are_refused(tmp_path: Path):
    (tmp_path / "corpus.zip").write_bytes(zipped({"../a.json": "[1]"}))
    with pytest.raises(CorpusError, match="names a place outside"), open_sources(tmp_path, source="there"):
        pass
    (tmp_path / "corpus.zip").unlink()
    with tarfile.open(tmp_path / "corpus.tar", "w") as tar:
        info = tarfile.TarInfo("/etc/a.json")
        info.size = 3
        tar.addfile(info, io.BytesIO(b"[1]"))
    with pytest.raises(CorpusError, match="names a place outside"), open_sources(tmp_path, source="there"):
        pass


@pytest.mark.parametrize(("bound", "most"), [("MOST", 5), ("SMALL", 3)])
def test_tar_that_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
):
    monkeypatch.setattr(f"conversations.formats.archives.{bound}", most << 20)
    pack(tmp_path / "corpus", {"a.json": b"\0" * (8 << 20)}, form="tar.gz")
    with (
        pytest.raises(CorpusError, match=f"it unpacks to more than {most} MiB"),
        open_sources(tmp_path / "corpus", source="there"),
    ):
        pass


def test_list_with_nan_is_read_like_python_reads_it(tmp_path: Path):
    folder = pack(tmp_path / "corpus", {"a.json": '[{"x": 1}, {"x": NaN}, {"x": 3}]'})
    with open_sources(folder, source="there") as sources:
        (file,) = sources.values()
        found = list(records_of(file))
    assert [number for number, _ in found] == [1, 2, 3]
    assert [record["x"] for _, record in found][::2] == [1, 3]


def test_list_that_ends_early_is_damaged(tmp_path: Path):
    folder = pack(tmp_path / "corpus", {"a.json": '[{"x": 1}, {"x"'})
    with open_sources(folder, source="there") as sources, pytest.raises(CorpusError, match=r"a.json is not JSON"):
        list(records_of(next(iter(sources.values()))))
