"""The mark of tests that start a service: `pytest.mark.services("dvc")`. `make test` leaves them out.

A marked test is skipped where the service is not installed; one that starts a service which its mark does not name
fails.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

# What starts it: a program, or what follows `-m` or `--factory`.
SERVICES = {
    "chromium": ("chromium", "chromium-browser", "google-chrome"),
    "dvc": ("dvc",),
    "mkdocs": ("mkdocs",),
    "mlflow": ("mlflow",),
    "nbclient": ("ipykernel_launcher",),
    "prefect": ("prefect", "prefect.server.api.server:create_app"),
    "pyspark": ("spark-submit",),
    "torch": ("torch.distributed.run", "torchrun"),
}


def is_installed(service: str) -> bool:
    """Whether a service can be started here."""
    if service == "chromium":
        return any(map(shutil.which, SERVICES[service]))
    return find_spec(service) is not None


def services_of(item: pytest.Item) -> set[str]:
    """Return the services that a test's marks name."""
    named = {name for mark in item.iter_markers("services") for name in mark.args}
    if unknown := named - SERVICES.keys():
        raise pytest.UsageError(f"{item.nodeid}: no such service: {sorted(unknown)}; there are {sorted(SERVICES)}")
    return named


@contextmanager
def only(allowed: set[str]) -> Iterator[None]:
    """Fail whatever starts another service from this process."""
    start = subprocess.Popen.__init__

    def checked(self: subprocess.Popen[Any], args: str | Sequence[Any], *rest: Any, **options: Any) -> None:
        words = args.split() if isinstance(args, str) else [str(word) for word in args]
        started = {Path(words[0]).name, *(word for option, word in pairwise(words) if option in ("-m", "--factory"))}
        for service in SERVICES.keys() - allowed:
            if not started.isdisjoint(SERVICES[service]):
                pytest.fail(f'this test starts {service}, so it needs @pytest.mark.services("{service}")')
        start(self, args, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", checked)
        yield
