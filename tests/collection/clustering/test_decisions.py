from __future__ import annotations

import random

import pytest

from dial2vec.collection.clustering.decisions import (
    Decisions,
    Edit,
    apply_decisions,
    path_of,
    read_decisions,
    write_decisions,
)
from dial2vec.errors import ArtifactError

# Fine topics 0 and 1 are those of cluster 4, 2 that of cluster 5, 3 to 5 those of cluster 7.
OWNERS, NONE, IDS = [4, 4, 5, 7, 7, 7], [(-1, -1)] * 6, [4, 5, 7]


def decided(*made: Edit, split_off=NONE, owners=OWNERS, ids=IDS, next_id=8):
    return apply_decisions(owners, split_off, ids, made, next_id)


def test_merge_joins_all_fine_topics_and_only_the_first_id_stays():
    now = decided(Edit("merge", 5, other=7))
    assert (now.owners, now.ids) == ([4, 4, 5, 5, 5, 5], [4, 5])


def test_split_keeps_the_id_for_the_first_part_and_gives_new_ones_to_the_others():
    now = decided(Edit("rename", 7, to="x"), Edit("split", 7))
    assert (now.owners, now.split_off) == ([4, 4, 5, 7, 8, 9], [*NONE[:4], (8, 1), (9, 1)])
    # What is left of 7 is not what was renamed.
    assert (now.names, now.parts) == ({}, {7, 8, 9})


def test_a_new_id_is_beyond_all_that_are_mentioned_so_that_no_decision_hits_a_wrong_cluster():
    now = decided(Edit("hide", 12), Edit("split", 7))
    assert now.owners == [4, 4, 5, 7, 13, 14]
    assert now.problems == {0: "cluster 12 is gone"}


def test_parts_have_their_ids_again_and_what_was_merged_can_be_split():
    made = (Edit("split", 7), Edit("merge", 4, other=8))
    first = decided(made[0])
    again = decided(*made, split_off=first.split_off)
    assert first.owners == [4, 4, 5, 7, 8, 9]
    assert again.owners == [4, 4, 5, 7, 4, 9]
    more = decided(*made, Edit("split", 4), split_off=again.split_off)
    assert more.owners == [4, 10, 5, 7, 8, 9]


def test_a_part_that_a_new_clustering_found_in_another_cluster_is_set_apart_again():
    split_off = [*NONE[:4], (8, 0), (-1, -1)]
    now = decided(Edit("split", 7), owners=[4, 4, 5, 7, 5, 7], split_off=split_off, next_id=9)
    assert now.owners == [4, 4, 5, 7, 8, 9]
    # But a part that is all of a cluster is that cluster.
    assert decided(Edit("split", 7), owners=[4, 4, 7, 7, 5, 7], split_off=split_off).owners == [4, 4, 7, 9, 5, 10]


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (Edit("rename", 6, to="x"), "cluster 6 is gone"),
        (Edit("merge", 4, other=6), "cluster 6 is gone"),
        (Edit("merge", 4, other=4), "a cluster cannot join itself"),
        (Edit("split", 5), "cluster 5 has no fine topics into which it could be split"),
    ],
)
def test_what_cannot_be_applied_changes_nothing_and_is_said(edit, problem):
    now = decided(edit)
    assert (now.owners, now.names, now.hidden) == (OWNERS, {}, set())
    assert now.problems == {0: problem}


def test_a_merge_whose_pinned_cluster_holds_the_other_already_is_no_problem():
    made = (Edit("merge", 4, other=5), Edit("pin", 4, "cards"))
    now = decided(*made, owners=[4, 4, 4, 7, 7, 7], ids=[4, 7])
    assert (now.problems, now.pinned, now.names) == ({}, {4}, {4: "cards"})


