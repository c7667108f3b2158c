"""Get the files of a corpus into `data/<corpus>/`: from a mirror, by download, or generated (the demo)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tqdm import tqdm

from conversations.files import atomic_path, write_errors
from dial2vec.data.corpora import get_corpus
from dial2vec.data.corpora.archive import damage, find_archive
from dial2vec.data.corpora.checksum import record_digest, require_recorded
from dial2vec.data.corpora.demo import write_demo
from dial2vec.data.corpora.file_corpus import FileCorpus
from dial2vec.errors import CorpusError

if TYPE_CHECKING:
    import requests

MIRROR = "DIAL2VEC_MIRROR"
WEB = ("http://", "https://")
# Bytes per write, and the maximum loss when a connection ends.
BLOCK = 1 << 16
# Seconds to wait before each of 3 retries.
PAUSES = (1.0, 2.0, 4.0)
# Seconds to connect, and seconds between two bytes.
TIMEOUT = (10.0, 60.0)


@dataclass(frozen=True, slots=True)
class Fetched:
    """Result of `fetch`.

    :param path: Path of the archive, or folder of the demo.
    :param bytes: Size on disk.
    :param source: "already there", "written" (the demo), URL, or path of the mirror's archive.
    :param missing: Upstream names of files that the archive lacks.
    """

    path: Path
    bytes: int
    source: str
    missing: list[str]


def fetch(name: str, *, data: Path, mirror: Path | str | None) -> Fetched:
    """Get the files of a corpus into `data/<name>/`; an undamaged archive stays.

    All members' checksums are compared before a new archive is kept. The first fetch records its SHA-256 in
    `<archive>.sha256`; later fetches compare it.

    :param data: Folder with one folder per corpus.
    :param mirror: Folder with `<name>/*.zip`, or URL (`http://` or `https://`) below which
        `<name>/<upstream's file name>` is downloaded; None downloads from upstream.
    :raises CorpusError: if the name is unknown or of own transcripts, the mirror is incomplete, the download fails, or
        the archive is damaged or differs from the recorded SHA-256.
    """
    folder = data / name
    if name == "demo":
        write_demo(folder)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        return Fetched(folder, size, "written", [])
    corpus = get_corpus(name, data=data)
    if corpus.url is None and isinstance(corpus, FileCorpus):
        raise CorpusError(
            f"{name} cannot be downloaded by a program; expected its files from {corpus.source}. Put them into "
            f"{folder}, packed or unpacked, and run `dial2vec add {name}`."
        )
    if corpus.url is None:
        raise CorpusError(f"{name} is a corpus of your own in {folder}; there is nothing to fetch. Run the pipeline.")
    present = find_archive(folder)
    if present is not None and damage(present) is None:
        require_recorded(present, folder=folder, source=str(present), otherwise="Remove the archive and fetch it again")
        record_digest(present)
        return Fetched(present, present.stat().st_size, "already there", corpus.missing(folder))
    if mirror is None or str(mirror).startswith(WEB):
        path, source = folder / f"{name}.zip", corpus.url if mirror is None else _below(str(mirror), name, corpus.url)
        _download(source, path)
    else:
        archive = _in_mirror(Path(mirror), name)
        path, source = folder / archive.name, str(archive)
        _copy(archive, path)
    if present is not None and present != path:
        present.unlink()
    record_digest(path)
    return Fetched(path, path.stat().st_size, source, corpus.missing(folder))


def _below(mirror: str, name: str, upstream: str) -> str:
    """Return the URL of the archive below a web mirror: `<mirror>/<name>/<file name of upstream's URL>`."""
    return f"{mirror.rstrip('/')}/{name}/{upstream.rpartition('/')[2]}"


def _in_mirror(mirror: Path, name: str) -> Path:
    folder = mirror / name
    archive = find_archive(folder)
    if archive is None:
        raise CorpusError(
            f"{folder} {'holds no *.zip' if folder.is_dir() else 'does not exist'}; {MIRROR} must name a folder laid "
            f"out as <mirror>/{name}/<any name>.zip, or a URL. Put the archive there, or unset {MIRROR} to download it."
        )
    return archive


def _copy(source: Path, target: Path) -> None:
    try:
        with source.open("rb") as reader, atomic_path(target) as temporary:
            with temporary.open("wb") as out:
                _write(iter(lambda: reader.read(BLOCK), b""), out, name=target.name, size=source.stat().st_size)
            _require_good(temporary, folder=target.parent, source=str(source))
    except OSError as error:
        raise CorpusError(f"{source} cannot be read ({error.strerror}). Check the mirror ({MIRROR}).") from error


def _download(url: str, target: Path) -> None:
    """Download to `<target>.part`, which a later call continues, and rename it when complete."""
    import requests

    part = target.with_name(f"{target.name}.part")
    with write_errors(part):
        part.parent.mkdir(parents=True, exist_ok=True)
    for pause in (*PAUSES, None):
        try:
            _receive(url, part)
            break
        except requests.RequestException as error:
            refused = error.response is not None and error.response.status_code < 500
            if pause is None or refused:
                raise CorpusError(
                    f"{url} could not be downloaded ({_reason(error)}). Run the command again, which continues "
                    f"this download, or put the archive into <mirror>/{target.parent.name}/ and set {MIRROR}=<mirror>."
                ) from error
            time.sleep(pause)
    try:
        _require_good(part, folder=target.parent, source=url)
    except CorpusError:
        part.unlink()
        raise
    part.replace(target)


def _receive(url: str, part: Path) -> None:
    """Download the bytes that `part` lacks; a server without ranges sends all bytes again."""
    import requests

    have = part.stat().st_size if part.exists() else 0
    # "identity": no compression, so that lengths match the bytes on disk.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
        if have and not _continues(response, have):
            part.unlink()
            _receive(url, part)
            return
        response.raise_for_status()
        resumed = have if response.status_code == requests.codes.partial_content else 0
        length = response.headers.get("Content-Length")
        size = resumed + int(length) if length else None
        with write_errors(part), part.open("ab" if resumed else "wb") as out:
            _write(response.iter_content(BLOCK), out, name=part.stem, size=size, done=resumed)


def _continues(response: requests.Response, have: int) -> bool:
    """Return whether the response continues after `have` bytes: the range is accepted and starts there."""
    if response.status_code == 206:
        return response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    return response.status_code != 416


def _write(blocks: Iterator[bytes], out: IO[bytes], *, name: str, size: int | None, done: int = 0) -> None:
    with tqdm(total=size, initial=done, desc=name, unit="B", unit_scale=True, unit_divisor=1024, disable=None) as bar:
        for block in blocks:
            out.write(block)
            bar.update(len(block))


def _require_good(path: Path, *, folder: Path, source: str) -> None:
    problem = damage(path)
    if problem is not None:
        raise CorpusError(
            f"{source} is not a whole zip archive that can be trusted ({problem}); it was not kept. Fetch again, or "
            f"put a good one into <mirror>/{folder.name}/ and set {MIRROR}=<mirror>."
        )
    otherwise = f"It was not kept: get the archive from another place ({MIRROR})"
    require_recorded(path, folder=folder, source=source, otherwise=otherwise)


def _reason(error: requests.RequestException) -> str:
    if error.response is not None:
        return f"HTTP {error.response.status_code} {error.response.reason}"
    return " ".join(str(error).split()) or type(error).__name__
