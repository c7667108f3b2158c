"""Words are data: lists of texts, in parts or whole."""

from __future__ import annotations

import pytest

from conversations.vocabulary import by_word, word_list, word_lists, word_set


def test_parts_count_as_one_list_and_every_word_is_a_text():
    assert {"agent", "kundin", "客服"} <= word_set("speakers", "roles")
    assert word_list("speech", "no")[:5] == ("false", "0", "no", "n", "f")
    assert by_word("translations")["gespräch"] == "conversation"


@pytest.mark.parametrize("subject", ["columns", "speakers", "speech", "texts", "translations"])
def test_no_list_is_empty(subject):
    def leaves(value):
        return [leaf for part in value.values() for leaf in leaves(part)] if isinstance(value, dict) else [value]

    assert all(isinstance(leaf, list) and leaf for leaf in leaves(word_lists(subject)))
