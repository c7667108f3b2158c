import numpy as np

from dial2vec.evaluation.report.examples import choose_changed, choose_examples
from dial2vec.evaluation.report.neighbours import NearestDialogues, Neighbours


def rankings(precisions, found=None, cosines=None):
    n = len(precisions)
    return NearestDialogues(
        np.array(precisions, dtype=float),
        np.array(found if found is not None else [[(i + 1) % n] for i in range(n)]),
        np.array(cosines if cosines is not None else [[0.5]] * n),
    )


def counts(start, trained, counted=None):
    n = len(start)
    return Neighbours(3, np.array(counted or [True] * n), np.array(start), np.array(trained))


def chosen(examples, why):
    return [example.query for example in examples if example.why == why]


def test_the_largest_gains_and_losses_come_first_and_of_equals_those_of_precision():
    start, trained = rankings([0.5] * 5), rankings([0.6, 0.7, 0.2, 0.9, 0.4])
    found = counts([1, 0, 3, 1, 2], [2, 3, 0, 2, 1])
    examples = choose_examples(start, trained, ["a"] * 5, found)
    assert chosen(examples, "better") == [1, 3, 0]
    assert chosen(examples, "worse") == [2, 4]


def test_a_nearest_dialogue_that_became_right_comes_before_a_larger_gain():
    labels = ["a", "b", "a", "b"]
    start, trained = rankings([0.5] * 4, [[2], [0], [0], [1]]), rankings([0.5] * 4, [[2], [3], [0], [1]])
    examples = choose_examples(start, trained, labels, counts([0, 0, 0, 0], [3, 1, 0, 0]))
    assert chosen(examples, "better") == [1, 0]


def test_every_label_has_its_example_before_one_has_two():
    same = rankings([0.5] * 4)
    examples = choose_examples(same, same, ["a", "a", "a", "b"], counts([0] * 4, [3, 3, 2, 1]))
    assert chosen(examples, "better") == [0, 3, 1]


def test_a_dialogue_that_does_not_count_is_no_example():
    same = rankings([0.5] * 2)
    found = counts([0, 0], [3, 3], counted=[True, False])
    assert chosen(choose_examples(same, same, ["a", "a"], found), "better") == [0]


def test_a_query_without_gain_is_neither_better_nor_worse():
    same = rankings([0.5, float("nan"), 0.5])
    examples = choose_examples(same, same, ["a", "b", "a"], counts([1, 0, 1], [1, 0, 1]))
    assert {example.why for example in examples} == {"still wrong"}


def test_confident_errors_are_those_of_the_highest_cosine_and_a_mutual_pair_counts_once():
    found = [[1], [0], [3], [4], [2]]
    trained = rankings([0.5] * 5, found, [[0.9], [0.9], [0.7], [0.8], [0.1]])
    # Queries 0 and 1 find each other; query 3 finds its own label; query 2 does not.
    examples = choose_examples(rankings([0.5] * 5), trained, ["a", "b", "a", "b", "b"], counts([0] * 5, [0] * 5))
    assert chosen(examples, "still wrong") == [0, 2]


def test_an_error_that_could_not_be_avoided_or_is_shown_already_is_no_example():
    trained = rankings([float("nan"), 0.9, 0.5], [[1], [0], [0]], [[0.9], [0.9], [0.2]])
    start = rankings([float("nan"), 0.5, 0.5])
    examples = choose_examples(start, trained, ["a", "b", "b"], counts([0] * 3, [0, 1, 0]))
    assert [(example.query, example.why) for example in examples] == [(1, "better"), (2, "still wrong")]


def test_the_dialogues_with_the_fewest_kept_neighbours_are_those_that_changed():
    examples = choose_changed(np.array([10, 2, 1, 3]), ["a", "b", "b", "c"])
    assert [(example.query, example.why) for example in examples] == [(2, "changed"), (3, "changed"), (1, "changed")]


def test_nothing_changed_is_no_example():
    assert choose_changed(np.array([9, 9]), ["a", "b"]) == []
    assert choose_changed(np.zeros(0, dtype=np.int64), []) == []
