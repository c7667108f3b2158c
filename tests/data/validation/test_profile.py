from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dial2vec.data.validation.frames import dialogue_frame, turn_frame
from dial2vec.data.validation.profile import LanguageSample, Profile, profile_of
from tests.conftest import make_dialogue


def profile(*dialogues, languages=None):
    labels = Counter(label for dialogue in dialogues for label in dialogue.labels)
    return profile_of(dialogue_frame(dialogues), labels=labels, languages=languages or {})


def of_lengths(*words):
    return profile(*(make_dialogue(f"d{i}", "a: " + "so " * n) for i, n in enumerate(words)))


def test_profile_counts_dialogues_turns_words_and_speakers():
    found = profile(make_dialogue("1", "a: one two", "b: three"), make_dialogue("2", "a: four"))
    assert (found.dialogues, found.turns, found.one_speaker, found.lengths) == (2, 3, 1, {"1": 1, "3": 1})
    assert (found.words[0], found.words[5], found.words[10]) == (1, 2, 3)


def test_profile_survives_being_written():
    found = profile(make_dialogue("1", "a: one two", "b: three"), languages={"en": 1.0})
    assert Profile.from_record(found.to_record()) == found


@pytest.mark.parametrize("change", [{"labels": []}, {"lengths": [1]}, {"more": 1}])
def test_profile_of_another_version_is_refused(change):
    record = profile(make_dialogue("1", "a: one")).to_record()
    for broken in (record | change, {}, [], {"labels": {}}):
        with pytest.raises(ValueError, match="its"):
            Profile.from_record(broken)


def test_many_labels_are_counted_and_the_most_frequent_listed():
    dialogues = [make_dialogue(f"d{i}", "a: x", labels=(f"l{i:03}",)) for i in range(150)]
    found = profile(*dialogues[::-1], make_dialogue("d", "a: x", labels=("l149",)))
    assert (found.n_labels, len(found.labels), list(found.labels)[:2]) == (150, 100, ["l149", "l000"])


def test_fingerprint_knows_ids_and_texts_but_no_order():
    one, two = make_dialogue("1", "a: hello there"), make_dialogue("2", "b: good bye")
    other = make_dialogue("2", "b: good morning")
    assert profile(one, two).fingerprint == profile(two, one).fingerprint
    assert len({profile(one, two).fingerprint, profile(one, other).fingerprint, profile(one).fingerprint}) == 3
    assert profile(replace(one, labels=("x",)), two).fingerprint != profile(one, two).fingerprint
    # The texts of two dialogues exchanged are another corpus.
    swapped = make_dialogue("1", "b: good bye"), make_dialogue("2", "a: hello there")
    assert profile(*swapped).fingerprint != profile(one, two).fingerprint


def test_drift_of_lengths_is_the_share_that_moved():
    before, now = of_lengths(*[10] * 10), of_lengths(*[10] * 6, *[100] * 4)
    assert now.drift_since(before)[0] == before.drift_since(now)[0] == np.float64(0.4)
    assert now.drift_since(now) == (0.0, 0.0, 0.0)


def test_drift_of_the_size_counts_lost_dialogues_only():
    before, now = of_lengths(*[10] * 10), of_lengths(*[10] * 6)
    assert now.drift_since(before)[2] == pytest.approx(0.4)
    assert before.drift_since(now)[2] == 0.0


def test_drift_of_languages_is_the_share_that_moved():
    one = make_dialogue("1", "a: x")
    before, now = (profile(one, languages=shares) for shares in ({"en": 0.9, "de": 0.1}, {"en": 0.6, "fr": 0.4}))
    assert round(now.drift_since(before)[1], 9) == 0.4
    assert now.drift_since(profile(one))[1] == 0.0


def test_language_sample_does_not_depend_on_blocks_and_keeps_the_smallest_hashes(monkeypatch):
    monkeypatch.setattr("dial2vec.data.validation.profile.LANGUAGE_SAMPLE", 20)
    texts = ["a: ok", "a: my card is lost, what shall I do?", "a: I have no card, and never had one"]
    dialogues = [make_dialogue(f"d{i}", texts[i % 3]) for i in range(90)]
    frame = dialogue_frame(dialogues)
    keys = frame["id_hash"].to_numpy()[[i % 3 > 0 for i in range(90)]]
    samples = []
    for block in (90, 7, 1):
        sample = LanguageSample()
        for first in range(0, 90, block):
            sample.add(dialogues[first : first + block], frame.iloc[first : first + block])
        samples.append(sample.hashes)
        assert sample.shares() == {"en": 1.0}
    assert all(np.array_equal(np.sort(keys)[:20], one) for one in samples)


def test_too_little_text_has_no_language():
    sample = LanguageSample()
    terse = [make_dialogue("1", "a: ok")]
    sample.add(terse, dialogue_frame(terse))
    assert sample.shares() == {}


@given(st.lists(st.lists(st.sampled_from(["a: one", "b: two words", "a:  "]), min_size=1, max_size=4), max_size=4))
def test_turn_frame_has_a_row_per_turn_in_order(lines):
    dialogues = [make_dialogue(f"d{i}", *said) for i, said in enumerate(lines)]
    frame = turn_frame(dialogues)
    expected = [
        (place, number, turn.speaker, len(turn.text.split()))
        for place, dialogue in enumerate(dialogues)
        for number, turn in enumerate(dialogue.turns, start=1)
    ]
    assert [tuple(row) for row in frame.itertuples(index=False)] == expected