def test_a_moved_dialogue_follows_the_cluster_that_it_was_moved_to():
    made = (Edit("move", 5, dialogue="d1"), Edit("move", 4, dialogue="d2"), Edit("move", 7, dialogue="d1"))
    assert decided(*made).moves == {"d1": 7, "d2": 4}
    # What was merged or split keeps it, and so does nothing that is gone.
    assert decided(*made, Edit("merge", 4, other=7), Edit("split", 4)).moves == {"d1": 4, "d2": 4}
    now = decided(*made, Edit("move", 6, dialogue="d1"))
    assert (now.moves, now.problems) == ({"d1": 7, "d2": 4}, {3: "cluster 6 is gone"})


def random_edits(rng: random.Random, n: int) -> list[Edit]:
    made: list[Edit] = []
    split_off = NONE
    for _ in range(n):
        ids = decided(*made, split_off=split_off).ids
        action, one, other = rng.choice(["rename", "merge", "split", "pin", "hide"]), rng.choice(ids), rng.choice(ids)
        fields = {"to": f"name {rng.random()}"} if action == "rename" else {"other": other} if action == "merge" else {}
        made.append(Edit(action, one, "old", **fields))
        split_off = decided(*made, split_off=split_off).split_off
    return made


@pytest.mark.parametrize("seed", range(60))
def test_after_any_decisions_each_fine_topic_has_one_cluster_and_undo_gives_back_what_was_there(seed):
    rng = random.Random(seed)
    made, states, split_off = random_edits(rng, 8), [], NONE
    for count in range(len(made) + 1):
        now = decided(*made[:count], split_off=split_off)
        split_off = now.split_off
        assert set(now.owners) == set(now.ids)
        assert len(set(now.ids)) == len(now.ids)
        assert now.names.keys() | now.hidden | now.pinned | now.parts <= set(now.ids)
        states.append((now.owners, now.names, now.hidden, now.pinned))
        # The same decisions on the result give the same clusters.
        assert decided(*made[:count], split_off=split_off).owners == now.owners
    for count in reversed(range(len(made) + 1)):
        now = decided(*made[:count], split_off=split_off)
        split_off = now.split_off
        assert (now.owners, now.names, now.hidden, now.pinned) == states[count]


def test_the_file_reads_as_it_was_written_and_can_be_reviewed(tmp_path):
    made = (
        Edit("rename", 3, "card, lost", ("card", "lost"), "2026-05-04", to="Verlorene Karten"),
        Edit("merge", 3, "Verlorene Karten", ("card",), "2026-05-04", other=7, other_name="カード"),
        Edit("hide", 9, "hello", ("hello",), "2026-05-05"),
        Edit("move", 3, "Verlorene Karten", ("card",), "2026-05-05", other_name="hello", dialogue="17"),
    )
    write_decisions(tmp_path, Decisions("ab12", made))
    assert read_decisions(tmp_path) == Decisions("ab12", made)
    text = path_of(tmp_path).read_text(encoding="utf-8")
    assert "merge: 3" in text
    assert "other_name: カード" in text
    assert text.startswith("# What people decided")


def test_an_id_of_digits_may_be_written_without_quotation_marks(tmp_path):
    path_of(tmp_path).write_text("decisions:\n- move: 3\n  dialogue: 17\n")
    assert read_decisions(tmp_path).made == (Edit("move", 3, dialogue="17"),)


def test_no_file_is_no_decision(tmp_path):
    assert read_decisions(tmp_path) == Decisions()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("- renam: 3", "found an entry with renam; expected one of rename, merge"),
        ("- rename: 3", "the entry rename 3 has no to"),
        ("- merge: 3", "the entry merge 3 has no other"),
        ("- move: 3", "the entry move 3 has no dialogue"),
        ("- hide: three", "found 'three' in the entry hide; expected the id of a cluster"),
        ("- hide: 3\n  colour: red", "unexpected keyword argument 'colour'"),
        ("- [", "while parsing"),
    ],
)
def test_an_entry_that_is_no_decision_is_named_in_one_sentence(tmp_path, entry, message):
    path_of(tmp_path).write_text(f"decisions:\n{entry}\n")
    with pytest.raises(ArtifactError, match=r"curation\.yaml cannot be read") as raised:
        read_decisions(tmp_path)
    assert message in str(raised.value)
