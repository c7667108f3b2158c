from __future__ import annotations

import random
import unicodedata

import pytest

from conversations.redaction.folding import Folded, folded

NAMES = ("José Álvarez", "Straße", "Nguyễn", "김철수", "ガギ", "İpek", "Łucja", "и\u0306ё")


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize("name", NAMES)
def test_every_form_of_unicode_is_compared_alike(name, form):
    assert folded(unicodedata.normalize(form, name)) == folded(name)


def test_accents_width_and_signs_that_are_not_seen_make_no_difference():
    assert folded("J\u200bos\u00ade\u0301\u2060 ÁLVAREZ") == "jose alvarez"
    assert folded("\uff2b\uff4f\uff57 Łøıß \u0664\uff12") == "kow loiss 42"
    assert folded("\uff76\uff9e") == "ガ"
    # Persian parts its words by a sign that is hidden elsewhere.
    assert folded("علی\u200cها Ko\u200cwalska") == "علی ها kowalska"


def test_a_span_of_the_form_is_found_in_the_text_with_all_signs_that_are_not_seen():
    rng = random.Random(4)
    for _ in range(300):
        name, form = unicodedata.normalize("NFC", rng.choice(NAMES)), rng.choice(["NFC", "NFD"])
        hidden = "".join(unicodedata.normalize(form, sign) + "\u200b" * rng.randint(0, 1) for sign in name)
        before, after = rng.choice(["", "ß", "a ", "각 "]), rng.choice(["", " !", " ﬁ", ". ガ"])
        known = Folded(before + hidden + after)
        start = len(folded(before))
        begin, end = known.span(start, start + len(folded(name)))
        assert known.text[begin:end] == hidden
