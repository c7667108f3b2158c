from __future__ import annotations

from pathlib import Path

import pytest

from dial2vec.config import Promote
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ModelError
from dial2vec.registry.champions import promote
from dial2vec.registry.records import Figures, Registration, TrainingRecord
from dial2vec.registry.store import open_store
from dial2vec.registry.tracking import local_model, register_training, registered_versions
from tests.registry.conftest import MakeRecord, points

MARGINS = Promote(min_purity_gain=0.0, min_spearman_gain=0.0, min_map_gain=0.5, confidence=0.0)


def test_a_better_candidate_becomes_champion_and_the_old_one_previous(registered):
    assert promote(registered, "demo", MARGINS).promoted
    first, second = registered_versions(registered, "demo")
    assert (first.aliases, second.aliases) == (("previous",), ("candidate", "champion"))
    assert open_store(registered).get_model_version("dial2vec-demo", "2").tags["promotion"] == "promoted"
    assert promote(registered, "demo", MARGINS).reasons == ["version 2 is the champion already"]


def test_a_worse_candidate_is_refused_and_told_why(root, make_record):
    worse = {"start": points(68, 38, 54), "trained": points(69, 39, 53)}
    done = register_training(root, make_record(dev_scores=worse))
    verdict = promote(root, "demo", MARGINS)
    assert verdict.reasons == ["map 53.00 on dev is 1.00 below the champion's 54.00; needed +0.50"]
    assert registered_versions(root, "demo")[0].aliases == ("champion",)
    tags = open_store(root).get_model_version("dial2vec-demo", done.version).tags
    assert tags["promotion"] == verdict.reasons[0]


def test_without_labels_the_candidate_is_registered_but_not_promoted(root, make_record):
    register_training(
        root, make_record(scores={"start": None, "trained": None}, dev_scores={"start": None, "trained": None})
    )
    verdict = promote(root, "demo", MARGINS)
    assert not verdict.promoted
    assert "without them nothing is promoted" in verdict.reasons[0]


def unlabelled(make_record: MakeRecord, **changes: object) -> TrainingRecord:
    nothing = {"start": None, "trained": None}
    return make_record(scores=nothing, dev_scores=nothing, **changes)


def test_without_labels_a_candidate_that_compares_well_becomes_champion(root, make_record):
    register_training(root, unlabelled(make_record))
    compared: list[tuple[Path, Path]] = []
    verdict = promote(root, "demo", MARGINS, compare=lambda rival, candidate: compared.append((rival, candidate)))
    assert verdict.promoted
    assert verdict.reasons == []
    assert [one.aliases for one in registered_versions(root, "demo")] == [("previous",), ("candidate", "champion")]
    # The base encoder is the champion, so it is compared once.
    folders = [local_model(f"models:/dial2vec-demo/{number}", root=root) for number in (1, 2)]
    assert compared == [tuple(folders)]


def test_without_labels_the_candidate_must_compare_well_with_start_and_champion(root, make_record):
    register_training(root, unlabelled(make_record))
    promote(root, "demo", MARGINS, compare=lambda rival, candidate: None)
    done = register_training(root, unlabelled(make_record, fingerprint="f2"))
    champion = local_model("models:/dial2vec-demo@champion", root=root)

    def compare(rival: Path, candidate: Path) -> str | None:
        return "clearly below it on silhouette" if rival == champion else None

    verdict = promote(root, "demo", MARGINS, compare=compare)
    assert not verdict.promoted
    assert verdict.reasons == ["without labels, against version 2: clearly below it on silhouette"]
    assert [one.aliases for one in registered_versions(root, "demo")] == [("previous",), ("champion",), ("candidate",)]
    tags = open_store(root).get_model_version("dial2vec-demo", done.version).tags
    assert tags["promotion"] == verdict.reasons[0]


def test_where_dev_has_labels_they_alone_decide(registered):
    def compare(rival: Path, candidate: Path) -> str | None:
        raise AssertionError("compared without labels")

    assert promote(registered, "demo", MARGINS, compare=compare).promoted


def test_figures_are_never_compared_with_none_by_judging_without_labels(registered, make_record):
    promote(registered, "demo", MARGINS)
    register_training(registered, unlabelled(make_record, fingerprint="f2"))
    verdict = promote(registered, "demo", MARGINS, compare=lambda rival, candidate: None)
    assert not verdict.promoted
    assert "without them nothing is promoted" in verdict.reasons[0]


def on_a_new_split(root: Path, make_record: MakeRecord) -> Registration:
    """Champion version 2 comes from dev-1, candidate version 3 and the start from dev-2."""
    promote(root, "demo", MARGINS)
    figures = {"start": points(50, 20, 30), "trained": points(60, 30, 40)}
    return register_training(root, make_record(fingerprint="f2", dev_hash="dev-2", dev_scores=figures))


def test_a_champion_from_another_dev_split_is_measured_again(registered, make_record):
    on_a_new_split(registered, make_record)
    measured: list[Path] = []

    by_place = [points(60, 30, 40), points(50, 20, 30), points(55, 25, 35)]

    def rescore(folder: Path) -> Figures:
        measured.append(folder)
        return Figures(by_place[len(measured) - 1])

    assert promote(registered, "demo", MARGINS, rescore=rescore, dev_hash="dev-2").promoted
    assert [folder.is_dir() for folder in measured] == [True, True, True]
    assert DialogueEncoder.from_pretrained(measured[2])
    assert [one.dev_scores["map"] for one in registered_versions(registered, "demo")] == [30, 35, 40]
    assert [one.aliases for one in registered_versions(registered, "demo")] == [
        (),
        ("previous",),
        ("candidate", "champion"),
    ]


def test_everybody_is_measured_again_when_dev_has_changed_since(registered):
    measured: list[Path] = []

    def rescore(folder: Path) -> Figures:
        measured.append(folder)
        return Figures(None)

    promote(registered, "demo", MARGINS, rescore=rescore, dev_hash="dev-9")
    assert len(measured) == 2
    assert [one.dev_scores for one in registered_versions(registered, "demo")] == [None, None]


def test_figures_of_different_splits_are_never_compared(registered, make_record):
    on_a_new_split(registered, make_record)
    verdict = promote(registered, "demo", MARGINS)
    assert verdict.reasons == ["version 2 was measured on another dev split; measure it on the present one"]


def test_promotion_without_registration_says_what_to_run(root, make_record):
    with pytest.raises(
        ModelError, match=r"nothing is registered as dial2vec-demo\. Registered: nothing at all\. Run `dial2vec run`"
    ):
        promote(root, "demo", MARGINS)
    register_training(root, make_record())
    with pytest.raises(ModelError, match=r"Did you mean 'dial2vec-demo'\? Registered: dial2vec-demo"):
        promote(root, "demoo", MARGINS)
