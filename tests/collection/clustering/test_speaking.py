from __future__ import annotations

from dial2vec.collection.clustering.speaking import speaking_turns
from dial2vec.data.terms import Term


def terms(**weights: float) -> list[Term]:
    return [Term(text.replace("_", " "), weight, 0.5) for text, weight in weights.items()]


def test_the_turns_with_most_of_the_groups_terms_are_shown_in_their_order(dialogue):
    call = dialogue("d", "a: hello", "b: I lost my card", "a: I see", "b: block the credit card please", "a: bye")
    assert speaking_turns(call, terms(credit_card=5, card=3, lost=4)) == (1, 3)
    # 8 / 13 words beats 7 / 12 words.
    assert speaking_turns(call, terms(credit_card=5, card=3, lost=4), n=1) == (3,)


def test_of_two_turns_with_the_same_terms_the_shorter_is_shown_and_of_equal_ones_the_earlier(dialogue):
    call = dialogue("d", "a: well you know a card is what I am calling about", "b: which card", "a: that card")
    assert speaking_turns(call, terms(card=1), n=1) == (1,)


def test_a_turn_without_a_term_is_not_shown_beside_one_with_a_term(dialogue):
    assert speaking_turns(dialogue("d", "a: hello", "b: card", "a: bye"), terms(card=1)) == (1,)


def test_the_opening_is_shown_if_no_turn_has_a_term(dialogue):
    call = dialogue("d", "a: hello", "b: hi", "a: bye")
    assert speaking_turns(call, terms(card=1)) == speaking_turns(call, []) == (0, 1)
    assert speaking_turns(call, [], n=9) == (0, 1, 2)


def test_a_term_is_whole_words_in_any_language(dialogue):
    call = dialogue("d", "a: discard it", "b: Carte bancaire perdue", "a: 昨日、請求書が届きました", "b: ja")
    assert speaking_turns(call, terms(card=1)) == (0, 1)
    assert speaking_turns(call, terms(carte_bancaire=1)) == (1,)
    assert speaking_turns(call, terms(請求書=1)) == (2,)
