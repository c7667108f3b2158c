"""Finished runs of the tasks that train, kept in a file: a command that was killed continues from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from conversations.files import numbered_lines, write_json_lines
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ArtifactError
from dial2vec_papers.tasks.fine_tuning import TuningRecipe
from dial2vec_papers.tasks.records import Figures, Setting, summary


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
        for number, line in numbered_lines(self.path, "a file of runs"):
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
        records = ({"settings": json.loads(key), "figures": figures} for key, figures in self._known.items())
        write_json_lines(self.path, records)


def over_shots(
    encoder: DialogueEncoder,
    run: Callable[[int, int], Figures],
    shots: Sequence[int],
    draws: int,
    *,
    settings: Mapping[str, Setting],
    recipe: TuningRecipe,
    texts: Iterable[str],
    kept: KeptRuns | None,
) -> tuple[Figures, Figures]:
    """Return means and standard deviations over the draws, in points, such as "accuracy_5_shot".

    :param encoder: encoder that is fine-tuned, at its start.
    :param run: function from shots and the number of a draw to figures, shares in [0, 1].
    :param settings: settings of the task that decide its figures.
    :param texts: everything that the runs read.
    """
    kept = kept or KeptRuns()
    model = hashlib.sha256(encoder.fingerprint().encode()).hexdigest()[:16]
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{len(text)}:{text}".encode())
    decisive = {**settings, **asdict(recipe), "model": model, "texts": digest.hexdigest()[:16]}
    figures: Figures = {}
    spread: Figures = {}
    for k in shots:
        by_draw = [kept.figures(decisive | {"shots": k, "draw": draw}, partial(run, k, draw)) for draw in range(draws)]
        means, deviations = summary(by_draw)
        figures |= {f"{name}_{k}_shot": figure for name, figure in means.items()}
        spread |= {f"{name}_{k}_shot": figure for name, figure in deviations.items()}
    return figures, spread
