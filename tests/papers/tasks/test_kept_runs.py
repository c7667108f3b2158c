from __future__ import annotations

import pytest

from dial2vec.errors import ArtifactError
from dial2vec_papers.tasks.kept_runs import KeptRuns, summary


def test_a_run_is_computed_once_and_another_command_finds_it(tmp_path):
    path, asked = tmp_path / "runs.jsonl", []

    def run():
        asked.append(1)
        return {"accuracy": len(asked) / 10}

    kept = KeptRuns(path)
    assert kept.figures({"draw": 0}, run) == kept.figures({"draw": 0}, run) == {"accuracy": 0.1}
    assert KeptRuns(path).figures({"draw": 0}, run) == {"accuracy": 0.1}
    assert KeptRuns(path).figures({"draw": 1}, run) == {"accuracy": 0.2}
    assert KeptRuns(path).figures({"draw": 0}, run) == {"accuracy": 0.1}
    assert KeptRuns().figures({"draw": 0}, run) == {"accuracy": 0.3}


@pytest.mark.parametrize("line", ["{", "[]", '{"settings": {}}', "3"])
def test_a_line_that_is_no_run_is_named(tmp_path, line):
    path = tmp_path / "runs.jsonl"
    KeptRuns(path).figures({"draw": 0}, lambda: {"a": 1.0})
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ArtifactError, match=r"runs\.jsonl:2: found .*, expected a run with settings and figures"):
        KeptRuns(path).figures({"draw": 1}, dict)


def test_means_and_deviations_are_in_points():
    assert summary([{"a": 0.5}, {"a": 1.0}]) == ({"a": 75.0}, {"a": 25.0})
