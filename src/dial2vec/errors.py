"""The errors that users see. Each message says what was found, where, what was expected and what to do next."""

from __future__ import annotations

import difflib
import importlib.util
import json
from collections.abc import Iterable
from typing import Any

# Number of keys that an error names.
N_KEYS = 5

# Modules that a plain `pip install dial2vec` lacks, by the extra that brings them.
EXTRAS = {
    "train": ("accelerate",),
    "pipeline": (
        *("dvc", "mlflow", "prefect", "cronsim", "great_expectations", "matplotlib", "requests"),
        *("py3langid", "rensa", "ijson"),
    ),
    "baselines": ("gensim", "sentence_transformers"),
    "search": ("faiss",),
    "scale": ("ray",),
    "spark": ("pyspark",),
}


class Dial2vecError(Exception):
    """Base of all errors that the shell command prints as one line, without a traceback."""


class SettingsError(Dial2vecError):
    """`params.yaml` or `operation.yaml` has an unknown key or a wrong value."""


class CorpusError(Dial2vecError):
    """A corpus does not exist, its files are missing or damaged, or it has no usable dialogue."""


class MissingDataError(CorpusError):
    """Data that only one option needs is not there; the tables leave its row out."""


class VersioningError(CorpusError):
    """DVC cannot version the data, or cannot list what it has versioned."""


class ValidationError(Dial2vecError):
    """A Great Expectations suite found data that must not be trained on."""


class ArtifactError(Dial2vecError):
    """A file that an earlier stage writes is missing, incomplete or from other settings."""


class ModelError(Dial2vecError):
    """A model folder, registry address or Hugging Face name cannot be loaded."""


class BusyError(Dial2vecError):
    """Another process works in this checkout or folder."""


class MissingExtraError(Dial2vecError):
    """A command needs a library that only an extra installs."""


def extra_of(module: str) -> str | None:
    """Return the extra that installs a module, or None if none does."""
    top = module.partition(".")[0].replace("-", "_")
    return next((extra for extra, modules in EXTRAS.items() if top in modules), None)


def missing_extra(extra: str) -> MissingExtraError:
    """Return the error of a command whose extra is missing."""
    return MissingExtraError(f'this command needs the extra "{extra}": pip install "dial2vec[{extra}]"')


def require_module(module: str) -> None:
    """Raise if a module that an extra brings is not installed, before a process that needs it starts.

    :raises MissingExtraError: if the module is missing.
    """
    if importlib.util.find_spec(module) is None:
        raise missing_extra(extra_of(module) or module)


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """Return `" Did you mean 'x'?"` for the closest valid name, or "" if none is close.

    >>> did_you_mean("learning_rat", ["learning_rate", "epochs"])
    " Did you mean 'learning_rate'?"
    """
    close = difflib.get_close_matches(name, list(valid), n=1)
    return f" Did you mean '{close[0]}'?" if close else ""


def described(value: object) -> str:
    """Describe a JSON value: `a number (3)`, `a list`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool | int | float):
        return f"{'a boolean' if isinstance(value, bool) else 'a number'} ({json.dumps(value)})"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    if isinstance(value, dict):
        return f"an object with {described_keys(value)}"
    return "a list"


def described_keys(value: dict[str, Any]) -> str:
    """List the first keys of an object."""
    shown = ", ".join(repr(key[:40]) for key in list(value)[:N_KEYS])
    return f"{shown} and {len(value) - N_KEYS} more" if len(value) > N_KEYS else shown or "no keys"
