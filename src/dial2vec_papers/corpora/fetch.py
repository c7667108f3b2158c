"""Get the archive of a corpus into `data/<corpus>/`, from a mirror or by download, and compare its SHA-256.

The SHA-256 is recorded at the first fetch and compared at every later one. For the corpora of `PINNED` the first
archive is compared as well: with the dialogues that this project has read.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tqdm import tqdm

from conversations.files import atomic_path, sha256_of, write_errors, write_text
from dial2vec.data.corpora.corpus import MIRROR
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.archive import below_top, damage, find_archive
from dial2vec_papers.corpora.source_files import DIGEST, bytes_of, open_zip

if TYPE_CHECKING:
    import requests

WEB = ("http://", "https://")
# Bytes per write, and the maximum loss when a connection ends.
BLOCK = 1 << 16
# Seconds to wait before each of 3 retries.
PAUSES = (1.0, 2.0, 4.0)
# Seconds to connect, and seconds between two bytes.
TIMEOUT = (10.0, 60.0)
LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
# The files that hold a corpus's dialogues, by their paths below the top folder, and the SHA-256 over their paths and
# contents. Upstream publishes none, and hosts pack the same files differently; these are of archives whose dialogues
# were counted and compared with the published figures. Of the other corpora no archive was at hand.
PINNED = {
    "sgd": (
        r"(train|dev|test)/dialogues_\d+\.json",
        "4456fbb8bc54046edd52f0062af990a12358b85925d68c9f31ec91fa4fe8c8b3",
    ),
    "self_dialogue": (r"corpus/[^/]+/[^/]+\.csv", "5a7c955d6ed9480e3bfa8907f5818d68a9fdc81982d2ff114ac1ad547b9c5b02"),
}


def fetch_archive(folder: Path, url: str, *, mirror: Path | str | None) -> tuple[Path, str]:
    """Get the archive of a corpus into `folder` (`data/<corpus>`), and return its path and source.

    All members' checksums are compared before a new archive is kept. The first fetch records its SHA-256 in
    `<archive>.sha256`; later fetches compare it.

    :param url: Archive of upstream.
    :param mirror: Mirror as `fetch_corpus` takes it.
    :raises CorpusError: if the mirror is incomplete, the download fails, or the archive is damaged or differs from the
        recorded SHA-256.
    """
    name, present = folder.name, find_archive(folder)
    if present is not None and damage(present) is None:
        require_recorded(present, folder=folder, source=str(present), otherwise="Remove the archive and fetch it again")
        record_digest(present)
        return present, "already there"
    if mirror is None or str(mirror).startswith(WEB):
        # A web mirror has it as <mirror>/<name>/<file name of upstream's URL>.
        source = url if mirror is None else f"{str(mirror).rstrip('/')}/{name}/{url.rpartition('/')[2]}"
        path = folder / f"{name}.zip"
        _download(source, path)
    else:
        archive = _in_mirror(Path(mirror), name)
        path, source = folder / archive.name, str(archive)
        _copy(archive, path)
    if present is not None and present != path:
        present.unlink()
    record_digest(path)
    return path, source


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


def require_recorded(archive: Path, *, folder: Path, source: str, otherwise: str) -> None:
    """Compare an archive with the digest recorded in `folder` (`data/<corpus>`), else with `PINNED`, if it is there.

    :param source: Source of the archive, for the error.
    :param otherwise: Advice for an unwanted difference, as an imperative clause.
    :raises CorpusError: if the digests differ or the record is unreadable.
    """
    records = _records(folder)
    if not records and folder.name in PINNED:
        pattern, pinned = PINNED[folder.name]
        if (digest := content_digest(archive, pattern)) != pinned:
            raise CorpusError(
                f"the dialogues in {source} have the SHA-256 {digest}, expected {pinned}, that of the dialogues which "
                f"this version was tested with. {otherwise}, or, if you trust it, write its `sha256sum` into "
                f"{folder / (folder.name + '.zip' + DIGEST)}."
            )
    for record in records:
        recorded, digest = _read(record), sha256_of(archive).hex()
        if digest != recorded:
            raise CorpusError(
                f"{source} has the SHA-256 {digest}, but {record} expects {recorded}, that of the first archive. "
                f"{otherwise}, or, if you know why the archive changed, remove {record} and run this again."
            )


def content_digest(path: Path, pattern: str) -> str:
    """Return the SHA-256 over paths and contents of an archive's files, however they are packed.

    :param pattern: Regular expression of the paths below the top folder.
    """
    digest = hashlib.sha256()
    with open_zip(path, str(path)) as files:
        for name, file in below_top(files).items():
            if re.fullmatch(pattern, name):
                content = hashlib.sha256(bytes_of(file)).hexdigest()
                digest.update(f"{content}  {name}\n".encode())
    return digest.hexdigest()


def record_digest(archive: Path) -> None:
    """Write `<archive>.sha256` in the format of `sha256sum`, and remove other records in its folder."""
    path = archive.with_name(archive.name + DIGEST)
    line = f"{sha256_of(archive).hex()}  {archive.name}\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != line:
        write_text(path, line)
    for other in _records(archive.parent):
        if other != path:
            other.unlink()


def _records(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob(f"*{DIGEST}") if path.is_file() and not path.name.startswith("."))


def _read(record: Path) -> str:
    match = LINE.fullmatch(record.read_text(encoding="utf-8", errors="replace").strip())
    if match is None:
        raise CorpusError(
            f"{record} is not one line of `sha256sum`: 64 hexadecimal digits, two blanks, a name. Restore it with "
            "`dvc checkout`, or remove it to record the archive again."
        )
    return match[1]
