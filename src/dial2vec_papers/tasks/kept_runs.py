"""Finished runs of the tasks that train, kept in a file: a command that was killed continues from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from conversations.files import atomic_path, reading_errors
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ArtifactError, Dial2vecError
from dial2vec_papers.tasks.fine_tuning import TuningRecipe
from dial2vec_papers.tasks.records import Setting, points

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class KeptRuns:
    """Runs by what decides their figures.

    :param path: JSON Lines file, a run per line; it is made with the first run. None keeps runs in memory only.
    """

    path: Path | None = None
    _known: dict[str, Figures] = field(default_factory=dict)

    def figures(self, settings: Mapping[str, Setting], run: Callable[[], Figures]) -> Figures:
        """Return the figures of a run, which is only computed if it is not kept.

        :param settings: all that decides the figures.
        :raises ArtifactError: if a line of the file is no run.
        """
        known = self._known or self._read()
        key = json.dumps(settings, sort_keys=True)
        if key not in known:
            known[key] = run()
            self._known.update(known)
            self._write()
        return known[key]

    def _read(self) -> dict[str, Figures]:
        if self.path is None or not self.path.exists():
            return {}
        with reading_errors(self.path):
            lines = self.path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
                self._known[json.dumps(record["settings"], sort_keys=True)] = record["figures"]
            except (ValueError, TypeError, KeyError) as error:
                raise ArtifactError(
                    f"{self.path}:{number}: found {line[:40]!r}, expected a run with settings and figures. Remove the "
                    "line, or name another file."
                ) from error
        return self._known

    def _write(self) -> None:
        if self.path is None:
            return
        with atomic_path(self.path) as temporary:
            records = ({"settings": json.loads(key), "figures": figures} for key, figures in self._known.items())
            temporary.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of a task: one for each number of shots and each draw of the examples.

    :param encoder: encoder that is fine-tuned, at its start.
    :param settings: settings of the task that decide its figures.
    :param kept: runs of before.
    """

    encoder: DialogueEncoder
    settings: Mapping[str, Setting]
    kept: KeptRuns

    def over_shots(
        self,
        shots: Sequence[int],
        draws: int,
        run: Callable[[int, int], Figures],
        *,
        recipe: TuningRecipe,
        texts: Iterable[str],
    ) -> tuple[Figures, Figures]:
        """Return means and standard deviations over the draws, in points, such as "accuracy_5_shot".

        :param run: function from shots and the number of a draw to figures, shares in [0, 1].
        :param texts: everything that the runs read.
        """
        model = hashlib.sha256(self.encoder.fingerprint().encode()).hexdigest()[:16]
        digest = hashlib.sha256()
        for text in texts:
            digest.update(f"{len(text)}:{text}".encode())
        decisive = {**self.settings, **asdict(recipe), "model": model, "texts": digest.hexdigest()[:16]}
        figures: Figures = {}
        spread: Figures = {}
        for k in shots:
            by_draw = [
                self.kept.figures(decisive | {"shots": k, "draw": draw}, partial(run, k, draw)) for draw in range(draws)
            ]
            means, deviations = summary(by_draw)
            figures |= {f"{name}_{k}_shot": figure for name, figure in means.items()}
            spread |= {f"{name}_{k}_shot": figure for name, figure in deviations.items()}
        return figures, spread


def require_shots(shots: Sequence[int], draws: int) -> None:
    """Raise if there are no shots or no draws.

    :raises Dial2vecError: if so.
    """
    if min(shots, default=0) < 1 or draws < 1:
        raise Dial2vecError(f"found the shots {list(shots)} in {draws} draws; expected at least 1 of both. Raise them.")


def summary(runs: Sequence[Figures]) -> tuple[Figures, Figures]:
    """Return the mean and the population standard deviation of each figure, in points, from shares in [0, 1]."""
    names = list(runs[0]) if runs else []
    return (
        {name: points(float(np.mean([run[name] for run in runs]))) for name in names},
        {name: points(float(np.std([run[name] for run in runs]))) for name in names},
    )
