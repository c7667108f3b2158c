"""The benchmark of long dialogues joins what it says, and its first way of pooling is the encoder's."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.reading import Reading
from tests.conftest import make_dialogue

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import long

SHORT = [
    make_dialogue(f"d{n}", *[f"{'ab'[t % 2]}: w{n} w{t} w7" for t in range(5)], labels=("xyz"[n % 3],))
    for n in range(36)
]


@pytest.mark.parametrize(("kind", "own"), [("one topic", 6), ("mixed", 3)])
def test_long_dialogues_are_joined_of_their_label_and_of_others(kind, own):
    joined = long.join(SHORT, kind=kind, most=100, seed=1)
    of = {dialogue.turns[0].text.split()[0]: dialogue.label for dialogue in SHORT}
    assert len(joined) == 36 // own
    for one in joined:
        labels = [of[turn.text.split()[0]] for turn in one.turns[::5]]
        assert (len(labels), labels.count(one.label)) == (6, own)
    assert joined == long.join(SHORT, kind=kind, most=100, seed=1)


def test_ways_over_all_tokens_are_the_encoders_and_shared_turns_are_read_twice(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    joined = long.join(SHORT, kind="one topic", most=3, seed=1)
    poolings = {"role, over all tokens": "role", "mean, over all tokens": "mean", "turns, over all turns": "turns"}
    for dialogue, windows in zip(joined, long.full(encoder, joined), strict=True):
        parts = encoder.read_turns(long.apart(windows))
        for way, pooling in poolings.items():
            encoder.read_as(Reading("text", pooling))
            np.testing.assert_allclose(long.WAYS[way](parts), encoder.encode(dialogue), atol=1e-5)
    for windows in long.overlapping(encoder, joined):
        turns = [sorted(set(places.tolist())) for places in windows.turns]
        assert all(after[:4] == before[-4:] for before, after in pairwise(turns))
        assert max(len(sequence.ids) for sequence in windows.sequences) <= 64
