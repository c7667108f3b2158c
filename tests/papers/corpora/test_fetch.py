import hashlib
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dial2vec.data.corpora import fetch_corpus as fetch
from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec_papers.corpora import fetch as fetching
from dial2vec_papers.corpora.sgd import Sgd
from tests.data.corpora.archives import zipped


def archive_bytes(seed: int = 0) -> bytes:
    """Return a whole archive of 300 kB that does not compress."""
    filling = random.Random(seed).randbytes(300_000)
    return zipped({"sgd-main/train/dialogues_001.json": "[]", "sgd-main/filling.bin": filling})


ARCHIVE, OTHER = archive_bytes(), archive_bytes(seed=1)
DIGEST, OTHER_DIGEST = (hashlib.sha256(content).hexdigest() for content in (ARCHIVE, OTHER))


@dataclass
class Upstream:
    """A web server with one file and the faults that it is told to show, one per request, before it behaves.

    :param faults: of "503", "404", "cut" (the connection ends half-way), "shifted" (a range from elsewhere).
    :param asked: the Range header of every request so far.
    :param paths: the path of every request so far.
    """

    url: str = ""
    content: bytes = ARCHIVE
    ranges: bool = True
    faults: list[str] = field(default_factory=list)
    asked: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers["Range"]
        self.asked.append(wanted)
        self.paths.append(request.path)
        fault = self.faults.pop(0) if self.faults else ""
        if fault.isdigit():
            request.send_error(int(fault))
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self.ranges else 0
        if start >= len(self.content):
            request.send_error(416)
            return
        body = self.content[start:]
        request.send_response(206 if start else 200)
        if start:
            begins = start - 1 if fault == "shifted" else start
            request.send_header("Content-Range", f"bytes {begins}-{len(self.content) - 1}/{len(self.content)}")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: len(body) // 2] if fault == "cut" else body)


@pytest.fixture(autouse=True)
def unpinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The archives here hold other dialogues than upstream's."""
    monkeypatch.setattr("dial2vec_papers.corpora.fetch.PINNED", {})


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    site = Upstream()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.answer(self)

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the test's output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        site.url = f"http://127.0.0.1:{server.server_port}/main.zip"
        monkeypatch.setattr(Sgd, "url", site.url)
        monkeypatch.setattr(fetching, "PAUSES", (0.0, 0.0, 0.0))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield site
        server.shutdown()
        thread.join()


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    (tmp_path / "mirror" / "sgd").mkdir(parents=True)
    (tmp_path / "mirror" / "sgd" / "sgd-main.zip").write_bytes(ARCHIVE)
    return tmp_path / "mirror"


def part_file(data: Path, content: bytes) -> Path:
    (data / "sgd").mkdir(parents=True)
    path = data / "sgd" / "sgd.zip.part"
    path.write_bytes(content)
    return path


def whole_blocks(size: int) -> int:
    """Return how many of `size` bytes stay when the connection ends there."""
    return size // fetching.BLOCK * fetching.BLOCK


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_archive_is_copied_from_the_mirror(tmp_path: Path, mirror: Path):
    fetched = fetch("sgd", data=tmp_path / "data", mirror=mirror)
    assert fetched.path == tmp_path / "data" / "sgd" / "sgd-main.zip"
    assert fetched.path.read_bytes() == ARCHIVE
    assert (fetched.bytes, fetched.source) == (len(ARCHIVE), str(mirror / "sgd" / "sgd-main.zip"))
    assert len(fetched.missing) == 183
    assert "train/dialogues_001.json" not in fetched.missing


def test_whole_archive_is_not_copied_again(tmp_path: Path, mirror: Path):
    before = fetch("sgd", data=tmp_path / "data", mirror=mirror)
    written = before.path.stat().st_mtime_ns
    again = fetch("sgd", data=tmp_path / "data", mirror=tmp_path / "gone")
    assert (again.source, again.path, again.missing) == ("already there", before.path, before.missing)
    assert again.path.stat().st_mtime_ns == written


def test_damaged_archive_in_place_is_replaced_even_under_another_name(tmp_path: Path, mirror: Path):
    folder = tmp_path / "data" / "sgd"
    folder.mkdir(parents=True)
    (folder / "old.zip").write_bytes(ARCHIVE[:1000])
    fetch("sgd", data=tmp_path / "data", mirror=mirror)
    assert names(folder) == ["sgd-main.zip", "sgd-main.zip.sha256"]


