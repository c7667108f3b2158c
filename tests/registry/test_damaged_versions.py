"""A version with a damaged file is refused with the way back, and registered again."""

from __future__ import annotations

from pathlib import Path

import pytest

from dial2vec.config import Promote
from dial2vec.errors import ModelError
from dial2vec.registry.by_hand import noticed
from dial2vec.registry.champions import history, promote, rollback
from dial2vec.registry.receipts import reconcile
from dial2vec.registry.tracking import local_model, register_training

NAME = "dial2vec-demo"


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def damage(root: Path, version: str) -> Path:
    """Flip a bit of a version's weights; the logged model's link to the same file is cut first."""
    weights = local_model(f"models:/{NAME}/{version}", root=root) / "model.safetensors"
    content = weights.read_bytes()
    weights.unlink()
    weights.write_bytes(content)
    flip(weights)
    return weights


def test_a_damaged_champion_is_refused_and_the_one_before_is_the_way_back(project):
    weights = damage(project, "3")
    with pytest.raises(ModelError) as refused:
        local_model(f"models:/{NAME}@champion", root=project)
    said = str(refused.value)
    assert said.startswith(f"{weights} is damaged: its bytes 0 to {weights.stat().st_size} have the MD5 ")
    assert "It is of dial2vec-demo version 3, which is not used" in said
    assert said.endswith("make another version the champion: dial2vec rollback demo [--to N].")
    assert noticed(project, "demo") == []
    assert rollback(project, "demo").after == "2"
    assert local_model(f"models:/{NAME}@champion", root=project).is_dir()
    with pytest.raises(ModelError, match="is damaged"):
        rollback(project, "demo", to="3")
    assert history(project, "demo")[-1].after == "2"


def test_a_damaged_candidate_is_not_promoted(registered):
    damage(registered, "2")
    with pytest.raises(ModelError, match=r"version 2, which is not used"):
        promote(registered, "demo", Promote(confidence=0.0))


def test_a_damaged_version_is_registered_again(registered, record):
    damage(registered, "2")
    assert register_training(registered, record).version == "3"
    assert register_training(registered, record).version == "3"


def test_a_version_without_checksums_loads_as_before(registered):
    folder = local_model(f"models:/{NAME}/2", root=registered).parents[1]
    (folder / "checksums.json").unlink()
    damage(registered, "2")
    assert local_model(f"models:/{NAME}/2", root=registered).is_dir()
    assert reconcile(registered, ["demo"]) == []
