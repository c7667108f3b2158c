"""DVC's cache without what nothing refers to any more.

`dvc gc` knows neither the registry nor how much it would free, so this reads DVC's records itself. What stays is what
the project's dvc.lock and data.dvc refer to, those of every branch and tag of git, and the data of versions that stay.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from conversations.files import atomic_path
from dial2vec.encoder.checksums import differs, md5_of
from dial2vec.errors import VersioningError

# Files of the records that refer to objects.
RECORDS = ("dvc.lock", "data.dvc")
DIRECTORY = ".dir"
# Seconds; DVC may be about to refer to a younger object.
YOUNG = 600.0


def remote_folder(root: Path) -> Path | None:
    """Return the folder of DVC's default remote; None if there is none, or if it is no folder of this machine."""
    url = _remote_address(root)
    folder = root / ".dvc" / url / "files" / "md5"
    return folder.resolve() if url and "://" not in url and folder.is_dir() else None


def _remote_address(root: Path) -> str:
    name = _setting(root, "core", "remote")
    return _setting(root, f"'remote \"{name}\"'", "url")


def other_storage(root: Path) -> list[str]:
    """Return the addresses of a remote that is no folder of this machine, and of a cache outside the project."""
    remote = [] if remote_folder(root) else [_remote_address(root)]
    cache = [] if cache_folder(root) else [_setting(root, "cache", "dir")]
    return [address for address in (*remote, *cache) if address]


def cache_folder(root: Path) -> Path | None:
    """Return the folder of DVC's objects; None without one inside the project, because others may use a shared one."""
    folder = any_cache(root)
    return folder if folder.resolve().is_relative_to(root.resolve()) and folder.is_dir() else None


def any_cache(root: Path) -> Path:
    """Return the folder of DVC's objects, which may be shared with other projects, or missing."""
    return root / ".dvc" / (_setting(root, "cache", "dir") or "cache") / "files" / "md5"


