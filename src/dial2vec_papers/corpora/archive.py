"""The zip archive of a corpus, as `dial2vec fetch` brings it; nothing is unpacked to disk."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from conversations.formats.archives import DAMAGE, harm_of
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.source_files import SourceFile, bytes_of, open_zip


@contextlib.contextmanager
def open_archive(folder: Path) -> Iterator[dict[str, SourceFile]]:
    """Yield the files of the single `*.zip` in `folder` (`data/<corpus>`) by their sorted paths.

    Paths are those *below the top folder*, whose name differs between mirrors: `dialogues-main/train/1.json` becomes
    `train/1.json`. Without a single top folder, paths stay whole.

    :raises CorpusError: if the folder or the archive is missing, there are several archives, or the archive is no zip
        or harmful: a member's name leads out of it, or it unpacks to more than any corpus.
    """
    path = find_archive(folder)
    if path is None:
        raise CorpusError(
            f"{folder} {'holds no *.zip' if folder.is_dir() else 'does not exist'}; "
            f"expected the archive of {folder.name}. Run `dial2vec fetch {folder.name}`."
        )
    with open_zip(path, str(path), again=fetch_again(folder.name)) as files:
        yield below_top(files)


@contextlib.contextmanager
def open_nested(file: SourceFile) -> Iterator[dict[str, SourceFile]]:
    """Yield the files of a zip within an archive by their sorted paths, with the same limits.

    :raises CorpusError: if it is damaged, no zip, or harmful.
    """
    with open_zip(io.BytesIO(bytes_of(file)), file.address, again=file.again) as files:
        yield {inner.path: inner for inner in files}


def find_archive(folder: Path) -> Path | None:
    """Return the single `*.zip` in `folder`, or None if there is no archive or no folder.

    :raises CorpusError: if there are several archives.
    """
    archives = sorted(path for path in folder.glob("*.zip") if path.is_file() and not path.name.startswith("."))
    if len(archives) > 1:
        names = ", ".join(path.name for path in archives)
        raise CorpusError(f"{folder} holds {len(archives)} archives ({names}); expected one. Remove the others.")
    return archives[0] if archives else None


def below_top(files: list[SourceFile]) -> dict[str, SourceFile]:
    """Return the files of an archive by their sorted paths below its top folder, if all folders lie in one."""
    tops = {file.path.partition("/")[0] for file in files if "/" in file.path}
    below = {file.path.partition("/")[2] or file.path if len(tops) == 1 else file.path: file for file in files}
    return {path: below[path] for path in sorted(below)}


def damage(path: Path) -> str | None:
    """Read every member and compare its checksum; return the damage as a clause, or None.

    A harmful archive is not read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            harm = harm_of(archive, packed=path.stat().st_size)
            bad = None if harm else archive.testzip()
    except DAMAGE as error:
        return str(error) or type(error).__name__
    return f"bad checksum in {bad}" if bad else harm


def fetch_again(corpus: str) -> str:
    """Return how to replace the archive of a corpus."""
    return f"Remove the archive and run `dial2vec fetch {corpus}`."
