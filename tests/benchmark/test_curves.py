from __future__ import annotations

import pytest

from dial2vec.benchmark import curves
from dial2vec.benchmark.curves import curve, known_curves
from dial2vec.benchmark.drawing import draw_curves, draw_paths

SHORT = {"train": {"max_dialogues": 6, "batch_size": 2, "checkpoint_steps": 1}, "sample": {"negatives": 2}}


def test_every_checkpoint_is_scored_the_start_first_and_a_second_call_only_reads(project, monkeypatch):
    root, settings = project
    said = []
    found = curve(root, "calls", settings, name="short", changes=SHORT, seed=1, say=said.append)
    assert [point["step"] for point in found.points] == [0, 1, 2, 3]
    assert {"purity", "map", "uniformity", "adjusted_alignment"} <= found.points[0].keys()
    assert {found.by_labels, found.label_free} <= {0, 1, 2, 3}
    monkeypatch.setattr(curves, "trained_encoder", lambda *_: pytest.fail("trained again"))
    assert curve(root, "calls", settings, name="short", changes=SHORT, seed=1, say=said.append) == found
    assert said == ["calls, short, seed 1 ...", "calls, short, seed 1: there already"]
    assert known_curves(root) == [found]


def test_curves_and_paths_are_drawn(project, tmp_path):
    root, settings = project
    recipe = curve(root, "calls", settings, name="the recipe", changes=SHORT, seed=1, say=lambda line: None)
    hotter = {**SHORT, "train": SHORT["train"] | {"temperature": 0.05}}
    other = curve(root, "calls", settings, name="temperature 0.05", changes=hotter, seed=1, say=lambda line: None)
    assert other.made_by != recipe.made_by
    for draw, drawn, name in ((draw_curves, [recipe, other], "a.png"), (draw_paths, [recipe], "b.png")):
        draw(drawn, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