def damaged_objects(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the objects of a cache or a remote whose content is not what their names say, and how it differs.

    DVC itself believes objects that are read-only, and restores a damaged one in silence.
    """
    for path in sorted(folder.glob("??/*")):
        if re.fullmatch(r"[0-9a-f]{32}(\.dir)?", object_name(path)):
            problem = differs(path, [(path.stat().st_size, object_name(path).removesuffix(DIRECTORY))])
            if problem:
                yield path, problem


def damaged_folder(root: Path) -> Path:
    """Return the folder of the damaged objects that `set_aside_damaged` took out of the cache."""
    return root / ".dvc" / "tmp" / "damaged"


def set_aside_damaged(root: Path) -> list[str]:
    """Move damaged objects of the cache to `.dvc/tmp/damaged`, put back those that the project has, and tell of each.

    The files of the project are the outputs and the data that DVC's records name.
    """
    cache, target, sentences = any_cache(root), damaged_folder(root), []
    for path, problem in damaged_objects(cache):
        target.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target / object_name(path))
        sentences.append(f"{problem}. It is in {target} now; DVC fetches it, or its stage makes it again.")
    named = recorded_files(root, cache) if sentences else ()
    for file, md5 in named:
        if not (path := object_path(cache, md5)).exists() and file.is_file() and md5_of(file) == md5:
            with atomic_path(path) as temporary:
                shutil.copyfile(file, temporary)
                temporary.chmod(0o444)
    return sentences


def recorded_files(root: Path, cache: Path) -> list[tuple[Path, str]]:
    """Return the files that DVC's present records name, and the MD5 of each, as far as their listings are there."""
    files: list[tuple[Path, str]] = []
    for name in RECORDS:
        record = yaml.safe_load((root / name).read_text(encoding="utf-8")) if (root / name).is_file() else {}
        stages = [record, *(record.get("stages") or {}).values()]
        for out in (out for stage in stages for out in stage.get("outs", ()) if "md5" in out):
            place, md5 = root / out["path"], out["md5"]
            entries = directory_entries(cache, md5) if md5.endswith(DIRECTORY) else [{"relpath": "", "md5": md5}]
            files += [(place / entry["relpath"], entry["md5"]) for entry in entries]
    return files


def _setting(root: Path, section: str, key: str) -> str:
    """Return a setting of DVC; "" if it is missing."""
    settings = configparser.ConfigParser(interpolation=None)
    for name in ("config", "config.local"):
        path = root / ".dvc" / name
        # DVC indents its keys, which would continue the line before.
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        settings.read_string("\n".join(line.strip() for line in text.splitlines()))
    # DVC quotes values with a "#".
    return settings.get(section, key, fallback="").strip("'\"")


def object_path(cache: Path, md5: str) -> Path:
    """Return the path of an object in a cache or in a remote of DVC."""
    return cache / md5[:2] / md5[2:]


def object_name(path: Path) -> str:
    """Return the hash by which DVC's records name an object."""
    return path.parent.name + path.name


def earlier_files(storage: Iterable[Path], within: str) -> Iterator[Path]:
    """Yield the objects of files below a folder, in all versions of folders that a cache or a remote has."""
    for folder in storage:
        entries = [entry for path in folder.glob("??/*.dir") for entry in directory_entries(folder, object_name(path))]
        for md5 in dict.fromkeys(entry["md5"] for entry in entries if entry["relpath"].startswith(within)):
            yield object_path(folder, md5)


def unused_objects(root: Path, cache: Path, data_hashes: Iterable[str], *, young: float = YOUNG) -> list[Path]:
    """Return the objects that nothing refers to, oldest first, without those younger than `young` seconds.

    :param data_hashes: hashes of versions of `data/` that stay.
    :raises VersioningError: if a record cannot be read; nothing may be removed then.
    """
    used = used_hashes(root, cache, data_hashes)
    objects = [path for folder in cache.glob("??") for path in folder.iterdir() if path.is_file()]
    before = time.time() - young
    unused = [path for path in objects if object_name(path) not in used and path.stat().st_ctime < before]
    return sorted(unused, key=lambda path: path.stat().st_ctime)


def used_hashes(
    root: Path, cache: Path, data_hashes: Iterable[str], *, records: Iterable[str] | None = None
) -> set[str]:
    """Return the hashes that DVC's records and the given versions of `data/` refer to.

    :param records: text of the only records that count; None means all of the project and of git.
    :raises VersioningError: if a record cannot be read.
    """
    used = {md5 for text in (_records(root) if records is None else records) for md5 in _hashes(root, text)} | set(
        data_hashes
    )
    for md5 in [md5 for md5 in used if md5.endswith(DIRECTORY)]:
        used |= {entry["md5"] for entry in directory_entries(cache, md5)}
    return used


def directory_entries(cache: Path, md5: str) -> list[dict[str, str]]:
    """Return path and hash of each file of a folder's version; none if the cache lacks its list."""
    try:
        entries: list[dict[str, str]] = json.loads(object_path(cache, md5).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return entries


def remove_objects(cache: Path, unused: Iterable[Path]) -> None:
    """Remove objects of a cache or a remote, and the entries of DVC's run cache that refer to them.

    A kill in between leaves nothing broken. An entry goes before its objects: with it, DVC would take a stage for done
    whose output is gone.
    """
    paths = list(unused)
    gone = set(map(object_name, paths))
    for entry in (cache.parents[1] / "runs").glob("??/*/*"):
        if entry.is_file() and any(md5 in gone for md5 in _hashes(entry.parent, entry.read_text(encoding="utf-8"))):
            entry.unlink(missing_ok=True)
    for path in paths:
        path.unlink(missing_ok=True)


def _records(root: Path) -> Iterator[str]:
    for name in RECORDS:
        if (root / name).is_file():
            yield (root / name).read_text(encoding="utf-8")
    refs = _git(root, "for-each-ref", "--format=%(objectname)").split()
    for commit in dict.fromkeys(refs):
        for name in RECORDS:
            yield _git(root, "show", f"{commit}:./{name}")


def _git(root: Path, *arguments: str) -> str:
    """Return the output of git; "" if it fails, such as without a repository."""
    # The project's folder is asked for, not the one of a hook that may call.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(["git", *arguments], cwd=root, env=clean, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def _hashes(where: Path, text: str) -> Iterator[str]:
    try:
        yield from _found(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise VersioningError(
            f"a record of DVC in {where} cannot be read ({' '.join(str(error).split())[:120]}), so nothing is removed "
            "from its cache. Restore dvc.lock and data.dvc, on every branch, and try again."
        ) from error


def _found(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(md5 := value.get("md5"), str):
            yield md5
        for inner in value.values():
            yield from _found(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _found(inner)
