from conversations.dialogue import Turn
from dial2vec.evaluation.excerpts import excerpt


def test_a_short_dialogue_is_whole(dialogue):
    made = dialogue("d", "a: hello", "b: hi")
    found = excerpt(made, turns=2, characters=5)
    assert (found.turns, found.left_out) == (made.turns, 0)


def test_a_long_one_is_cut_in_turns_and_texts_and_says_so(dialogue):
    found = excerpt(dialogue("d", "a: hello there", "b: hi", "a: bye"), turns=1, characters=7)
    assert (found.turns, found.left_out) == ((Turn("a", "hello…"),), 2)
