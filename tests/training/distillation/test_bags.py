from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.dialogue import Dialogue, Turn
from dial2vec.training.distillation.bags import Bags
from tests.students import tiny_student

WORDS = st.lists(st.sampled_from(["w0", "w1", "w2", "strange"]), min_size=1, max_size=4).map(" ".join)
TURNS = st.lists(st.tuples(st.sampled_from("abc"), WORDS), min_size=1, max_size=6)


def as_counts(bags: Bags) -> list[list[dict[int, float]]]:
    """Per dialogue and speaker, the count of each token."""
    tokens = iter(zip(bags.tokens.tolist(), bags.counts.tolist(), strict=True))
    speakers = iter(bags.speakers.tolist())
    return [[dict(next(tokens) for _ in range(next(speakers))) for _ in range(n)] for n in bags.dialogues]


def dialogue_of(turns: list[tuple[str, str]]) -> Dialogue:
    return Dialogue("d", tuple(Turn(*turn) for turn in turns))


@settings(deadline=None)
@given(st.lists(TURNS, max_size=4))
def test_bags_count_each_speakers_tokens(dialogues: list[list[tuple[str, str]]]) -> None:
    tokenizer = tiny_student().tokenizer
    expected = []
    for turns in dialogues:
        counts: dict[str, Counter[int]] = {}
        for speaker, text in turns:
            counts.setdefault(speaker, Counter()).update(tokenizer.encode(text).ids)
        expected.append(list(counts.values()))
    assert as_counts(Bags.of([dialogue_of(turns) for turns in dialogues], tokenizer)) == expected


@settings(deadline=None)
@given(st.lists(TURNS, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_taken_bags_are_those_of_the_dialogues(dialogues: list[list[tuple[str, str]]], random: object) -> None:
    bags = Bags.of([dialogue_of(turns) for turns in dialogues], tiny_student().tokenizer)
    rows = [random.randrange(len(dialogues)) for _ in range(5)]  # type: ignore[attr-defined]
    every = as_counts(bags)
    assert as_counts(bags.take(np.array(rows))) == [every[row] for row in rows]
