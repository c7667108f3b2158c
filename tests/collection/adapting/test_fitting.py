from __future__ import annotations

import numpy as np
import pytest

from dial2vec.collection import Collection
from dial2vec.collection.adapting.adaptation import Adaptation
from dial2vec.collection.adapting.fitting import Guard, fit_adaptation, sides_of
from dial2vec.collection.forgetting import forget_in_collection
from dial2vec.encoder.maps import centred, fit_map, neighbour_targets, ridge_of
from dial2vec.encoder.nearest import unit_rows
from tests.students import tiny_student

from .conftest import calls

N, D, TOPICS = 240, 32, np.arange(240) % 8


def planted(seed: int):
    """Whole dialogues and two sides of 8 topics, and the direction of a style that both sides share."""
    rng = np.random.default_rng(seed)
    axes = unit_rows(rng.normal(size=(9, D)))
    means = axes[TOPICS] + 0.5 * rng.normal(size=(N, 1)) * axes[8]
    first, second = (unit_rows(means + 0.25 * rng.normal(size=(N, D))).astype(np.float32) for _ in range(2))
    return unit_rows(first + second), first, second, axes[8]


def maps_to_ruin(units, style, rng):
    """Maps by name: collapses, neighbours shuffled, a style stretched, few random directions, noise learnt."""
    principal = np.linalg.svd(units - units.mean(axis=0))[2]
    near = neighbour_targets(units, k=5)

    def onto(directions):
        return directions.T @ directions

    def learnt(targets):
        return fit_map(units, targets.astype(np.float32), ridge=ridge_of(N, D), identity=0.0)

    maps = {f"first {few}": onto(principal[:few]) for few in (1, 2)}
    maps |= {f"last {few}": onto(principal[-few:]) for few in (1, 2)}
    maps |= {f"random {few}, {at}": onto(np.linalg.qr(rng.normal(size=(D, few)))[0].T) for few in (1, 2) for at in "ab"}
    maps |= {f"shuffled {at}": learnt(rng.permutation(near)) for at in range(4)}
    maps |= {f"style x {times}": np.eye(D) + times * np.outer(style, style) for times in (6, 10, 30)}
    maps |= {"style alone": np.outer(style, style)}
    maps |= {f"low rank {at}": rng.normal(size=(D, 3)) @ rng.normal(size=(3, D)) for at in range(4)}
    return maps | {f"noise {at}": learnt(unit_rows(rng.normal(size=(N, D)))) for at in range(3)}


def purity(vectors) -> float:
    """Share of the ten nearest others that have the same topic."""
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2)
    return float((TOPICS[np.argsort(-cosines, axis=1)[:, :10]] == TOPICS[:, None]).mean())


def test_the_guard_refuses_maps_to_ruin_and_keeps_a_good_one():
    whole, first, second, style = planted(1)
    guard, (units, mean) = Guard(whole, first, second, seed=1), centred(whole)
    good = fit_map(units, neighbour_targets(units, k=5), ridge=ridge_of(N, D), identity=1.0)
    kept = Adaptation(mean, good, N)
    assert guard.fallen(guard.figures(kept)) == []
    assert purity(kept(whole)) > purity(whole)
    ruin = maps_to_ruin(units, style, np.random.default_rng(5))
    assert len(ruin) >= 20
    for name, weight in ruin.items():
        adaptation = Adaptation(mean, weight.astype(np.float32), N)
        assert purity(adaptation(whole)) < purity(whole) - 0.2, name
        assert guard.fallen(guard.figures(adaptation)), name


def test_a_map_that_the_guard_refuses_leaves_the_vectors_and_is_said(monkeypatch):
    encoder, dialogues = tiny_student(), calls(range(100))
    vectors = unit_rows(encoder.encode(dialogues))
    rng = np.random.default_rng(1)
    monkeypatch.setattr(
        "dial2vec.collection.adapting.fitting.fit_map", lambda units, *_, **__: rng.normal(size=(16, 2)) @ np.eye(2, 16)
    )
    refused = fit_adaptation(vectors, lambda rows: [dialogues[row] for row in rows], encoder, seed=1)
    assert refused.weight is None
    assert "agreement of the two sides would fall (cluster stability" in refused.sentence
    assert refused(vectors) is vectors


@pytest.mark.parametrize(
    ("lines", "sides"),
    [
        (("a: one", "b: two", "c: three", "a: four"), (["one", "four"], ["two", "three"])),
        (("a: one", "a: two", "a: three"), (["one", "two"], ["three"])),
        (("a: my card is lost",), (["my card"], ["is lost"])),
        (("a: hello",), (["he"], ["llo"])),
        (("a: x",), (["x"], ["x"])),
        (("a: 我的卡丢了",), (["我的"], ["卡丢了"])),
    ],
)
def test_of_one_speaker_halves_are_compared(dialogue, lines, sides):
    found = sides_of(dialogue("d", *lines))
    assert tuple([turn.text for turn in side.turns] for side in found) == sides


def test_dialogues_of_one_speaker_are_adapted(dialogue):
    encoder = tiny_student()
    dialogues = [
        dialogue(one.dialogue_id, "a: " + " ".join(turn.text for turn in one.turns)) for one in calls(range(200))
    ]
    vectors = unit_rows(encoder.encode(dialogues))
    adaptation = fit_adaptation(vectors, lambda rows: [dialogues[row] for row in rows], encoder, seed=1)
    assert set(adaptation.after) == {"stability", "silhouette", "cross_side"}


def test_it_is_fitted_from_80_dialogues_on_and_again_when_they_are_half_as_many_more(grow):
    few = grow(79)
    assert few.adaptation.sentence.endswith("that takes at least 80 dialogues, and there are 79.")
    assert few.adapted is few.vectors
    first = grow(80)
    assert first.adaptation.weight is not None
    more = grow(119)
    assert (more.adaptation.name, more.adaptation.dialogues) == (first.adaptation.name, 80)
    np.testing.assert_array_equal(more.adapted[:80], first.adapted)
    np.testing.assert_allclose(more.adapted, first.adaptation(more.vectors), atol=1e-6)
    assert isinstance(more.adapted, np.memmap)
    again = grow(120)
    assert (again.adaptation.name != first.adaptation.name, again.adaptation.dialogues) == (True, 120)
    # What was mapped before stays readable for whoever has it open.
    assert np.isfinite(more.adapted).all()


def test_the_same_dialogues_have_the_same_map(grow):
    one, other = grow(90), grow(90, name="other")
    assert one.adaptation.name == other.adaptation.name
    np.testing.assert_array_equal(one.adapted, other.adapted)


@pytest.mark.parametrize("adapted", [True, False])
def test_the_vectors_stay_as_they_are_if_that_is_asked_for_and_after_forgetting(grow, adapted):
    collection = grow(90, adapted=adapted)
    assert (collection.adaptation is not None) == adapted
    forget_in_collection(collection.folder, {"c3"})
    after = Collection(collection.folder)
    assert len(after) == 89
    assert (after.adaptation is not None) == adapted