def test_mirror_without_the_corpus_names_path_variable_and_layout(tmp_path: Path):
    with pytest.raises(CorpusError) as raised:
        fetch("sgd", data=tmp_path / "data", mirror=tmp_path / "mirror")
    assert f"{tmp_path}/mirror/sgd does not exist; DIAL2VEC_MIRROR must name a folder laid out as" in str(raised.value)
    assert "<mirror>/sgd/<any name>.zip" in str(raised.value)
    (tmp_path / "mirror" / "sgd").mkdir(parents=True)
    with pytest.raises(CorpusError, match=r"mirror/sgd holds no \*.zip"):
        fetch("sgd", data=tmp_path / "data", mirror=tmp_path / "mirror")


def test_damaged_archive_of_the_mirror_leaves_nothing_behind_and_keeps_what_was_there(tmp_path: Path, mirror: Path):
    (mirror / "sgd" / "sgd-main.zip").write_bytes(ARCHIVE[:-100])
    folder = tmp_path / "data" / "sgd"
    with pytest.raises(CorpusError, match=r"mirror/sgd/sgd-main.zip is not a whole zip archive"):
        fetch("sgd", data=tmp_path / "data", mirror=mirror)
    assert names(folder) == []
    (folder / "old.zip").write_bytes(b"damaged as well")
    with pytest.raises(CorpusError, match="not a whole zip"):
        fetch("sgd", data=tmp_path / "data", mirror=mirror)
    assert names(folder) == ["old.zip"]


def test_flipped_byte_in_a_member_is_noticed(tmp_path: Path, mirror: Path):
    broken = bytearray(ARCHIVE)
    broken[150_000] ^= 1
    (mirror / "sgd" / "sgd-main.zip").write_bytes(broken)
    with pytest.raises(CorpusError, match=r"bad checksum in sgd-main/filling.bin"):
        fetch("sgd", data=tmp_path / "data", mirror=mirror)


def test_data_folder_that_is_a_file_is_named(tmp_path: Path, mirror: Path, upstream: Upstream):
    (tmp_path / "data").write_text("")
    for source in (mirror, None):
        with pytest.raises(Dial2vecError, match=r"cannot write .*data/sgd"):
            fetch("sgd", data=tmp_path / "data", mirror=source)


def test_archive_is_downloaded(tmp_path: Path, upstream: Upstream):
    fetched = fetch("sgd", data=tmp_path / "data", mirror=None)
    assert fetched.path.read_bytes() == ARCHIVE
    assert (fetched.bytes, fetched.source, upstream.asked) == (len(ARCHIVE), upstream.url, [None])
    assert names(tmp_path / "data" / "sgd") == ["sgd.zip", "sgd.zip.sha256"]


def test_server_that_is_busy_at_first_is_asked_again(tmp_path: Path, upstream: Upstream):
    upstream.faults = ["503", "503", "503"]
    assert fetch("sgd", data=tmp_path / "data", mirror=None).path.read_bytes() == ARCHIVE
    assert upstream.asked == [None] * 4


