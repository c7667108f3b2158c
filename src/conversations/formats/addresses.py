"""Exports by address: what it names is brought into a temporary folder, and nothing else is fetched."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from conversations.errors import CorpusError

# A single letter before a colon is a drive. A `Path` has one of the two slashes of an address.
ADDRESS = re.compile(r"hf:[^/]|mlflow:.|[a-z][a-z0-9+.-]+:[/:]", re.IGNORECASE)
SLASHES = re.compile(r"((?:^|::)(?!mlflow:)[a-z][a-z0-9+.-]+):/+", re.IGNORECASE)
# What stands before @ is a user, but on GitHub the owner and the repository.
SECRETS = re.compile(r"(?<=://)(?<!github://)[^/@\s]*@|[?#][^\s'\")\]]*")
# Fetches the traces of an experiment; named here, not imported, because the reader needs nothing of dial2vec.
TRACES = "dial2vec.registry.traces:fetch_traces"
# Files of a data set that describe it, and names that an error lists.
ABOUT, SHOWN = ("dataset_info.json", "dataset_infos.json"), 8


def as_address(source: Path) -> str | None:
    """Return the address that a path stands for, such as `s3://bucket/calls.csv`; None for a path of this machine."""
    text = source.as_posix()
    # A signed address is too long for a file name, of which `Path.exists` would complain.
    if not ADDRESS.match(text) or os.path.lexists(source):
        return None
    return SLASHES.sub(r"\1://", text).replace("file://", "file:///")


def without_secrets(address: str) -> str:
    """Return an address, or a text with one, without user, password and query, any of which may be a secret."""
    return SECRETS.sub("", address)


def shown_source(source: Path) -> str:
    """Return a path as messages name it: of an address, what is no secret."""
    address = as_address(source)
    return without_secrets(address) if address else str(source)


def fetched(address: str, folder: Path) -> Path:
    """Return the file or folder that an address names, brought into an empty folder unless it is on this machine.

    :raises CorpusError: if there is nothing at the address, or a package for it is missing.
    """
    scheme, _, name = address.partition(":")
    fetch = None if address.startswith("hf://") else SCHEMES.get(scheme)
    return fetch(name, folder) if fetch else _copied(address, folder)


def _copied(address: str, folder: Path) -> Path:
    """Copy a file or folder of any file system that fsspec knows."""
    from fsspec.core import url_to_fs
    from fsspec.registry import known_implementations

    shown, scheme = without_secrets(address), re.split("://|::", address)[0]
    if scheme not in known_implementations:
        raise CorpusError(
            f"{shown} does not exist, and {scheme} is no scheme of an address; expected a path, or an address that "
            f"begins with {', '.join(f'{name}:' for name in SCHEMES)}, https://, s3://, gs://. Correct it."
        )
    try:
        system, place = url_to_fs(address)
        target = folder / (without_secrets(place).rstrip("/").rpartition("/")[2] or "export")
        # A file of the web is a folder, too, if links are in it.
        is_file = system.isfile(place)
        system.get_file(place, str(target)) if is_file else system.get(place, str(target), recursive=True)
    except ImportError as error:
        package = known_implementations[scheme]["class"].partition(".")[0].replace("fsspec", f"fsspec[{scheme}]")
        raise CorpusError(
            f"{shown} is an address of {scheme}, for which a package is missing. Install it: pip install '{package}'."
        ) from error
    except Exception as error:  # the library of each scheme has errors of its own
        raise CorpusError(
            f"{shown} cannot be fetched ({type(error).__name__}: {without_secrets(str(error))}); expected a file or "
            "folder that you may read. Check the address and your access to it."
        ) from error
    return target


def _cached(name: str, folder: Path) -> Path:
    """Link the files of a data set in the local cache of the Hugging Face hub, or those of the named split."""
    from huggingface_hub.constants import HF_HUB_CACHE

    repository, _, split = name.partition(":")
    data_set = Path(HF_HUB_CACHE, f"datasets--{repository.replace('/', '--')}")
    main = data_set / "refs" / "main"
    newest = main.read_text().strip() if main.is_file() else "*"
    snapshots = sorted((data_set / "snapshots").glob(newest), key=lambda path: path.stat().st_mtime)
    files = {
        str(path.relative_to(snapshot)): path
        for snapshot in snapshots[-1:]
        for path in sorted(snapshot.rglob("*"))
        if path.is_file() and path.suffix not in ("", ".md", ".py") and path.name not in ABOUT
    }
    if not files:
        raise CorpusError(
            f"no file of the data set {repository} is in {HF_HUB_CACHE}; expected a fetched one, because nothing is "
            f"fetched by itself. Fetch it: hf download {repository} --repo-type dataset."
        )
    word = re.compile(rf"(?:^|[/\\_.-]){re.escape(split)}(?:[/\\_.-]|$)" if split else "")
    wanted = {place: path for place, path in files.items() if word.search(place)}
    if not wanted:
        raise CorpusError(
            f"no file of the data set {repository} has {split!r} in its name; expected a split or subset out of "
            f"{', '.join(list(files)[:SHOWN])}. Correct the part after the colon, or leave it out."
        )
    for place, path in wanted.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).symlink_to(path.resolve())
    return folder


def _traces(name: str, folder: Path) -> Path:
    """Fetch the traces of an experiment of MLflow."""
    module, function = TRACES.split(":")
    traces: Path = getattr(importlib.import_module(module), function)(name, folder)
    return traces


# What an address of each scheme names; all others are of fsspec.
SCHEMES: dict[str, Callable[[str, Path], Path]] = {"hf": _cached, "mlflow": _traces}