def test_cut_connection_goes_on_where_it_ended(tmp_path: Path, upstream: Upstream):
    upstream.faults = ["cut", "cut"]
    assert fetch("sgd", data=tmp_path / "data", mirror=None).path.read_bytes() == ARCHIVE
    half = whole_blocks(len(ARCHIVE) // 2)
    more = half + whole_blocks((len(ARCHIVE) - half) // 2)
    assert 0 < half < more
    assert upstream.asked == [None, f"bytes={half}-", f"bytes={more}-"]


def test_cut_connection_begins_again_at_a_server_without_ranges(tmp_path: Path, upstream: Upstream):
    upstream.ranges = False
    upstream.faults = ["cut"]
    assert fetch("sgd", data=tmp_path / "data", mirror=None).path.read_bytes() == ARCHIVE
    assert upstream.asked == [None, f"bytes={whole_blocks(len(ARCHIVE) // 2)}-"]


def test_download_of_an_earlier_run_is_taken_up_again(tmp_path: Path, upstream: Upstream):
    part_file(tmp_path / "data", ARCHIVE[:1000])
    assert fetch("sgd", data=tmp_path / "data", mirror=None).path.read_bytes() == ARCHIVE
    assert upstream.asked == ["bytes=1000-"]
    assert names(tmp_path / "data" / "sgd") == ["sgd.zip", "sgd.zip.sha256"]


def test_range_that_is_refused_or_starts_elsewhere_begins_again(tmp_path: Path, upstream: Upstream):
    part_file(tmp_path / "full", ARCHIVE)
    assert fetch("sgd", data=tmp_path / "full", mirror=None).path.read_bytes() == ARCHIVE
    part_file(tmp_path / "shifted", ARCHIVE[:1000])
    upstream.faults = ["shifted"]
    assert fetch("sgd", data=tmp_path / "shifted", mirror=None).path.read_bytes() == ARCHIVE
    assert upstream.asked == [f"bytes={len(ARCHIVE)}-", None, "bytes=1000-", None]


def test_part_of_another_file_is_noticed_and_removed(tmp_path: Path, upstream: Upstream):
    part = part_file(tmp_path / "data", b"x" * 200_000)
    with pytest.raises(CorpusError, match="not a whole zip archive"):
        fetch("sgd", data=tmp_path / "data", mirror=None)
    assert not part.exists()
    assert fetch("sgd", data=tmp_path / "data", mirror=None).path.read_bytes() == ARCHIVE


def test_page_instead_of_an_archive_is_not_kept(tmp_path: Path, upstream: Upstream):
    upstream.content = b"<html>Please log in</html>"
    with pytest.raises(CorpusError, match=r"main.zip is not a whole zip archive"):
        fetch("sgd", data=tmp_path / "data", mirror=None)
    assert names(tmp_path / "data" / "sgd") == []


def test_failing_server_is_given_up_after_three_further_tries(tmp_path: Path, upstream: Upstream):
    upstream.faults = ["503"] * 4
    with pytest.raises(CorpusError) as raised:
        fetch("sgd", data=tmp_path / "data", mirror=None)
    assert f"{upstream.url} could not be downloaded (HTTP 503 Service Unavailable)" in str(raised.value)
    assert "put the archive into <mirror>/sgd/ and set DIAL2VEC_MIRROR=<mirror>" in str(raised.value)
    assert len(upstream.asked) == 4


def test_refusal_is_final_at_once(tmp_path: Path, upstream: Upstream):
    upstream.faults = ["404"] * 4
    with pytest.raises(CorpusError, match="HTTP 404 Not Found"):
        fetch("sgd", data=tmp_path / "data", mirror=None)
    assert len(upstream.asked) == 1


def test_half_of_a_download_waits_for_the_next_run(tmp_path: Path, upstream: Upstream):
    upstream.faults = ["cut", "503", "503", "503"]
    with pytest.raises(CorpusError):
        fetch("sgd", data=tmp_path / "data", mirror=None)
    assert (tmp_path / "data" / "sgd" / "sgd.zip.part").stat().st_size == whole_blocks(len(ARCHIVE) // 2)
    assert names(tmp_path / "data" / "sgd") == ["sgd.zip.part"]


def test_unreachable_server_is_named(tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Sgd, "url", "http://127.0.0.1:1/main.zip")
    with pytest.raises(CorpusError, match=r"http://127.0.0.1:1/main.zip could not be downloaded \(.*refused"):
        fetch("sgd", data=tmp_path / "data", mirror=None)


def test_pauses_between_tries_grow(tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch):
    slept: list[float] = []
    monkeypatch.setattr(fetching, "PAUSES", (1.0, 2.0, 4.0))
    monkeypatch.setattr(fetching.time, "sleep", slept.append)
    upstream.faults = ["503"] * 3
    fetch("sgd", data=tmp_path / "data", mirror=None)
    assert slept == [1.0, 2.0, 4.0]


def test_demo_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def write(folder: Path) -> int:
        folder.mkdir(parents=True)
        return (folder / "demo.jsonl").write_text("12345")

    monkeypatch.setattr("dial2vec.data.corpora.demo.write_demo", write)
    fetched = fetch("demo", data=tmp_path, mirror=None)
    assert (fetched.path, fetched.bytes, fetched.source, fetched.missing) == (tmp_path / "demo", 5, "written", [])


def test_own_transcripts_have_nothing_to_fetch(tmp_path: Path):
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "1.jsonl").write_text("{}\n")
    with pytest.raises(CorpusError, match="calls is a corpus of your own"):
        fetch("calls", data=tmp_path, mirror=None)


def test_unknown_corpus_is_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"unknown corpus 'sgdx'. Did you mean 'sgd'"):
        fetch("sgdx", data=tmp_path, mirror=None)


@pytest.mark.parametrize("name", ["frames", "dstc2", "ubuntu_v2", "dstc7_ubuntu", "amazon_qa", "jddc", "ecd"])
def test_corpus_that_must_be_brought_says_where_it_comes_from_and_where_it_goes(tmp_path: Path, name: str):
    with pytest.raises(CorpusError, match=rf"from .*\. Put them into {tmp_path / name}, .* run `dial2vec add {name}`"):
        fetch(name, data=tmp_path, mirror=None)


def test_mirror_on_the_web_has_upstreams_file_name(tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch):
    base = upstream.url.removesuffix("main.zip")
    monkeypatch.setattr(Sgd, "url", "https://upstream.invalid/archive/master.zip")
    upstream.faults = ["cut"]
    for mirror, data in ((base + "zips/", "a"), (base + "zips", "b")):
        fetched = fetch("sgd", data=tmp_path / data, mirror=mirror)
        assert fetched.path == tmp_path / data / "sgd" / "sgd.zip"
        assert fetched.source == f"{base}zips/sgd/master.zip"
    assert upstream.paths == ["/zips/sgd/master.zip"] * 3


def test_mirror_on_the_web_without_the_archive_is_named(tmp_path: Path, upstream: Upstream):
    upstream.faults = ["404"]
    mirror = upstream.url.removesuffix("/main.zip")
    with pytest.raises(CorpusError, match=rf"{mirror}/sgd/main.zip could not be downloaded .HTTP 404"):
        fetch("sgd", data=tmp_path / "data", mirror=mirror)


def test_digest_is_recorded_as_sha256sum_writes_it(tmp_path: Path, upstream: Upstream):
    archive = fetch("sgd", data=tmp_path / "data", mirror=None).path
    record = archive.with_name("sgd.zip.sha256")
    assert record.read_text() == f"{DIGEST}  sgd.zip\n"
    record.unlink()
    fetch("sgd", data=tmp_path / "data", mirror=None)
    assert record.read_text() == f"{DIGEST}  sgd.zip\n"


def test_archive_that_changed_in_place_is_refused_with_both_digests(tmp_path: Path, mirror: Path):
    archive = fetch("sgd", data=tmp_path / "data", mirror=mirror).path
    archive.write_bytes(OTHER)
    with pytest.raises(CorpusError) as raised:
        fetch("sgd", data=tmp_path / "data", mirror=mirror)
    record = archive.with_name("sgd-main.zip.sha256")
    assert f"{archive} has the SHA-256 {OTHER_DIGEST}, but {record} expects {DIGEST}" in str(raised.value)
    assert f"Remove the archive and fetch it again, or, if you know why the archive changed, remove {record}" in str(
        raised.value
    )
    record.unlink()
    assert fetch("sgd", data=tmp_path / "data", mirror=mirror).source == "already there"
    assert record.read_text().startswith(OTHER_DIGEST)


@pytest.mark.parametrize("by_mirror", [True, False])
def test_another_archive_than_at_first_is_not_kept(tmp_path: Path, mirror: Path, upstream: Upstream, by_mirror: bool):
    folder = tmp_path / "data" / "sgd"
    first = fetch("sgd", data=tmp_path / "data", mirror=None).path
    first.unlink()
    upstream.content = OTHER
    (mirror / "sgd" / "sgd-main.zip").write_bytes(OTHER)
    with pytest.raises(CorpusError, match=rf"has the SHA-256 {OTHER_DIGEST}, but .* expects {DIGEST}.*DIAL2VEC_MIRROR"):
        fetch("sgd", data=tmp_path / "data", mirror=mirror if by_mirror else None)
    assert names(folder) == ["sgd.zip.sha256"]


def test_same_archive_under_another_name_takes_the_record_along(tmp_path: Path, mirror: Path, upstream: Upstream):
    fetch("sgd", data=tmp_path / "data", mirror=None).path.unlink()
    fetch("sgd", data=tmp_path / "data", mirror=mirror)
    assert names(tmp_path / "data" / "sgd") == ["sgd-main.zip", "sgd-main.zip.sha256"]


def test_record_that_is_no_digest_is_named(tmp_path: Path, mirror: Path):
    archive = fetch("sgd", data=tmp_path / "data", mirror=mirror).path
    archive.with_name("sgd-main.zip.sha256").write_bytes(b"\xff not a digest\n")
    with pytest.raises(CorpusError, match=r"sgd-main.zip.sha256 is not one line of `sha256sum`"):
        fetch("sgd", data=tmp_path / "data", mirror=mirror)


def test_archive_made_to_do_harm_is_not_kept(tmp_path: Path, upstream: Upstream):
    upstream.content = zipped({"../../etc/cron.d/x": "x"})
    with pytest.raises(CorpusError, match=r"can be trusted \(its member '../../etc/cron.d/x' names a place outside"):
        fetch("sgd", data=tmp_path / "data", mirror=None)
    assert names(tmp_path / "data" / "sgd") == []
